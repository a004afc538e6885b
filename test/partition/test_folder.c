/* test_folder.c -- a partition on disk numbers the rows of the file, reads back unchanged, and is refused
 * if it is damaged or belongs to other data. */
#include "partition/folder.h"

#include "base/file.h"
#include "data/formats.h"
#include "help.h"

static char box[64];

static const char *in_box(const char *name)
{
    static char path[4][256];
    static int next;
    if (!*box) {
        snprintf(box, sizeof box, "/tmp/motley-folder-XXXXXX");
        if (!mkdtemp(box)) exit(1);
    }
    char *at = path[next++ % 4];
    snprintf(at, sizeof path[0], "%s/%s", box, name);
    return at;
}

static void clean_up(void)
{
    const char *const names[] = { "parts/worker-0.npy", "parts/worker-1.npy", "parts/worker-2.npy",
        "parts/partition.json", "parts/mine.txt", "parts", "parts.old", "file", "features.npy",
        "features-labels.npy" };
    for (size_t i = 0; i < MOT_COUNT(names); i++) remove(in_box(names[i]));
    rmdir(box);
    *box = 0;
}

struct set {
    struct mot_dataset *data;
    struct mot_split split;
    struct mot_parts parts;
};

static bool open_cut(struct set *s, uint32_t order, double test, uint64_t seed, uint32_t parts)
{
    static struct mot_arena arena;
    struct mot_data_conf conf = { 0 };
    mot_options_preset(mot_data_options, &conf, &arena);
    conf.name = "digits";
    conf.rows = 100;
    conf.order = order;
    conf.test = test;
    if (mot_dataset_open(&conf, seed, &s->data) != MOT_OK) return false;
    s->split = (struct mot_split){ .table = &s->data->train,
        .parts = parts,
        .seed = seed,
        .file_rows = s->data->file_rows,
        .file_row = s->data->file_row };
    return mot_partition(partitioner("stratified"), NULL, &s->split, &s->parts, NULL) == MOT_OK;
}

static void set_free(struct set *s)
{
    mot_parts_free(&s->parts);
    mot_dataset_close(s->data);
}

static enum mot_status write_set(const struct set *s, bool replace)
{
    json_t *facts = mot_partition_facts(&s->split, &s->parts);
    char *text = json_dumps(facts, JSON_INDENT(1));
    enum mot_status status = mot_partition_write(in_box("parts"), replace, &s->split, &s->parts, text, NULL);
    free(text);
    json_decref(facts);
    return status;
}

static enum mot_status read_rows(const char *path, uint32_t **row, uint32_t *n)
{
    struct mot_source *source;
    enum mot_status status = mot_source_open(path, 0, &source);
    if (status != MOT_OK) return status;
    status = mot_read_npy_rows(source, UINT32_MAX, row, n);
    mot_source_close(source);
    return status;
}

/* The file's row, found without the map under test: by its pixels. */
static bool is_row_of_file(
    const struct set *s, uint32_t table_row, uint32_t file_row, const struct mot_dataset *plain)
{
    const struct mot_table *a = &s->data->train, *b = &plain->train;
    return a->y[table_row] == b->y[file_row] &&
        memcmp(a->x + (size_t)table_row * a->cols, b->x + (size_t)file_row * b->cols,
            a->cols * sizeof *a->x) == 0;
}

TEST(rows_are_numbers_of_the_file_whatever_the_order_and_the_split)
{
    static const uint32_t orders[] = { MOT_ORDER_SHUFFLED, MOT_ORDER_FILE, MOT_ORDER_SORTED };
    for (size_t i = 0; i < MOT_COUNT(orders); i++)
        for (int cut = 0; cut < 2; cut++) {
            struct set s, plain;
            CHECK(open_cut(&s, orders[i], cut ? 0.2 : 0, 5, 3) && open_cut(&plain, MOT_ORDER_FILE, 0, 5, 3));
            CHECK_INT(write_set(&s, false), MOT_OK);
            uint32_t seen = 0;
            for (uint32_t j = 0; j < 3; j++) {
                char name[32];
                uint32_t *row, n;
                snprintf(name, sizeof name, "parts/worker-%u.npy", j);
                CHECK_INT(read_rows(in_box(name), &row, &n), MOT_OK);
                CHECK_INT(n, s.parts.at[j + 1] - s.parts.at[j]);
                for (uint32_t k = 0; k < n; k++)
                    CHECK(is_row_of_file(&s, s.parts.row[s.parts.at[j] + k], row[k], plain.data));
                seen += n;
                free(row);
            }
            CHECK_INT(seen, cut ? 80 : 100);
            struct mot_parts back;
            CHECK_INT(mot_partition_read(in_box("parts"), &s.split, &back), MOT_OK);
            CHECK(same_parts(&back, &s.parts));
            mot_parts_free(&back);
            set_free(&s), set_free(&plain);
            clean_up();
        }
}

TEST(a_partition_fits_the_same_rows_in_another_order)
{
    struct set shuffled, sorted;
    struct mot_parts back;
    CHECK(open_cut(&shuffled, MOT_ORDER_SHUFFLED, 0, 5, 3) && open_cut(&sorted, MOT_ORDER_SORTED, 0, 5, 3));
    CHECK_INT(write_set(&shuffled, false), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &sorted.split, &back), MOT_OK);
    for (uint32_t i = 0; i < 100; i++)
        CHECK_INT(sorted.split.file_row[back.row[i]], shuffled.split.file_row[shuffled.parts.row[i]]);
    mot_parts_free(&back);
    set_free(&shuffled), set_free(&sorted);
    clean_up();
}

TEST(a_partition_of_other_rows_or_workers_is_refused)
{
    struct set a, other_seed, other_workers;
    struct mot_parts back;
    CHECK(open_cut(&a, MOT_ORDER_SHUFFLED, 0.2, 5, 3) &&
        open_cut(&other_seed, MOT_ORDER_SHUFFLED, 0.2, 6, 3) &&
        open_cut(&other_workers, MOT_ORDER_SHUFFLED, 0.2, 5, 2));
    CHECK_INT(write_set(&a, false), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &other_seed.split, &back), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a partition of other training rows");
    CHECK_HAS(mot_error(), "data.data_seed");
    CHECK_INT(mot_partition_read(in_box("parts"), &other_workers.split, &back), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "a partition for 3 workers, expected one for the experiment's 2");
    CHECK_INT(mot_partition_read(in_box("nowhere"), &a.split, &back), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "no partition here: partition.json");
    set_free(&a), set_free(&other_seed), set_free(&other_workers);
    clean_up();
}

TEST(a_folder_is_written_over_only_when_asked_and_never_where_other_files_are)
{
    struct set a, b;
    struct mot_parts back;
    CHECK(open_cut(&a, MOT_ORDER_FILE, 0, 5, 3) && open_cut(&b, MOT_ORDER_FILE, 0, 5, 2));
    CHECK_INT(write_set(&a, false), MOT_OK);
    CHECK_INT(write_set(&b, false), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--replace overwrites it");
    CHECK_INT(write_set(&b, true), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &b.split, &back), MOT_OK);
    CHECK(!mot_file_exists(in_box("parts/worker-2.npy"))); /* nothing of the old one is left */
    mot_parts_free(&back);
    CHECK_INT(mot_file_replace(in_box("parts/mine.txt"), "x", 1), MOT_OK);
    CHECK_INT(write_set(&a, true), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "the folder holds other files");
    set_free(&a), set_free(&b);
    clean_up();
}

static volatile sig_atomic_t interrupted;

TEST(an_interrupt_while_writing_leaves_nothing)
{
    struct set a;
    CHECK(open_cut(&a, MOT_ORDER_FILE, 0, 5, 3));
    interrupted = 1;
    a.split.interrupt = &interrupted;
    CHECK_INT(write_set(&a, false), MOT_EINTERRUPTED);
    CHECK(!mot_file_exists(in_box("parts")));
    char *left = mot_format("%s.%ld.tmp", in_box("parts"), (long)getpid());
    CHECK(!mot_file_exists(left));
    free(left);
    set_free(&a);
    clean_up();
}

/* ---- Damage --------------------------------------------------------------------------------------- */

static enum mot_status read_damaged(const struct set *s, const char *file, size_t at, int byte)
{
    unsigned char *bytes;
    size_t n;
    struct mot_parts back;
    if (mot_file_read(in_box(file), 1 << 20, &bytes, &n) != MOT_OK) return MOT_OK;
    unsigned char old = bytes[at % n];
    bytes[at % n] = (unsigned char)byte;
    mot_file_replace(in_box(file), bytes, n);
    enum mot_status status = mot_partition_read(in_box("parts"), &s->split, &back);
    if (status == MOT_OK) {
        /* Some bytes may be anything: white space in the JSON, a header's
         * padding, a key that no reader looks at. */
        if (!covers(&back, s->data->train.rows)) status = MOT_ESYSTEM;
        mot_parts_free(&back);
    }
    bytes[at % n] = old;
    mot_file_replace(in_box(file), bytes, n);
    free(bytes);
    return status;
}

TEST(a_byte_changed_anywhere_is_refused_or_harmless)
{
    struct set s;
    struct mot_rng rng = mot_rng_at(3, MOT_RNG_TEST, 9);
    static const char *const files[] = { "parts/partition.json", "parts/worker-0.npy", "parts/worker-1.npy" };
    printf("  seed 3\n");
    CHECK(open_cut(&s, MOT_ORDER_SHUFFLED, 0, 5, 3));
    CHECK_INT(write_set(&s, false), MOT_OK);
    uint32_t refused = 0;
    for (int i = 0; i < 120; i++) {
        enum mot_status status =
            read_damaged(&s, files[i % 3], mot_rng_below(&rng, 1 << 20), (int)mot_rng_below(&rng, 256));
        if (status == MOT_ESYSTEM) FAIL("round %d gave parts that do not cover the rows", i);
        refused += status != MOT_OK;
    }
    printf("  %u of 120 refused\n", refused);
    CHECK(refused > 60);
    set_free(&s);
    clean_up();
}

TEST(damage_is_named)
{
    struct set s;
    struct mot_parts back;
    uint32_t rows[3] = { 1, 1, 2 };
    CHECK(open_cut(&s, MOT_ORDER_FILE, 0, 5, 3));
    CHECK_INT(write_set(&s, false), MOT_OK);
    CHECK_INT(mot_write_npy_rows(in_box("parts/worker-1.npy"), rows, 3), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &s.split, &back), MOT_EDATA);
    CHECK_HAS(mot_error(), "worker-1.npy: 3 rows, expected 33 as partition.json says");
    uint32_t *own, n;
    CHECK_INT(read_rows(in_box("parts/worker-0.npy"), &own, &n), MOT_OK);
    own[5] = own[4];
    CHECK_INT(mot_write_npy_rows(in_box("parts/worker-0.npy"), own, n), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &s.split, &back), MOT_EDATA);
    CHECK_HAS(mot_error(), "entry 5 is row ");
    own[5] = 4000000000u;
    CHECK_INT(mot_write_npy_rows(in_box("parts/worker-0.npy"), own, n), MOT_OK);
    CHECK_INT(mot_partition_read(in_box("parts"), &s.split, &back), MOT_EDATA);
    CHECK_HAS(mot_error(), "row 4000000000, expected a training row");
    free(own);
    unlink(in_box("parts/worker-0.npy"));
    CHECK(mot_partition_read(in_box("parts"), &s.split, &back) != MOT_OK);
    CHECK_HAS(mot_error(), "worker-0.npy");
    set_free(&s);
    clean_up();
}

TEST(the_index_says_what_is_wrong_with_it)
{
    struct mot_partition_index x;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "{", "not valid JSON" },
        { "[]", "'version' is not 1" },
        { "{\"version\": 2}", "'version' is not 1" },
        { "{\"version\": 1}", "'rows'" },
        { "{\"version\": 1, \"rows\": -4}", "'rows'" },
        { "{\"version\": 1, \"rows\": 3}", "'file_rows'" },
        { "{\"version\": 1, \"rows\": 3, \"file_rows\": 3, \"rows_hash\": \"12\"}", "'rows_hash'" },
        { "{\"version\": 1, \"rows\": 3, \"file_rows\": 3, \"rows_hash\": \"0123456789abcdef\", \"workers\": "
          "[]}",
            "'workers'" },
        { "{\"version\": 1, \"rows\": 3, \"file_rows\": 3, \"rows_hash\": \"0123456789abcdef\", \"workers\": "
          "[{\"file\": \"../x.npy\", \"rows\": 3}]}",
            "worker 0 has no file" },
        { "{\"version\": 1, \"rows\": 3, \"file_rows\": 3, \"rows_hash\": \"0123456789abcdef\", \"workers\": "
          "[{\"file\": \"worker-0.npy\", \"rows\": 2}]}",
            "a total of 2 rows, expected the 3" },
    };
    for (size_t i = 0; i < MOT_COUNT(bad); i++) {
        CHECK_INT(mot_partition_parse("partition.json", bad[i].text, strlen(bad[i].text), &x), MOT_EDATA);
        CHECK_HAS(mot_error(), bad[i].says);
    }
}

/* ---- A file of features -------------------------------------------------------------------------------- */

TEST(a_feature_file_has_a_row_for_each_row_of_the_file)
{
    struct set s;
    struct mot_parts p;
    CHECK(open_cut(&s, MOT_ORDER_SHUFFLED, 0.2, 5, 3));
    struct mot_raw raw = { .rows = 100, .cols = 1, .x = mot_new(100, sizeof(float)) };
    for (int i = 0; i < 100; i++) raw.x[i] = (float)i;
    CHECK_INT(mot_raw_write(&raw, in_box("features.npy"), NULL, MOT_FORMAT_NPY), MOT_OK);
    CHECK_INT(mot_partition(partitioner("submodular"),
                  OPTIONS("submodular", "features", in_box("features.npy")), &s.split, &p, NULL),
        MOT_OK);
    CHECK(covers(&p, 80));
    mot_parts_free(&p);
    raw.rows = 80; /* as many as are trained on, but the file has more */
    CHECK_INT(mot_raw_write(&raw, in_box("features.npy"), NULL, MOT_FORMAT_NPY), MOT_OK);
    CHECK_INT(mot_partition(partitioner("submodular"),
                  OPTIONS("submodular", "features", in_box("features.npy")), &s.split, &p, NULL),
        MOT_EDATA);
    CHECK_HAS(mot_error(), "80 rows of features, expected 100: one per row of the data file");
    free(raw.x);
    set_free(&s);
    clean_up();
}

TEST_MAIN()
