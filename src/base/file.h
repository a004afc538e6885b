/* file.h -- reading whole files, and replacing files without ever leaving a partial one. */
#ifndef MOT_BASE_FILE_H
#define MOT_BASE_FILE_H

#include <motley/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes to a temporary name beside `path`, flushes, and renames over it. */
enum mot_status mot_file_replace(const char *path, const void *bytes, size_t n);

/* The same for printing: begin, write to ->out, then commit or abandon. */
struct mot_replace {
    FILE *out;
    char *path, *temporary;
};
enum mot_status mot_replace_begin(const char *path, struct mot_replace *);
enum mot_status mot_replace_commit(struct mot_replace *);
void mot_replace_abandon(struct mot_replace *);

/* Whether the files that this thread replaces wait for the disk, as they do at first. Returns what held
 * before. Without it is for files that carry checksums, so that loss in a power failure is noticed and
 * repaired. */
bool mot_replace_waits(bool waits);

/* The whole file in memory, with a zero byte after it; free() it. Refuses files over `most` bytes. */
enum mot_status mot_file_read(const char *path, size_t most, unsigned char **bytes_out, size_t *n_out);

enum mot_status mot_make_folder(const char *path); /* and its parents; fine if it exists */
bool mot_file_exists(const char *path);
bool mot_is_folder(const char *path);
char *mot_path_join(const char *folder, const char *name); /* malloc'd */

#endif
