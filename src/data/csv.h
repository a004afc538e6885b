/* csv.h -- what csv.c and csv_layout.c share: the layout of a file, and splitting a line. */
#ifndef MOT_DATA_CSV_H
#define MOT_DATA_CSV_H

#include "data/formats.h"

struct csv_field {
    char *text;
    size_t n;
    uint32_t line; /* of the record, from 0, on which it begins */
};
struct csv_fields {
    struct csv_field *field;
    size_t count, room;
};

enum csv_role { CSV_FEATURE, CSV_WORDS, CSV_LABEL, CSV_SKIP }; /* CSV_WORDS: because `words` says so */

struct csv_layout {
    char separator; /* ' ' stands for any run of blanks */
    bool header, decimal_comma;
    bool row_names;           /* rows have one cell more than the header, before the others */
    uint32_t width;           /* cells of a row, without the row's name */
    char **names;             /* [width], or NULL */
    unsigned char *role;      /* [width]: enum csv_role */
    uint32_t *feature;        /* [width]: a column's number among the features, if its role makes it one */
    uint32_t features, label; /* label: the column, if there is one */
    bool labelled;
};

/* Quotes: inside them a record continues past the end of a line. */
struct csv_quotes {
    char separator; /* 0: any of the usual ones */
    bool inside;
};
bool csv_goes_on(void *quotes, const char *line, size_t n); /* a mot_goes_on */

/* Cuts a record, in place. Returns NULL, or what is wrong with the quotes of the last field. */
const char *csv_split(char *line, size_t n, char separator, struct csv_fields *);
/* The number of cells without empty ones at the end. */
size_t csv_used(const struct csv_fields *);
/* Empty, or a word that stands for a missing value, such as "NA". */
bool csv_missing(const struct csv_field *);
/* Missing or infinite: cannot name a class or column. */
bool csv_damaged(const struct csv_field *);
bool csv_number(const struct csv_layout *, const struct csv_field *, double *out);

/* Finds the layout by looking ahead; consumes nothing. */
enum mot_status csv_layout_find(struct mot_source *, const struct mot_read_conf *, struct csv_layout *out);
void csv_layout_free(struct csv_layout *);

#endif
