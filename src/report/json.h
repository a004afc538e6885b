/* json.h -- JSON: numbers as short exact text, the same on every run; members of objects, checked. */
#ifndef MOT_REPORT_JSON_H
#define MOT_REPORT_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_NUMBER_SIZE 32

/* The shortest decimal that reads back to the same double; "null" if it is not finite. Returns `into`. */
char *mot_number_text(double value, char into[MOT_NUMBER_SIZE]);

/* Nanoseconds as exact seconds: 1500000000 is "1.5". Returns `into`. */
char *mot_seconds_text(uint64_t ns, char into[MOT_NUMBER_SIZE]);

/* A JSON number, or null if the value is not finite. */
json_t *mot_json_number(double value);
/* A JSON string. Text that is not UTF-8 (a label, a file's name, a message cut short) is spelt out:
 * "caf\\xe9". */
json_t *mot_json_text(const char *text);

/* A member of an object, by its expected type: NaN, 0, "" or NULL if it is missing or of another type. */
double mot_json_get_number(const json_t *object, const char *key);
size_t mot_json_get_count(const json_t *object, const char *key); /* a whole number, at least 0 */
const char *mot_json_get_text(const json_t *object, const char *key);
const json_t *mot_json_get_list(const json_t *object, const char *key); /* jansson takes NULL as empty */

/* Like mot_json_text, but NULL if the text is not UTF-8. */
json_t *mot_json_string(const char *text);

/* Put a value into an object or a list, which takes it over. jansson says nothing when it runs out of memory;
 * these do. */
void mot_json_set(json_t *object, const char *key, json_t *value);
void mot_json_add(json_t *list, json_t *value);

#endif
