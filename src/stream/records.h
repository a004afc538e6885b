/* records.h -- from the bytes of a stream to rows: CSV, LIBSVM, JSON lines and raw floats.
 *
 * A text record is a line ended by LF or CRLF; blank lines do not count. Raw floats come in blocks: a header
 * of 16 bytes ("MOTROWS1", columns and rows as 32-bit numbers, little-endian), then rows of a label and the
 * features as 32-bit floats. Nothing here waits, allocates or fails: a record that cannot be a row of the
 * schema is malformed, and parsing goes on with the next. */
#ifndef MOT_STREAM_RECORDS_H
#define MOT_STREAM_RECORDS_H

#include "data/data.h"
#include <stdbool.h>

enum mot_record_format { MOT_RECORDS_CSV, MOT_RECORDS_LIBSVM, MOT_RECORDS_JSON, MOT_RECORDS_RAW };

/* The result of parsing a record. */
enum mot_parsed {
    MOT_RECORD_ROW,
    MOT_RECORD_NONE,    /* a blank line or a header, which does not count */
    MOT_RECORD_PARTIAL, /* its end has not arrived; nothing was taken */
    MOT_RECORD_NO_NUMBER,
    MOT_RECORD_NOT_FINITE,
    MOT_RECORD_FEW,
    MOT_RECORD_MANY,
    MOT_RECORD_CLASS,
    MOT_RECORD_SYNTAX,
    MOT_RECORD_LONG, /* too long; set only by callers that cut records from bytes */
    MOT_RECORD_KINDS
};
#define MOT_RECORD_MALFORMED MOT_RECORD_NO_NUMBER /* this and all that follow */
const char *mot_record_why(enum mot_parsed);      /* "too few columns" */

struct mot_record_form {
    uint32_t format;         /* enum mot_record_format */
    uint32_t label;          /* CSV: which field is the label, from 0; UINT32_MAX: the last */
    char separator;          /* CSV */
    const char *label_key;   /* JSON: "y" in {"x": [..], "y": label}; columns can also be keys of their own */
    const char *feature_key; /* JSON: "x", the key of the list */
    const char *number_key;  /* JSON: the key of the record's number; NULL: none */
    struct mot_schema schema;
    char *const *column_names; /* [cols]; NULL: unknown */
};

struct mot_records;
/* The form, its schema and its names must outlive the parser. */
struct mot_records *mot_records_open(const struct mot_record_form *);
void mot_records_close(struct mot_records *);

/* Takes the record that begins at bytes[0], *took of the n bytes. A row goes to x[cols] and *y, scaled as the
 * schema says; otherwise x and *y may hold anything. */
enum mot_parsed mot_records_next(
    struct mot_records *, const unsigned char *bytes, size_t n, size_t *took, float *x, float *y);

/* The number of the last record taken; false if it has none. */
bool mot_records_number(const struct mot_records *, uint64_t *out);

/* CSV: whether a line that is not a row names the columns, as none of its fields is a number. */
bool mot_records_header(const struct mot_records *, const unsigned char *line, size_t n);

/* Raw: how many rows of the current block are still to come, so that reading can resume in the middle of
 * one. */
uint64_t mot_records_left(const struct mot_records *);
void mot_records_resume(struct mot_records *, uint64_t left);

#define MOT_RAW_MAGIC "MOTROWS1"
#define MOT_RAW_HEADER 16u
#define MOT_RAW_ROW(cols) (((size_t)(cols) + 1) * sizeof(float))
void mot_raw_header(unsigned char into[MOT_RAW_HEADER], uint32_t cols, uint32_t rows);
/* Whether the bytes are whole blocks of such rows, as a message must be. */
bool mot_raw_whole(const unsigned char *bytes, size_t n, uint32_t cols);

#endif
