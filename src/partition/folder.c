#include "partition/folder.h"

#include "base/file.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "data/formats.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define VERSION 1
#define JSON_MOST ((size_t)1 << 28)
#define WORKERS_MOST 10000000u
#define NAME_MOST 64

static uint32_t file_rows_of(const struct mot_split *s)
{
    return s->file_rows ? s->file_rows : s->table->rows;
}
static uint32_t file_row(const struct mot_split *s, uint32_t row)
{
    return s->file_row ? s->file_row[row] : row;
}

/* For each row of the file its row in the table, or UINT32_MAX. NULL if memory runs out. */
static uint32_t *table_rows(const struct mot_split *s)
{
    uint32_t n = file_rows_of(s), *row = mot_new_large((size_t)n + 1, sizeof *row);
    for (uint32_t i = 0; row && i < n; i++) row[i] = UINT32_MAX;
    for (uint32_t r = 0; row && r < s->table->rows; r++) row[file_row(s, r)] = r;
    return row;
}

/* Identifies the training rows of the file and their labels, whatever their order. */
static uint64_t rows_hash(const struct mot_split *s)
{
    uint32_t *row = table_rows(s), n = file_rows_of(s);
    XXH64_state_t *state = XXH64_createState();
    if (!row || !state) {
        mot_memory_refuse(0);
        free(row);
        XXH64_freeState(state);
        return 0;
    }
    XXH64_reset(state, 0);
    for (uint32_t i = 0; i < n; i++) {
        if (row[i] == UINT32_MAX) continue;
        unsigned char bytes[8] = { (unsigned char)i, (unsigned char)(i >> 8), (unsigned char)(i >> 16),
            (unsigned char)(i >> 24) };
        memcpy(bytes + 4, &s->table->y[row[i]], 4);
        XXH64_update(state, bytes, sizeof bytes);
    }
    uint64_t hash = XXH64_digest(state);
    XXH64_freeState(state);
    free(row);
    return hash;
}

static void file_name(uint32_t worker, char into[NAME_MOST])
{
    snprintf(into, NAME_MOST, "worker-%u.npy", worker);
}

/* ---- Writing -------------------------------------------------------------------------------- */

json_t *mot_partition_facts(const struct mot_split *s, const struct mot_parts *parts)
{
    char hash[20], name[NAME_MOST];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)rows_hash(s));
    json_t *workers = json_array();
    for (uint32_t j = 0; j < parts->parts; j++) {
        file_name(j, name);
        json_array_append_new(workers,
            json_pack("{s:s, s:I}", "file", name, "rows", (json_int_t)(parts->at[j + 1] - parts->at[j])));
    }
    return json_pack("{s:i, s:I, s:I, s:s, s:o}", "version", VERSION, "rows", (json_int_t)s->table->rows,
        "file_rows", (json_int_t)file_rows_of(s), "rows_hash", hash, "workers", workers);
}

static bool is_ours(const char *name)
{
    if (strcmp(name, "partition.json") == 0 || strcmp(name, "partition.html") == 0) return true;
    if (strncmp(name, "worker-", 7) != 0) return false;
    size_t digits = strspn(name + 7, "0123456789");
    return digits > 0 && strcmp(name + 7 + digits, ".npy") == 0;
}

/* Calls `each` for every name in the folder until it says no; false if it did. */
static bool each_name(const char *folder, bool (*each)(const char *folder, const char *name))
{
    DIR *dir = opendir(folder);
    bool good = true;
    if (!dir) return true;
    for (struct dirent *d; good && (d = readdir(dir));)
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) good = each(folder, d->d_name);
    closedir(dir);
    return good;
}

static bool check_ours(const char *folder, const char *name)
{
    (void)folder;
    return is_ours(name);
}
static bool say_no(const char *folder, const char *name)
{
    (void)folder, (void)name;
    return false;
}

static bool remove_one(const char *folder, const char *name)
{
    char *path = mot_path_join(folder, name);
    if (is_ours(name)) unlink(path);
    free(path);
    return true;
}

static void remove_folder(const char *folder)
{
    each_name(folder, remove_one);
    rmdir(folder);
}

enum mot_status mot_partition_writable(const char *folder, bool replace)
{
    struct stat info;
    if (stat(folder, &info) != 0) return MOT_OK;
    if (!S_ISDIR(info.st_mode))
        return mot_fail(MOT_EUSAGE, "%s: is a file, expected a folder to write the partition to", folder);
    if (each_name(folder, say_no)) return MOT_OK;
    if (!each_name(folder, check_ours))
        return mot_fail(
            MOT_EUSAGE, "%s: the folder holds other files, expected an empty or a new one", folder);
    if (!replace)
        return mot_fail(MOT_EUSAGE, "%s: the folder holds a partition; --replace overwrites it", folder);
    return MOT_OK;
}

static enum mot_status write_text(const char *folder, const char *name, const char *text)
{
    char *path = mot_path_join(folder, name);
    enum mot_status status = mot_file_replace(path, text, strlen(text));
    free(path);
    return status;
}

static enum mot_status write_files(const char *folder, const struct mot_split *s,
    const struct mot_parts *parts, const char *json, const char *page)
{
    enum mot_status status = MOT_OK;
    for (uint32_t j = 0; j < parts->parts && status == MOT_OK; j++) {
        char name[NAME_MOST];
        uint32_t rows = (uint32_t)(parts->at[j + 1] - parts->at[j]),
                 *row = mot_new_large((size_t)rows + 1, sizeof *row);
        file_name(j, name);
        char *path = mot_path_join(folder, name);
        for (uint32_t i = 0; row && i < rows; i++) row[i] = file_row(s, parts->row[parts->at[j] + i]);
        status = row ? mot_write_npy_rows(path, row, rows) : mot_memory_status();
        if (status == MOT_OK) status = mot_memory_status();
        if (status == MOT_OK && mot_split_interrupted(s)) status = mot_fail(MOT_EINTERRUPTED, "interrupted");
        free(path);
        free(row);
    }
    if (status == MOT_OK && page) status = write_text(folder, "partition.html", page);
    return status == MOT_OK ? write_text(folder, "partition.json", json) : status;
}

/* Replaces the old folder by the new one; only then is the old one removed. */
static enum mot_status put_in_place(const char *made, const char *folder, const char *aside)
{
    bool there = access(folder, F_OK) == 0 && !each_name(folder, say_no);
    if (there && rename(folder, aside) != 0)
        return mot_fail(MOT_ESYSTEM, "cannot move %s aside: %s", folder, strerror(errno));
    if (rename(made, folder) == 0) {
        if (there) remove_folder(aside);
        return MOT_OK;
    }
    enum mot_status status = mot_fail(MOT_ESYSTEM, "cannot write %s: %s", folder, strerror(errno));
    if (there && rename(aside, folder) != 0)
        status = mot_fail(MOT_ESYSTEM, "cannot write %s; its old contents are in %s", folder, aside);
    return status;
}

enum mot_status mot_partition_write(const char *folder, bool replace, const struct mot_split *s,
    const struct mot_parts *parts, const char *json, const char *page)
{
    enum mot_status status = mot_partition_writable(folder, replace);
    if (status != MOT_OK) return status;
    size_t length = strlen(folder);
    while (length > 1 && folder[length - 1] == '/') length--;
    char *plain = mot_format("%.*s", (int)length, folder),
         *made = mot_format("%s.%ld.tmp", plain, (long)getpid());
    char *aside = mot_format("%s.%ld.old", plain, (long)getpid());
    status = mot_make_folder(made);
    if (status == MOT_OK) status = write_files(made, s, parts, json, page);
    if (status == MOT_OK) status = put_in_place(made, plain, aside);
    if (status != MOT_OK) remove_folder(made);
    free(plain);
    free(made);
    free(aside);
    return status;
}

/* ---- Reading ---------------------------------------------------------------------------------- */

void mot_partition_index_close(struct mot_partition_index *x)
{
    for (uint32_t j = 0; x->file && j < x->workers; j++) free(x->file[j]);
    free(x->file);
    free(x->file_n);
    *x = (struct mot_partition_index){ 0 };
}

static enum mot_status get_number(const json_t *root, const char *name, const char *key, uint32_t *out)
{
    json_t *value = json_object_get(root, key);
    json_int_t n = json_is_integer(value) ? json_integer_value(value) : -1;
    if (n < 1 || n > MOT_ROWS_MAX)
        return mot_fail(MOT_EDATA, "%s: '%s' is not a whole number of rows, expected 1 or more", name, key);
    *out = (uint32_t)n;
    return MOT_OK;
}

static enum mot_status get_hash(const json_t *root, const char *name, uint64_t *out)
{
    const char *text = json_string_value(json_object_get(root, "rows_hash"));
    bool good = text && strlen(text) == 16 && strspn(text, "0123456789abcdef") == 16;
    if (!good)
        return mot_fail(
            MOT_EDATA, "%s: 'rows_hash' is missing or damaged, expected 16 hexadecimal digits", name);
    *out = strtoull(text, NULL, 16);
    return MOT_OK;
}

static enum mot_status get_workers(const json_t *root, const char *name, struct mot_partition_index *x)
{
    json_t *list = json_object_get(root, "workers"), *each;
    size_t n = json_array_size(list), i;
    uint64_t rows = 0;
    if (n == 0 || n > WORKERS_MOST)
        return mot_fail(MOT_EDATA, "%s: 'workers' is not a list of 1 to %u workers", name, WORKERS_MOST);
    x->workers = (uint32_t)n;
    x->file = mot_new_large(n, sizeof *x->file);
    x->file_n = mot_new_large(n, sizeof *x->file_n);
    if (!x->file || !x->file_n) return mot_memory_status();
    json_array_foreach(list, i, each)
    {
        const char *file = json_string_value(json_object_get(each, "file"));
        if (!file || !is_ours(file) || strlen(file) >= NAME_MOST)
            return mot_fail(
                MOT_EDATA, "%s: worker %zu has no file, expected a name such as worker-0.npy", name, i);
        x->file[i] = mot_text(file);
        if (mot_memory_refused()) return mot_memory_status();
        enum mot_status status = get_number(each, name, "rows", &x->file_n[i]);
        if (status != MOT_OK) return status;
        rows += x->file_n[i];
    }
    if (rows != x->rows)
        return mot_fail(MOT_EDATA, "%s: the workers have a total of %llu rows, expected the %u of 'rows'",
            name, (unsigned long long)rows, x->rows);
    return MOT_OK;
}

enum mot_status mot_partition_parse(
    const char *name, const char *text, size_t n, struct mot_partition_index *out)
{
    struct mot_partition_index x = { 0 };
    const struct mot_json_text t = { .name = name, .text = text, .n = n, .line = 1, .bad = MOT_EDATA };
    json_t *root;
    enum mot_status status = mot_json_parse(&t, &root);
    if (status != MOT_OK) return status;
    json_t *version = json_object_get(root, "version"), *seed = json_object_get(root, "seed");
    if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        status = mot_fail(
            MOT_EDATA, "%s: 'version' is not %d: not written by this version of motley", name, VERSION);
    if (status == MOT_OK) status = get_number(root, name, "rows", &x.rows);
    if (status == MOT_OK) status = get_number(root, name, "file_rows", &x.file_rows);
    if (status == MOT_OK) status = get_hash(root, name, &x.rows_hash);
    if (status == MOT_OK) status = get_workers(root, name, &x);
    x.has_seed = json_is_integer(seed);
    x.seed = x.has_seed ? (uint64_t)json_integer_value(seed) : 0;
    json_decref(root);
    if (status != MOT_OK) {
        mot_partition_index_close(&x);
        return status;
    }
    *out = x;
    return MOT_OK;
}

/* Whether the partition was made for these rows and workers. */
static enum mot_status check_fit(
    const char *folder, const struct mot_partition_index *x, const struct mot_split *s)
{
    char seed[64] = "";
    if (x->workers != s->parts && s->shared)
        return mot_fail(MOT_EUSAGE,
            "%s: a partition into %u parts, expected one into the %u that the method needs; motley partition "
            "--workers %u makes one",
            folder, x->workers, s->parts, s->parts);
    if (x->workers != s->parts)
        return mot_fail(MOT_EUSAGE, "%s: a partition for %u workers, expected one for the experiment's %u",
            folder, x->workers, s->parts);
    if (x->rows == s->table->rows && x->file_rows == file_rows_of(s) && x->rows_hash == rows_hash(s))
        return MOT_OK;
    if (x->has_seed)
        snprintf(seed, sizeof seed, " (it was made with seed %llu)", (unsigned long long)x->seed);
    return mot_fail(MOT_EUSAGE,
        "%s: a partition of other training rows: %u of %u, while the experiment trains on %u of %u. The "
        "file, data.rows, data.test, data.valid and the seed that shuffles before the split, data.data_seed, "
        "must be the same%s",
        folder, x->rows, x->file_rows, s->table->rows, file_rows_of(s), seed);
}

static enum mot_status read_worker(const char *folder, const struct mot_split *s,
    const struct mot_partition_index *x, uint32_t worker, uint32_t *table_row, uint32_t *out)
{
    struct mot_source *source;
    uint32_t n = 0, *row = NULL;
    char *path = mot_path_join(folder, x->file[worker]);
    enum mot_status status = mot_source_open(path, s->unpack_max, &source);
    if (status == MOT_OK) {
        status = mot_read_npy_rows(source, x->file_rows, &row, &n);
        mot_source_close(source);
    }
    if (status == MOT_OK && n != x->file_n[worker])
        status = mot_fail(
            MOT_EDATA, "%s: %u rows, expected %u as partition.json says", path, n, x->file_n[worker]);
    for (uint32_t i = 0; i < n && status == MOT_OK; i++) {
        bool good = row[i] < x->file_rows && table_row[row[i]] != UINT32_MAX;
        if (!good)
            status = mot_fail(MOT_EDATA,
                "%s: entry %u is row %u, expected a training row that no other worker has", path, i, row[i]);
        else out[i] = table_row[row[i]], table_row[row[i]] = UINT32_MAX;
    }
    free(row);
    free(path);
    return status;
}

enum mot_status mot_partition_read(const char *folder, const struct mot_split *s, struct mot_parts *out)
{
    unsigned char *text;
    size_t n;
    struct mot_partition_index x;
    char *path = mot_path_join(folder, "partition.json");
    if (!mot_file_exists(path)) {
        enum mot_status missing = mot_fail(MOT_EUSAGE,
            "%s: no partition here: partition.json, which `motley partition --out` writes, is missing",
            folder);
        free(path);
        return missing;
    }
    enum mot_status status = mot_file_read(path, JSON_MOST, &text, &n);
    if (status == MOT_OK) {
        status = mot_partition_parse(path, (const char *)text, n, &x);
        free(text);
    }
    free(path);
    if (status != MOT_OK) return status;
    status = check_fit(folder, &x, s);
    if (status == MOT_OK) {
        struct mot_parts parts = mot_parts_sized(x.workers, x.file_n);
        uint32_t *table_row = table_rows(s);
        status = mot_memory_status();
        for (uint32_t j = 0; j < x.workers && status == MOT_OK; j++)
            status = read_worker(folder, s, &x, j, table_row, parts.row + parts.at[j]);
        free(table_row);
        if (status == MOT_OK) *out = parts;
        else mot_parts_free(&parts);
    }
    mot_partition_index_close(&x);
    return status;
}

/* ---- The partitioner ------------------------------------------------------------------------------ */

struct from_conf {
    const char *from;
};

static const struct mot_option from_options[] = {
    { .name = "from",
        .type = MOT_OPT_TEXT,
        .offset = offsetof(struct from_conf, from),
        .doc = "a folder written by `motley partition --out`" },
    { .name = NULL },
};

static enum mot_status split_from(
    const void *conf, const struct mot_split *s, struct mot_parts *out, struct mot_split_cost *cost)
{
    (void)cost;
    return mot_partition_read(((const struct from_conf *)conf)->from, s, out);
}

const struct mot_partitioner mot_partition_from = {
    .name = "from",
    .summary = "as in a folder written by `motley partition`",
    .options = from_options,
    .conf_bytes = sizeof(struct from_conf),
    .split = split_from,
};
