/* number.h -- decimal numbers in text: fast, correctly rounded, and the same in every locale. */
#ifndef MOT_DATA_NUMBER_H
#define MOT_DATA_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* Reads a decimal number ("-1", "+.5", "2.", "1e-3") at `text`, which must end with
 * a byte that is no part of a number (a zero byte will do). `point` is '.' or ','.
 * Returns the first byte after it, or `text` itself if no number begins there. The
 * value is the nearest float; infinite if it is too large. "nan", "inf" and
 * hexadecimal do not count as numbers. */
const char *mot_scan_float(const char *text, char point, float *out);
const char *mot_scan_double(const char *text, char point, double *out);

/* Whether all of text[0..n-1] is a finite number, blanks around it allowed; text[n] must be readable. */
bool mot_is_number(const char *text, size_t n, char point, double *out);

/* The shortest text that mot_scan_float reads back as the same float; returns its length. */
int mot_print_float(char *into, size_t size, float value);

/* text[0..n-1] for an error message: clipped, quoted, fit for a terminal. Returns `into`. */
char *mot_clip(char *into, size_t size, const char *text, size_t n);
#define MOT_CLIP 64

#endif
