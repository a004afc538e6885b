/* shown.h -- text from files, fit for a terminal.
 *
 * Labels, names and paths may hold anything, even characters that move the cursor, rename a window or reverse
 * the order of letters. Those are shown, not obeyed: "\n", "\x1b", "\u202e". Bytes that are not UTF-8 are
 * shown as "\xe9"; all other text stays as it is. */
#ifndef MOT_BASE_SHOWN_H
#define MOT_BASE_SHOWN_H

#include <stddef.h>
#include <stdio.h>

/* As much of it as fits, cut between characters, with "..." at the cut. Returns `into`. */
char *mot_show_text(const char *text, char *into, size_t size);
/* The same for n bytes, which may include zeros. */
char *mot_show_bytes(const char *text, size_t n, char *into, size_t size);
/* All of it; malloc'd. */
char *mot_shown(const char *text);
void mot_put_shown(const char *text, FILE *out);

size_t mot_text_width(const char *);            /* characters of UTF-8 */
size_t mot_text_cut(const char *, size_t most); /* bytes of its first `most` characters */

#endif
