/* record_write.h -- from rows to records: the other direction of records.h. */
#ifndef MOT_STREAM_RECORD_WRITE_H
#define MOT_STREAM_RECORD_WRITE_H

#include "stream/records.h"

struct mot_record_label {
    const char *text; /* as a reader knows it */
    bool number;      /* the text is one */
    float value;      /* raw: the number of the class, or the value */
};

/* NULL: such a label can be written; else why not, as words that go after it. */
const char *mot_record_label_unfit(enum mot_record_format, const struct mot_record_label *);
/* Bytes that no record of such rows exceeds. */
size_t mot_record_print_room(uint32_t cols, const struct mot_record_label *);
/* A line with its end, or a raw block of one row, that mot_records_next reads back as the same floats.
 * Returns its bytes. */
size_t mot_record_print(enum mot_record_format, const float *x, uint32_t cols,
    const struct mot_record_label *, char *into, size_t room);

#endif
