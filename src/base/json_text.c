#include "base/json_text.h"
#include "base/file.h"
#include "base/memory.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* Whether that was memory. jansson says so in few of the cases; in others it gives no reason, or blames the
 * token for which it had no room. Then it is asked again (*out is what comes of it), and for room. */
static bool ran_out(const struct mot_json_text *t, json_error_t *error, json_t **out)
{
    json_malloc_t take;
    json_free_t give_back;
    if (json_error_code(error) == json_error_out_of_memory || !*error->text) return true;
    *out = json_loadb(t->text, t->n, JSON_REJECT_DUPLICATES, error);
    if (*out) return false;
    json_get_alloc_funcs(&take, &give_back);
    void *room = take(4096 + (t->n < SIZE_MAX / 32 ? 16 * t->n : 0));
    give_back(room);
    return !room;
}

enum mot_status mot_json_parse(const struct mot_json_text *t, json_t **out)
{
    json_error_t error;
    *out = json_loadb(t->text, t->n, JSON_REJECT_DUPLICATES, &error);
    if (!*out && ran_out(t, &error, out)) {
        mot_memory_refuse(0);
        return mot_fail(MOT_ESYSTEM, "%s: out of memory while reading it", t->name);
    }
    if (*out) return MOT_OK;
    if (!t->line)
        return mot_fail(t->bad, "%s: offset %zu: not valid JSON: %s", t->name,
            t->offset + (error.position > 0 ? (size_t)error.position : 0), error.text);
    return mot_fail(t->bad, "%s:%zu:%d: not valid JSON: %s", t->name,
        t->line + (error.line > 0 ? (size_t)error.line - 1 : 0), error.column, error.text);
}

enum mot_status mot_json_read(const char *path, enum mot_status bad, json_t **out)
{
    unsigned char *bytes;
    size_t n;
    *out = NULL;
    enum mot_status status = mot_file_read(path, SIZE_MAX, &bytes, &n);
    if (status != MOT_OK) return status;
    status = mot_json_parse(
        &(struct mot_json_text){ .name = path, .text = (const char *)bytes, .n = n, .line = 1, .bad = bad },
        out);
    free(bytes);
    return status;
}
