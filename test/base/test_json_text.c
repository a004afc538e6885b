/* JSON that is read: what is wrong with it is said, and where; memory that runs out is something else. */
#include "base/json_text.h"
#include "base/memory.h"
#include "test.h"
#include <stdlib.h>
#include <unistd.h>

static enum mot_status parse(const char *text, size_t line, size_t offset, json_t **out)
{
    const struct mot_json_text t = { .name = "some.json",
        .text = text,
        .n = strlen(text),
        .line = line,
        .offset = offset,
        .bad = MOT_EUSAGE };
    return mot_json_parse(&t, out);
}

TEST(what_is_json_is_given)
{
    json_t *value;
    CHECK_INT(parse("{\"a\": [1, 2]}", 1, 0, &value), MOT_OK);
    CHECK_INT((long long)json_array_size(json_object_get(value, "a")), 2);
    json_decref(value);
}

TEST(what_is_not_has_the_callers_status_and_its_place_in_the_file)
{
    json_t *value = json_true();
    CHECK_INT(parse("{\n\"a\": oops}", 1, 0, &value), MOT_EUSAGE);
    CHECK(value == NULL);
    CHECK_HAS(mot_error(), "some.json:2:");
    CHECK_HAS(mot_error(), "not valid JSON: ");
    CHECK_INT(parse("oops", 17, 0, &value), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "some.json:17:");
    CHECK_INT(parse("{\"a\": 1, \"a\": 2}", 0, 8, &value), MOT_EUSAGE);
    CHECK_HAS(mot_error(), "some.json: offset ");
    CHECK_HAS(mot_error(), "duplicate");
    CHECK_INT(parse("", 1, 0, &value), MOT_EUSAGE);
}

static unsigned left; /* requests of jansson that are granted */
static void *grant(size_t n) { return left ? left--, malloc(n) : NULL; }

TEST(memory_that_runs_out_is_no_fault_of_the_text)
{
    struct mot_spare *spare;
    CHECK_INT(mot_spare_open(&spare), MOT_OK);
    mot_spare_use(spare);
    unsigned refused = 0, wrong = 0;
    json_t *value = NULL;
    json_set_alloc_funcs(grant, free);
    for (unsigned granted = 0; granted < 100 && !value; granted++) {
        left = granted;
        enum mot_status status = parse("{\"a\": [1, \"two\", {\"b\": 3.5}]}", 1, 0, &value);
        if (status == MOT_OK) break;
        refused++;
        wrong += status != MOT_ESYSTEM || !strstr(mot_error(), "some.json: out of memory");
    }
    json_decref(value);
    json_set_alloc_funcs(malloc, free);
    CHECK_INT(wrong, 0);
    CHECK(mot_memory_refused());
    CHECK(refused > 10);
    CHECK(value != NULL);
    mot_spare_use(NULL);
    mot_spare_close(spare);
}

static void check_file(const char *content, enum mot_status expected)
{
    char path[] = "/tmp/motley-json-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    CHECK(write(fd, content, strlen(content)) == (ssize_t)strlen(content));
    close(fd);
    json_t *value;
    enum mot_status status = mot_json_read(path, MOT_EDATA, &value);
    unlink(path);
    CHECK_INT(status, expected);
    CHECK((value != NULL) == (expected == MOT_OK));
    json_decref(value);
}

TEST(a_file_is_read_likewise)
{
    json_t *value = json_true();
    check_file("[1]", MOT_OK);
    check_file("[1", MOT_EDATA);
    CHECK_INT(mot_json_read("/nonexistent/some.json", MOT_EDATA, &value), MOT_EUSAGE);
    CHECK(value == NULL);
    CHECK_HAS(mot_error(), "some.json");
}

TEST_MAIN()
