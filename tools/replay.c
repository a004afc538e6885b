/* replay.c -- a main() for a fuzzer where there is no libFuzzer: feeds it every
 * file of the folders and files named on the command line. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int fed;

static void feed_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    struct stat info;
    if (!in || fstat(fileno(in), &info) != 0) {
        perror(path);
        exit(1);
    }
    size_t n = (size_t)info.st_size;
    uint8_t *bytes = malloc(n ? n : 1); /* exactly as long as the file, so that reading past it is caught */
    if (!bytes || fread(bytes, 1, n, in) != n) {
        perror(path);
        exit(1);
    }
    fclose(in);
    LLVMFuzzerTestOneInput(bytes, n);
    free(bytes);
    fed++;
}

static void feed(const char *path)
{
    DIR *folder = opendir(path);
    if (!folder) {
        feed_file(path);
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        char *name;
        if (asprintf(&name, "%s/%s", path, entry->d_name) < 0) exit(1);
        feed(name);
        free(name);
    }
    closedir(folder);
}

int main(int count, char **arguments)
{
    for (int i = 1; i < count; i++) feed(arguments[i]);
    printf("%d inputs\n", fed);
    return fed == 0;
}
