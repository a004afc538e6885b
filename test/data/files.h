/* files.h -- small files for tests of the data room, in a folder that goes when the program ends. */
#ifndef MOT_TEST_DATA_FILES_H
#define MOT_TEST_DATA_FILES_H

#include "base/file.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char files_folder[] = "/tmp/motley-data-XXXXXX";

static const char *write_file(const char *name, const char *text)
{
    static char path[8][128];
    static int next;
    if (strstr(files_folder, "XXXXXX") && !mkdtemp(files_folder)) return NULL;
    char *at = path[next++ % 8];
    snprintf(at, sizeof path[0], "%s/%s", files_folder, name);
    return mot_file_replace(at, text, strlen(text)) == MOT_OK ? at : NULL;
}

/* Removes the files of the folder, then the folder. */
__attribute__((destructor)) static void tidy_up(void)
{
    DIR *open_folder = opendir(files_folder);
    for (struct dirent *entry; open_folder && (entry = readdir(open_folder)) != NULL;)
        if (entry->d_name[0] != '.') unlinkat(dirfd(open_folder), entry->d_name, 0);
    if (open_folder) closedir(open_folder);
    rmdir(files_folder);
}

#endif
