#include "test.h"

#include "base/file.h"
#include "base/options.h"
#include "math/models.h"
#include "report/fixture.h"
#include "report/safetensors.h"
#include "report/score.h"

static const struct mot_model *model_named(const char *name)
{
    for (const struct mot_model *const *m = mot_models; *m; m++)
        if (strcmp((*m)->name, name) == 0) return *m;
    return NULL;
}

/* A model on the digits with parameters drawn at random. */
struct trained {
    struct mot_arena arena;
    struct mot_experiment e;
    struct mot_dataset *data;
    struct mot_net net;
    float *x;
};

static void set(
    const struct mot_option *table, void *conf, const char *key, const char *value, struct mot_arena *arena)
{
    if (mot_option_set(mot_option_find(table, key), conf, value, arena) != MOT_OK) abort();
}

static void trained_make(
    struct trained *t, const char *model, const char *key, const char *value, const char *data, uint64_t seed)
{
    *t = (struct trained){ 0 };
    t->e.seed = seed;
    t->e.model = model_named(model);
    t->e.model_conf = mot_arena_new(&t->arena, t->e.model->conf_bytes);
    if (mot_options_preset(t->e.model->options, t->e.model_conf, &t->arena) != MOT_OK) abort();
    if (key) set(t->e.model->options, t->e.model_conf, key, value, &t->arena);
    if (mot_options_preset(mot_data_options, &t->e.data, &t->arena) != MOT_OK) abort();
    set(mot_data_options, &t->e.data, "name", data, &t->arena);
    if (mot_dataset_open(&t->e.data, seed, &t->data) != MOT_OK) abort();
    struct mot_shape shape = { t->data->train.cols, t->data->train.classes, t->data->train.row_at != NULL,
        t->data->picture };
    if (mot_net_open(t->e.model, t->e.model_conf, &shape, &t->net) != MOT_OK) abort();
    t->x = mot_aligned(t->net.dim * sizeof *t->x);
    struct mot_rng rng = mot_rng_at(seed, MOT_RNG_TEST, 1);
    for (uint32_t i = 0; i < t->net.dim; i++) t->x[i] = (float)(0.1 * mot_rng_normal(&rng));
}

static void trained_free(struct trained *t)
{
    mot_dataset_close(t->data);
    mot_net_close(&t->net);
    mot_arena_free(&t->arena);
    free(t->x);
}

TEST(a_saved_model_comes_back_with_its_options_schema_and_numbers)
{
    struct trained t;
    char *path = scratch("mlp.safetensors");
    trained_make(&t, "mlp", "hidden", "[12, 7]", "digits", 3);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    struct mot_saved_model *m;
    CHECK_INT(mot_model_load(path, &m), MOT_OK);
    CHECK(m->net.kind == t.e.model);
    CHECK_INT(m->net.dim, t.net.dim);
    CHECK_INT(m->net.segments, t.net.segments);
    CHECK_INT(m->net.shape.picture.channels, 1); /* digits of 8 x 8 pixels */
    CHECK_INT(m->net.shape.picture.height, 8);
    CHECK_INT(m->net.shape.picture.width, 8);
    CHECK(memcmp(m->x, t.x, t.net.dim * sizeof *t.x) == 0);
    CHECK_INT(m->schema.cols, 64);
    CHECK_INT(m->schema.classes, 10);
    CHECK_TEXT(m->schema.class_names[9], "9");
    CHECK_INT(m->schema.scale, t.data->scale);
    CHECK((m->schema.factor != NULL) == (t.data->factor != NULL));
    if (t.data->factor) CHECK(memcmp(m->schema.factor, t.data->factor, 64 * sizeof(float)) == 0);
    CHECK(m->has_data);
    CHECK_INT(m->seed, 3);
    CHECK(m->data_hash == t.data->hash);
    CHECK_TEXT(m->data.name, "digits");
    CHECK(m->data.path == NULL);
    mot_saved_model_close(m);
    trained_free(&t);
    free(path);
}

TEST(only_the_numbers_load_into_a_net_of_the_same_shape)
{
    struct trained t, other;
    char *path = scratch("into.safetensors");
    trained_make(&t, "mlp", "hidden", "[12]", "digits", 3);
    trained_make(&other, "mlp", "hidden", "[13]", "digits", 3);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    float *x = mot_aligned(t.net.dim * sizeof *x);
    CHECK_INT(mot_model_load_into(path, &t.net, x), MOT_OK);
    CHECK(memcmp(x, t.x, t.net.dim * sizeof *x) == 0);
    CHECK_INT(mot_model_load_into(path, &other.net, other.x), MOT_EDATA);
    CHECK_HAS(mot_error(), "has the shape [12, 64], expected [13, 64]");
    free(x);
    trained_free(&t), trained_free(&other);
    free(path);
}

/* Saves, changes one metadata text or tensor name, and says what loading makes of it. */
static enum mot_status load_changed(const char *key, const char *value)
{
    struct trained t;
    char *path = scratch("changed.safetensors");
    trained_make(&t, "softmax", NULL, NULL, "digits", 3);
    if (mot_model_save(path, &t.e, &t.net, t.data, t.x) != MOT_OK) abort();
    struct mot_tensors tensors;
    if (mot_tensors_read(path, &tensors) != MOT_OK) abort();
    if (value) json_object_set_new(tensors.metadata, key, json_string(value));
    else json_object_del(tensors.metadata, key);
    struct mot_saved_model *m = NULL;
    enum mot_status status = mot_saved_model_read("file", &tensors, &m);
    mot_saved_model_close(m);
    mot_tensors_free(&tensors);
    trained_free(&t);
    free(path);
    return status;
}

TEST(metadata_that_describe_another_model_are_refused)
{
    static const struct {
        const char *key, *value, *says;
    } wrong[] = {
        { "model", "transformer", "has no model transformer" },
        { "model", NULL, "names no model" },
        { "model", "phantom", "has no option model" },
        { "model.depth", "3", "has no option model.depth" },
        { "cols", "63", "expected the shape [63]" },
        { "cols", "-1", "expected a number" },
        { "cols", NULL, "has no cols" },
        { "classes", "99999999999", "expected a number up to" },
        { "classes", "9", "class_names is not a list of 9 texts" },
        { "class_names", "[1,2]", "class_names is not a list of 10 texts" },
        { "class_names", "[1,2,3,4,5,6,7,8,9,10]", "class_names[0] is neither a text nor" },
        { "class_names", "[[],2,3,4,5,6,7,8,9,10]", "class_names[0] is neither a text nor" },
        { "class_names", "[[99,0],2,3,4,5,6,7,8,9,10]", "class_names[0] is neither a text nor" },
        { "class_names", NULL, "has no class_names" },
        { "columns", "7", "columns is not a list of" },
        { "columns", "[\"a\", \"b\"]", "columns is not a list of" },
        { "words", "7", "words is not a list of columns" },
        { "words", "[{\"column\": 0, \"first\": 0, \"words\": []}]", "words is not a list of columns" },
        { "words", "[{\"column\": 0, \"first\": 63, \"words\": [\"a\", \"b\"]}]", "words is not a list" },
        { "words", "[{\"column\": 0, \"first\": 0, \"words\": [\"a\", 5]}]", "words is not a list" },
        { "words", "[{\"column\": -1, \"first\": 0, \"words\": [\"a\"]}]", "words is not a list" },
        { "words",
            "[{\"column\": 0, \"first\": 0, \"words\": [\"a\", \"b\"]}, {\"column\": 1, \"first\": 1, "
            "\"words\": "
            "[\"a\"]}]",
            "words is not a list" },
        { "scale", "purple", "scale is purple, expected none" },
        { "data.rows", "many", "data.rows" },
        { "seed", "x", "seed is x" },
    };
    CHECK_INT(load_changed("x", "y"), MOT_OK); /* texts that nobody asks for do no harm */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        enum mot_status status = load_changed(wrong[i].key, wrong[i].value);
        if (status != MOT_EDATA)
            FAIL("%s: %s gives %d", wrong[i].key, wrong[i].value ? wrong[i].value : "(none)", status);
        CHECK_HAS(mot_error(), "file: ");
        CHECK_HAS(mot_error(), wrong[i].says);
    }
}

TEST(a_missing_file_is_named)
{
    struct mot_saved_model *m;
    CHECK(mot_model_load("/nowhere/model.safetensors", &m) != MOT_OK);
    CHECK_HAS(mot_error(), "/nowhere/model.safetensors");
}

/* ---- eval and predict ---------------------------------------------------------------- */

/* Loss and hits over a table, straight from the model. */
static double loss_over(const struct trained *t, const struct mot_table *table, uint64_t *right)
{
    void *scratch_space = mot_aligned(t->net.scratch_bytes);
    double loss = 0;
    *right = 0;
    for (uint32_t first = 0; first < table->rows; first += MOT_SLICE_ROWS) {
        uint32_t left = table->rows - first, hits = 0;
        struct mot_batch batch = {
            .table = table, .first = first, .rows = left < MOT_SLICE_ROWS ? left : MOT_SLICE_ROWS
        };
        loss += t->net.kind->loss(&t->net, t->x, &batch, &hits, scratch_space);
        *right += hits;
    }
    free(scratch_space);
    return loss / table->rows;
}

TEST(the_same_name_gives_the_test_part_of_the_training_run)
{
    struct trained t;
    struct mot_subject s;
    struct mot_marks marks;
    char *path = scratch("digits.safetensors");
    trained_make(&t, "softmax", NULL, NULL, "digits", 11);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_AUTO, NULL, 0, true, &s), MOT_OK);
    CHECK_TEXT(s.part, "test");
    CHECK_INT(s.rows, t.data->test.rows);
    CHECK(memcmp(s.table[0].x, t.data->test.x, (size_t)s.rows * 64 * sizeof(float)) == 0);
    mot_score_subject(&s, &marks);
    uint64_t right, diagonal = 0, all = 0;
    CHECK_NEAR(marks.loss, loss_over(&t, &t.data->test, &right), 1e-12);
    CHECK_INT(marks.right, right);
    CHECK_NEAR(marks.accuracy, (double)right / (double)t.data->test.rows, 1e-15);
    for (uint32_t i = 0; i < 100; i++)
        all += marks.confusion[i], diagonal += i / 10 == i % 10 ? marks.confusion[i] : 0;
    CHECK_INT(all, t.data->test.rows);
    CHECK_INT(diagonal, right);
    mot_marks_free(&marks);
    mot_subject_close(&s);
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_TRAIN, NULL, 0, true, &s), MOT_OK);
    CHECK_INT(s.rows, t.data->train.rows);
    mot_subject_close(&s);
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_ALL, NULL, 0, true, &s), MOT_OK);
    CHECK_INT(s.rows, 1797);
    mot_subject_close(&s);
    trained_free(&t);
    free(path);
}

TEST(a_part_of_data_that_differ_from_the_training_run_is_refused)
{
    struct trained t;
    struct mot_subject s;
    char *path = scratch("differ.safetensors");
    trained_make(&t, "softmax", NULL, NULL, "digits", 11);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    struct mot_setting fewer = { "rows", "1000", "--rows" }, wrong = { "rows", "x", "--rows" };
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_AUTO, &fewer, 1, true, &s), MOT_EDATA);
    CHECK_HAS(mot_error(), "`--part all`");
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_ALL, &fewer, 1, true, &s), MOT_OK);
    CHECK_INT(s.rows, 1000);
    mot_subject_close(&s);
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_ALL, &wrong, 1, true, &s), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "--rows: ");
    CHECK_INT(mot_subject_open(path, "synthetic", MOT_PART_TEST, NULL, 0, true, &s), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "is not what the model was trained on (digits)");
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_VALID, NULL, 0, true, &s), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "has no rows");
    trained_free(&t);
    free(path);
}

static uint32_t predicted[16];
static float first_output[16];
static size_t predictions;
static void remember(void *self, const float *outputs, uint32_t best)
{
    (void)self;
    if (predictions < 16) predicted[predictions] = best, first_output[predictions] = outputs[0];
    predictions++;
}

/* Trains nothing: least squares y = 2 a - b on a file, so that predictions are known. */
TEST(a_file_is_predicted_with_and_without_its_label_column)
{
    struct trained t;
    struct mot_subject s;
    char *train = scratch("train.csv"), *bare = scratch("bare.csv"), *path = scratch("squares.safetensors");
    const char *rows = "a,b,y\n1,0,2.5\n0,1,-1.25\n1,1,1.5\n2,1,3.5\n3,0,6.5\n";
    CHECK_INT(mot_file_replace(train, rows, strlen(rows)), MOT_OK);
    rows = "a,b\n1,1\n4,2\n";
    CHECK_INT(mot_file_replace(bare, rows, strlen(rows)), MOT_OK);
    trained_make(&t, "least-squares", NULL, NULL, train, 1);
    CHECK_INT(t.net.dim, 3);
    t.x[0] = 2, t.x[1] = -1, t.x[2] = 0;
    /* In the data's own units: scaling is part of what is saved. */
    CHECK(t.data->shift && t.data->factor);
    t.data->shift[0] = 1, t.data->shift[1] = 0, t.data->factor[0] = 1, t.data->factor[1] = 1;
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    predictions = 0;
    CHECK_INT(mot_subject_open(path, bare, MOT_PART_ALL, NULL, 0, false, &s), MOT_OK);
    mot_predict_subject(&s, remember, NULL);
    CHECK_INT(predictions, 2);
    CHECK_NEAR(first_output[0], -1, 1e-6); /* 2 (1 - 1) - 1 */
    CHECK_NEAR(first_output[1], 4, 1e-6);  /* 2 (4 - 1) - 2 */
    mot_subject_close(&s);
    predictions = 0;
    CHECK_INT(mot_subject_open(path, train, MOT_PART_ALL, NULL, 0, false, &s), MOT_OK);
    mot_predict_subject(&s, remember, NULL);
    CHECK_INT(predictions, 5);
    CHECK_NEAR(first_output[3], 1, 1e-6); /* 2 (2 - 1) - 1 */
    struct mot_marks marks;
    mot_score_subject(&s, &marks);
    CHECK(isnan(marks.accuracy));
    CHECK_NEAR(marks.rmse, sqrt((2.5 * 2.5 + 1.75 * 1.75 + 2.5 * 2.5 + 2.5 * 2.5 + 2.5 * 2.5) / 5), 1e-6);
    mot_marks_free(&marks);
    mot_subject_close(&s);
    CHECK(mot_subject_open(path, bare, MOT_PART_ALL, NULL, 0, true, &s) != MOT_OK); /* eval needs labels */
    trained_free(&t);
    free(train), free(bare), free(path);
}

TEST(a_model_of_sparse_rows_judges_dense_ones)
{
    struct trained t;
    struct mot_subject s;
    char *sparse = scratch("rows.libsvm"), *dense = scratch("rows.csv"),
         *path = scratch("sparse.safetensors");
    const char *rows = "1 1:1\n-1 2:1\n1 1:2 3:1\n-1 2:3\n1 3:1\n-1 1:1 2:2\n";
    CHECK_INT(mot_file_replace(sparse, rows, strlen(rows)), MOT_OK);
    rows = "1,0,0,1\n0,1,0,-1\n2,0,1,1\n";
    CHECK_INT(mot_file_replace(dense, rows, strlen(rows)), MOT_OK);
    trained_make(&t, "mlp", "hidden", "[40]", sparse, 1);
    CHECK(t.net.shape.sparse);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    predictions = 0;
    CHECK_INT(mot_subject_open(path, sparse, MOT_PART_ALL, NULL, 0, true, &s), MOT_OK);
    mot_predict_subject(&s, remember, NULL);
    mot_subject_close(&s);
    CHECK_INT(predictions, 6);
    CHECK_INT(mot_subject_open(path, dense, MOT_PART_ALL, NULL, 0, true, &s), MOT_OK);
    mot_predict_subject(&s, remember, NULL);
    mot_subject_close(&s);
    CHECK_INT(predictions, 9);
    for (int i = 0; i < 3; i++) CHECK_NEAR(first_output[6 + i], first_output[i], 1e-5);
    trained_free(&t);
    free(sparse), free(dense), free(path);
}

TEST(a_phantom_is_saved_but_predicts_nothing)
{
    struct trained t;
    struct mot_subject s;
    char *path = scratch("phantom.safetensors");
    trained_make(&t, "phantom", NULL, NULL, "digits", 1);
    CHECK_INT(mot_model_save(path, &t.e, &t.net, t.data, t.x), MOT_OK);
    CHECK_INT(mot_subject_open(path, "digits", MOT_PART_AUTO, NULL, 0, true, &s), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "computes nothing");
    trained_free(&t);
    free(path);
}

TEST_MAIN()
