/* json.h -- numbers and values as JSON text: short, exact, the same on every run. */
#ifndef MOT_REPORT_JSON_H
#define MOT_REPORT_JSON_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#define MOT_NUMBER_SIZE 32

/* The shortest decimal that reads back to the same double; "null" where it is not finite. Returns `into`. */
char *mot_number_text(double value, char into[MOT_NUMBER_SIZE]);

/* Nanoseconds as exact seconds: 1500000000 is "1.5". Returns `into`. */
char *mot_seconds_text(uint64_t ns, char into[MOT_NUMBER_SIZE]);

/* A JSON number, or null where the value is not finite. */
json_t *mot_json_number(double value);
/* A JSON string. Where the text is no UTF-8 (a label, a file's name, a message that was cut) it is spelt out:
 * "caf\\xe9". */
json_t *mot_json_text(const char *text);

#endif
