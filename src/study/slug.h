/* slug.h -- names of arms and conditions as parts of file names. */
#ifndef MOT_STUDY_SLUG_H
#define MOT_STUDY_SLUG_H

#include <stddef.h>

/* names[at], short and never empty: letters, digits, ._= and non-ASCII characters stay, the rest becomes
 * dashes. Distinct from the slugs of the names before it. malloc'd. */
char *mot_slug(const char *const *names, size_t at);

#endif
