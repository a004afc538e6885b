/* csv_field.h -- text as a field of CSV (RFC 4180). */
#ifndef MOT_BASE_CSV_FIELD_H
#define MOT_BASE_CSV_FIELD_H

/* Quoted if it holds a quote, a line end or one of `separators`, or has a blank at either end. malloc'd. */
char *mot_csv_field(const char *text, const char *separators);

#endif
