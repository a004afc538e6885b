/* words.h -- numbers with units, and the valid name nearest to a wrong one. */
#ifndef MOT_BASE_WORDS_H
#define MOT_BASE_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each reads the whole text, or returns false and leaves *out alone. */
bool mot_read_uint(const char *text, uint64_t *out); /* 8, 25e6, 10k, 2M */
bool mot_read_real(const char *text, double *out);   /* 0.1, 1e-4, 2^-3, 20% */
/* 3ms, 1.5 s, 10min, 2h; only 0 needs no unit */
bool mot_read_time(const char *text, uint64_t *ns_out);
bool mot_read_size(const char *text, uint64_t *bytes_out);          /* 2GB = 2G = 2e9, 64MiB, 512B */
bool mot_read_bandwidth(const char *text, double *bytes_per_s_out); /* 20Mbit, 1Gbit/s, 10MB/s */
bool mot_read_rate(const char *text, double *per_s_out);            /* 500 samples/s, 3/min, 1k/s */

/* For people: "1.50 s", "20 Mbit/s", "2.4 GB". Returns `into`. */
char *mot_show_time(uint64_t ns, char *into, size_t size);
char *mot_show_size(double bytes, char *into, size_t size);
char *mot_show_count(double whole, char *into, size_t size); /* "1,234,567" */
char *mot_show_rate(double per_s, char *into, size_t size);  /* "16,667"; below 100 "8.333" */
char *mot_show_bandwidth(double bytes_per_s, char *into, size_t size);

struct mot_updates_text {
    char text[48];
};
struct mot_updates_text mot_updates_text(uint64_t n); /* "1 update", "4,479 updates" */

/* The ending of a noun after a number: "1 update", "2 updates". */
static inline const char *mot_plural(uint64_t n) { return n == 1 ? "" : "s"; }

/* "a", "a and b", "a, b and c". malloc'd. */
char *mot_list_words(const char *const *word, size_t n);

/* The word of `words` (n of them, NULLs skipped) nearest to `wrong`, or NULL if none is near. */
const char *mot_nearest(const char *wrong, const char *const *words, size_t n);

#endif
