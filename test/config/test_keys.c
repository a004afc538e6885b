/* Every key, what it expects and what it is by default, as keys.txt says: files, flags and help go by it. */
#include "base/options.h"
#include "config/keys.h"
#include "recorded.h"

static void put_key(const char *name, const char *of, const struct mot_option *o, FILE *out)
{
    fprintf(out, "%s%s%s%s", name, *of ? " (" : "", of, *of ? ")" : "");
    if (o) {
        char *expects = mot_option_expects(o);
        fprintf(out, ": %s; default: %s", expects, o->preset ? o->preset : "none is given");
        free(expects);
    }
    putc('\n', out);
}

static void put_table(const char *section, const char *of, const struct mot_option *table, FILE *out)
{
    for (; table && table->name; table++) {
        char *name = mot_format("%s%s%s", section, *section ? "." : "", table->name);
        put_key(name, of, table, out);
        free(name);
    }
}

static void put_family(const struct mot_family *family, FILE *out)
{
    struct mot_choice choice;
    for (size_t i = 0; family->get(i, &choice); i++) {
        fprintf(out, "%s: %s\n", family->section, choice.name);
        put_table(family->section, choice.name, choice.options, out);
    }
}

TEST(every_key_expects_what_is_written_down)
{
    struct mot_arena arena = { 0 };
    size_t n, bytes;
    char *text = NULL;
    FILE *out = open_memstream(&text, &bytes);
    const struct mot_key *key = mot_keys(&arena, &n);
    fputs("An experiment\n\n", out);
    for (size_t i = 0; i < n; i++) put_key(key[i].name, key[i].of ? key[i].of : "", key[i].option, out);
    fputs("\nA cluster\n\n", out);
    for (const struct mot_section *s = mot_cluster_sections; s->name; s++) {
        put_table(s->name, "", s->options, out);
        if (s->family) put_family(s->family, out);
    }
    fclose(out);
    mot_arena_free(&arena);
    CHECK(as_recorded("test/config/keys.txt", text));
}

TEST_MAIN()
