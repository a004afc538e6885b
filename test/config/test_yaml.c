#include "config/yaml.h"
#include "test.h"

static enum mot_status parse(const char *text, struct mot_arena *arena, struct mot_yaml **out)
{
    return mot_yaml_parse("t.yaml", false, text, strlen(text), arena, out);
}

TEST(every_node_knows_its_line_and_column)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml *root, *b;
    CHECK_INT(parse("a: 1\nb:\n  - x\n  - {c: \"y\"}\n", &arena, &root), MOT_OK);
    CHECK_INT(root->kind, MOT_YAML_MAP);
    CHECK_INT(root->count, 2);
    CHECK_TEXT(mot_yaml_where(mot_yaml_get(root, "a"), &arena), "t.yaml:1:4");
    b = mot_yaml_get(root, "b");
    CHECK_TEXT(mot_yaml_where_key(b, &arena), "t.yaml:2:1");
    CHECK_INT(b->count, 2);
    CHECK_TEXT(mot_yaml_where(b->first, &arena), "t.yaml:3:5");
    CHECK_TEXT(mot_yaml_get(b->last, "c")->text, "y");
    CHECK(mot_yaml_get(b->last, "c")->quoted);
    CHECK(!mot_yaml_get(root, "nothing"));
    mot_arena_free(&arena);
}

TEST(an_empty_text_is_an_empty_map)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml *root;
    CHECK_INT(parse("# nothing\n", &arena, &root), MOT_OK);
    CHECK_INT(root->kind, MOT_YAML_MAP);
    CHECK_INT(root->count, 0);
    mot_arena_free(&arena);
}

TEST(a_byte_order_mark_is_no_indentation)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml *root;
    CHECK_INT(parse("\xEF\xBB\xBF"
                    "a: 1\nb: 2\n",
                  &arena, &root),
        MOT_OK);
    CHECK_INT(root->count, 2);
    CHECK_TEXT(mot_yaml_where(mot_yaml_get(root, "a"), &arena), "t.yaml:1:4");
    CHECK_TEXT(mot_yaml_where(mot_yaml_get(root, "b"), &arena), "t.yaml:2:4");
    mot_arena_free(&arena);
}

TEST(what_yaml_allows_but_an_experiment_does_not_is_refused_with_its_place)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        { "a: 1\na: 2\n", "t.yaml:2:1: 'a' is given twice, first in line 1" },
        { "a: &x 1\nb: *x\n", "t.yaml:1:4: found an anchor" },
        { "a: [&x 1]\n", "t.yaml:1:5: found an anchor" },
        { "b: *x\n", "alias" },
        { "a: !!int 3\n", "t.yaml:1:4: found a YAML tag" },
        { "a: 1\n---\nb: 2\n", "t.yaml:2:1: found a second YAML document" },
        { "[a]: 1\n", "found a list or a map as a key" },
        { "a: \"x\\0y\"\n", "found a zero byte" },
        { "a: \xff\n", "expected UTF-8" },
        { "a: [1, 2\n", "not valid YAML" },
        { "a: b: c\n", "t.yaml:1:5: not valid YAML" },
        { "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]", "nested more than 16 deep" },
        { "{a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: {a: 1}}}}}}}}}}}}}}}}}",
            "nested more than 16 deep" },
        { "[{a: [{a: [{a: [{a: [{a: [{a: [{a: [{a: [1]}]}]}]}]}]}]}]}]", "nested more than 16 deep" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct mot_arena arena = { NULL };
        struct mot_yaml *root;
        CHECK_INT(parse(bad[i].text, &arena, &root), MOT_EUSAGE);
        CHECK_HAS(mot_error(), bad[i].message);
        mot_arena_free(&arena);
    }
}

TEST(a_map_of_too_many_keys_is_refused)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml *root;
    static char text[32 * (MOT_YAML_KEYS_MAX + 2)];
    size_t n = 0;
    for (int i = 0; i <= MOT_YAML_KEYS_MAX; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "k%d: 1\n", i);
    CHECK_INT(parse(text, &arena, &root), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "more than 500 keys");
    mot_arena_free(&arena);
}

TEST(a_setting_makes_maps_on_its_way_and_keeps_names)
{
    struct mot_arena arena = { NULL };
    struct mot_yaml *root;
    CHECK_INT(parse("method: server\nstop: {updates: 5}\n", &arena, &root), MOT_OK);
    CHECK_INT(mot_yaml_put(root, "method.k", "7", "--method-k", &arena), MOT_OK);
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "method"), "name")->text, "server");
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "method"), "k")->text, "7");
    CHECK_TEXT(mot_yaml_where(mot_yaml_get(mot_yaml_get(root, "method"), "k"), &arena), "--method-k");
    /* The same name again keeps the options; another one drops them. */
    CHECK_INT(mot_yaml_put(root, "method", "server", "--method", &arena), MOT_OK);
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "method"), "k")->text, "7");
    CHECK_INT(mot_yaml_put(root, "method", "async", "--method", &arena), MOT_OK);
    CHECK_INT(mot_yaml_get(root, "method")->kind, MOT_YAML_SCALAR);
    CHECK_INT(mot_yaml_put(root, "stop.target.grad_norm", "1e-3", "--set", &arena), MOT_OK);
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(mot_yaml_get(root, "stop"), "target"), "grad_norm")->text, "1e-3");
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "stop"), "updates")->text, "5");
    CHECK_INT(mot_yaml_put(root, "batch", "[1, 2]", "--batch", &arena), MOT_OK);
    CHECK_INT(mot_yaml_get(root, "batch")->count, 2);
    CHECK_INT(mot_yaml_put(root, "batch.x", "1", "--set", &arena), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "is a list");
    mot_arena_free(&arena);
}

TEST(options_in_braces_after_a_name_are_a_map_with_that_name)
{
    static const struct {
        const char *flag, *printed;
    } short_for[] = { { "server{k: 6}", "{name: server, k: 6}" }, { "async{}", "{name: async}" },
        { "async{ }", "{name: async}" }, { "server {k: 6}", "{name: server, k: 6}" }, { "server", NULL },
        { "run{3}", NULL }, { "server{k: 6", NULL }, { "{k: 6}", NULL }, { "a b{k: 6}", NULL },
        { "", NULL } };
    for (size_t i = 0; i < MOT_COUNT(short_for); i++) {
        char *map = mot_yaml_longhand(short_for[i].flag, strlen(short_for[i].flag));
        CHECK_TEXT(map ? map : "none", short_for[i].printed ? short_for[i].printed : "none");
        free(map);
    }
    struct mot_arena arena = { NULL };
    struct mot_yaml *root;
    CHECK_INT(parse("method: allreduce\n", &arena, &root), MOT_OK);
    CHECK_INT(mot_yaml_put(root, "method", "server{k: 6}", "--method", &arena), MOT_OK);
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "method"), "name")->text, "server");
    CHECK_TEXT(mot_yaml_get(mot_yaml_get(root, "method"), "k")->text, "6");
    mot_arena_free(&arena);
}

TEST(what_is_quoted_in_messages_is_short_and_printable)
{
    struct mot_arena arena = { NULL };
    CHECK_TEXT(mot_yaml_quote("a\033[31mb", &arena), "'a\\x1b[31mb'");
    char longer[201];
    memset(longer, 'x', 200);
    longer[200] = '\0';
    CHECK(strlen(mot_yaml_quote(longer, &arena)) < 70);
    CHECK_HAS(mot_yaml_quote(longer, &arena), "xxx...'");
    mot_arena_free(&arena);
}

TEST_MAIN()
