/* record_write.h -- from rows to records: the reverse of records.h. */
#ifndef MOT_STREAM_RECORD_WRITE_H
#define MOT_STREAM_RECORD_WRITE_H

#include "stream/records.h"

struct mot_record_label {
    const char *text; /* as readers expect it */
    bool number;      /* the text is a number */
    float value;      /* raw: the number of the class, or the value */
};

/* NULL if the label can be written; else why not, in words to follow it. */
const char *mot_record_label_unfit(enum mot_record_format, const struct mot_record_label *);
/* The most bytes that a record of such rows takes. */
size_t mot_record_print_room(uint32_t cols, const struct mot_record_label *);
/* Writes a line with its end, or a raw block of one row, which mot_records_next reads back as the same
 * floats. Returns its size in bytes. */
size_t mot_record_print(enum mot_record_format, const float *x, uint32_t cols,
    const struct mot_record_label *, char *into, size_t room);

#endif
