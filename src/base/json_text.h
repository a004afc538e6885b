/* json_text.h -- JSON as texts and files have it: parsed, and what is wrong put in words. */
#ifndef MOT_BASE_JSON_TEXT_H
#define MOT_BASE_JSON_TEXT_H

#include <jansson.h>
#include <motley/status.h>
#include <stddef.h>

/* Memory that runs out is MOT_ESYSTEM, and marks the call; what is not JSON, or repeats a key, is `bad`, and
 * the message says where. *out is NULL then. */
struct mot_json_text {
    const char *name; /* of the file, for messages */
    const char *text;
    size_t n;
    size_t line; /* the text's first in the file, from 1; 0: the file has no lines, and places are offsets, */
    size_t offset; /* the text's own */
    enum mot_status bad;
};
enum mot_status mot_json_parse(const struct mot_json_text *, json_t **out);

/* The same of a whole file, if it can be read. */
enum mot_status mot_json_read(const char *path, enum mot_status bad, json_t **out);

#endif
