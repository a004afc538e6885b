/* records_parts.h -- what the files of the record parsers share. */
#ifndef MOT_STREAM_RECORDS_PARTS_H
#define MOT_STREAM_RECORDS_PARTS_H

#include "stream/records.h"

#define MOT_SMALL_CLASSES 1024u /* labels that are smaller whole numbers need no search */
#define MOT_NO_CLASS UINT32_MAX

struct mot_class_number {
    double value;
    uint32_t class_of;
};
struct mot_class_word {
    const char *text;
    size_t n;
    uint32_t class_of;
};

struct mot_records {
    struct mot_record_form form;
    struct mot_class_number *number; /* sorted: names that are numbers, by value */
    struct mot_class_word *word;     /* sorted: the others */
    uint32_t numbers, words;
    uint32_t small[MOT_SMALL_CLASSES];
    uint64_t left;          /* raw: rows of the block that are still to come */
    uint64_t serial, *seen; /* JSON: seen[cols]: the serial of the last record with the column */
    bool numbered;          /* JSON: the record has a number of its own, */
    uint64_t own_number;    /* this one */
};

enum mot_parsed mot_record_label(const struct mot_records *, const char *text, size_t n, float *y);
enum mot_parsed mot_record_label_number(const struct mot_records *, double value, float *y);
/* Scales a row that has all its columns, and refuses it if any is not finite. */
enum mot_parsed mot_record_finish(const struct mot_records *, float *x);
/* Parses the line from p to end; a line end must follow. */
enum mot_parsed mot_record_json(struct mot_records *, const char *p, const char *end, float *x, float *y);

#endif
