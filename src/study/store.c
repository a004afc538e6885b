#include "study/store.h"
#include "api/job.h"
#include "api/plugin.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "config/print.h"
#include "config/version.h"
#include "data/formats.h"
#include "math/kernels.h"
#include "partition/classwise.h"
#include "study/source_hash.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define SUMS "sums"
#define SUMS_MOST (1u << 20)
#define READ_BYTES (1u << 16)

/* A file or folder that experiments name, and the hash of its contents. */
struct named {
    struct named *next;
    char *path;
    uint64_t hash;
};

struct mot_store {
    char *path, *tmp, *lock;
    /* holds a shared lock on the lock file's first byte while this program lives */
    int users;
    struct named *named;
};

/* ---- Small things ------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *facts, int kind, struct FTW *ftw)
{
    (void)facts, (void)kind, (void)ftw;
    remove(path);
    return 0;
}

void mot_remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

static enum mot_status hash_file(const char *path, int flags, uint64_t *hash_out, uint64_t *bytes_out)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | flags);
    if (file < 0) return mot_fail(MOT_ESYSTEM, "cannot read %s: %s", path, strerror(errno));
    XXH3_state_t *state = XXH3_createState();
    unsigned char block[READ_BYTES];
    XXH3_64bits_reset(state);
    uint64_t bytes = 0;
    ssize_t got;
    while ((got = read(file, block, sizeof block)) > 0) {
        XXH3_64bits_update(state, block, (size_t)got);
        bytes += (uint64_t)got;
    }
    int error = got < 0 ? errno : 0;
    close(file);
    *hash_out = XXH3_64bits_digest(state);
    *bytes_out = bytes;
    XXH3_freeState(state);
    return error ? mot_fail(MOT_ESYSTEM, "cannot read %s: %s", path, strerror(error)) : MOT_OK;
}

/* ---- Locks ------------------------------------------------------------------------------------ */

/* A lock of the open file, not of the process: children share it, and it ends with the last of them.
 * Without locks in the file system everything still works, but work may be done twice. */
static bool lock_range(int file, short kind, uint64_t at, bool wait)
{
    struct flock range = { .l_type = kind, .l_whence = SEEK_SET, .l_start = (off_t)at, .l_len = 1 };
    if (fcntl(file, wait ? F_OFD_SETLKW : F_OFD_SETLK, &range) == 0) return true;
    return errno != EAGAIN && errno != EACCES && errno != EINTR;
}

/* Anywhere but the first byte. */
static uint64_t place_of(const char *key) { return 1 + (XXH3_64bits(key, strlen(key)) >> 2); }

bool mot_store_claim(const struct mot_store *s, const char *key, struct mot_store_claim *claim)
{
    claim->at = place_of(key);
    claim->file = open(s->lock, O_RDWR | O_CLOEXEC);
    if (claim->file < 0 || lock_range(claim->file, F_WRLCK, claim->at, true)) return true;
    close(claim->file);
    return false;
}

void mot_store_release(struct mot_store_claim *claim)
{
    if (claim->file >= 0) close(claim->file);
    claim->file = -1;
}

/* ---- Opening ------------------------------------------------------------------------------------ */

static void sweep_out(const struct mot_store *s)
{
    DIR *folder = opendir(s->tmp);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        char *path = mot_path_join(s->tmp, entry->d_name);
        mot_remove_tree(path);
        free(path);
    }
    closedir(folder);
}

enum mot_status mot_store_open(const char *path, struct mot_store **out)
{
    struct mot_store *s = mot_new(1, sizeof(*s));
    s->path = mot_text(path);
    s->tmp = mot_path_join(path, "tmp");
    s->lock = mot_path_join(path, "lock");
    s->users = -1;
    enum mot_status status = mot_make_folder(s->tmp);
    if (status == MOT_OK) {
        s->users = open(s->lock, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (s->users < 0) status = mot_fail(MOT_ESYSTEM, "cannot write %s: %s", s->lock, strerror(errno));
    }
    if (status != MOT_OK) {
        mot_store_close(s);
        return mot_fail(
            status, "the store of runs: %s; choose another folder with --store or MOTLEY_STORE", mot_error());
    }
    if (lock_range(s->users, F_WRLCK, 0, false)) sweep_out(s);
    lock_range(s->users, F_RDLCK, 0, true);
    *out = s;
    return MOT_OK;
}

void mot_store_close(struct mot_store *s)
{
    if (!s) return;
    if (s->users >= 0) close(s->users);
    for (struct named *n = s->named, *next; n; n = next) {
        next = n->next;
        free(n->path);
        free(n);
    }
    free(s->lock);
    free(s->tmp);
    free(s->path);
    free(s);
}

/* ---- Keys ------------------------------------------------------------------------------------------ */

static uint64_t remembered(struct mot_store *s, const char *path, bool *known)
{
    struct named *n = s->named;
    while (n && strcmp(n->path, path) != 0) n = n->next;
    *known = n != NULL;
    return n ? n->hash : 0;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* A folder's hash covers the files in it. */
static enum mot_status hash_folder(const char *path, uint64_t *hash_out)
{
    struct dirent **entry;
    int n = scandir(path, &entry, is_shown, by_name);
    if (n < 0) return mot_fail(MOT_ESYSTEM, "cannot read %s: %s", path, strerror(errno));
    uint64_t all = 0;
    enum mot_status status = MOT_OK;
    for (int i = 0; i < n; i++) {
        char *file = mot_path_join(path, entry[i]->d_name);
        struct stat facts;
        uint64_t hash, bytes;
        if (status == MOT_OK && stat(file, &facts) == 0 && S_ISREG(facts.st_mode)) {
            status = hash_file(file, 0, &hash, &bytes);
            all = mot_hash3(all, hash, XXH3_64bits(entry[i]->d_name, strlen(entry[i]->d_name)));
        }
        free(file);
        free(entry[i]);
    }
    free(entry);
    *hash_out = all;
    return status;
}

/* The contents of a file or folder that the experiment names: if they differ, so does the experiment. */
static enum mot_status print_named(struct mot_store *s, const char *path, FILE *out)
{
    bool known;
    struct stat facts;
    uint64_t hash = remembered(s, path, &known), bytes;
    if (!known) {
        if (stat(path, &facts) != 0 || (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))) return MOT_OK;
        enum mot_status status =
            S_ISDIR(facts.st_mode) ? hash_folder(path, &hash) : hash_file(path, 0, &hash, &bytes);
        if (status != MOT_OK) return status;
        struct named *n = mot_new(1, sizeof(*n));
        *n = (struct named){ s->named, mot_text(path), hash };
        s->named = n;
    }
    fprintf(out, "# %016" PRIx64 " %s\n", hash, path);
    return MOT_OK;
}

/* The value of a line "key: value" of the resolved experiment, if it is a path (they are absolute), in
 * `into`. */
static bool path_in(const char *line, size_t n, char *into, size_t size)
{
    const char *colon = memmem(line, n, ": ", 2);
    if (!colon) return false;
    const char *from = colon + 2, *end = line + n;
    bool quoted = from < end && *from == '"';
    size_t used = 0;
    for (from += quoted; from < end && !(quoted && *from == '"') && used + 1 < size; from++) {
        if (quoted && *from == '\\' && from + 1 < end) from++;
        into[used++] = *from;
    }
    into[used] = 0;
    return into[0] == '/';
}

/* A file that was looked up; frees the name. */
static enum mot_status print_found(struct mot_store *s, char *path, FILE *out)
{
    enum mot_status status = path ? print_named(s, path, out) : MOT_OK;
    free(path);
    return status;
}

/* Files that nobody names: labels beside the rows, and those of a built-in set. */
static enum mot_status print_unnamed(struct mot_store *s, const struct mot_data_conf *data, FILE *out)
{
    static const enum mot_format pairs[] = { MOT_FORMAT_IDX, MOT_FORMAT_NPY };
    const char *const rows[] = { data->labels ? NULL : data->path,
        data->test_labels ? NULL : data->test_path };
    enum mot_status status = MOT_OK;
    for (size_t i = 0; i < MOT_COUNT(rows); i++)
        for (size_t k = 0; k < MOT_COUNT(pairs) && rows[i] && status == MOT_OK; k++)
            status = print_found(s, mot_labels_beside(rows[i], pairs[k]), out);
    for (int part = 0; part < 2 && data->name && !data->path; part++)
        for (int labels = 0; labels < 2 && status == MOT_OK; labels++)
            status = print_found(s, mot_builtin_file(data->name, part, labels), out);
    return status;
}

/* Every path in the text, whichever key it belongs to, and files found without a name. */
static enum mot_status print_files(
    struct mot_store *s, const struct mot_experiment *x, const char *text, FILE *out)
{
    enum mot_status status = MOT_OK;
    char path[PATH_MAX];
    for (const char *line = text; *line && status == MOT_OK;) {
        size_t n = strcspn(line, "\n");
        if (path_in(line, n, path, sizeof(path))) status = print_named(s, path, out);
        line += n + (line[n] == '\n');
    }
    return status == MOT_OK ? print_unnamed(s, &x->data, out) : status;
}

/* The experiment without its seed, and without what changes nothing in its result. malloc'd. */
static char *bare_text(const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    struct mot_experiment bare = *x;
    bare.output = NULL;
    bare.seed = 0;
    bare.sim.threads = 1;
    bare.sim.overcommit = false;
    bare.checkpoint = (struct mot_every){ MOT_EVERY_AUTO, 0 };
    enum mot_status status = mot_experiment_print(&bare, out);
    fclose(out);
    if (status == MOT_OK) return text;
    free(text);
    return NULL;
}

/* What decides a partition, the seed aside: the data, the partition's options, the speeds. malloc'd. */
static char *parts_text(const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    double *speed = x->shared_parts ? NULL : mot_speeds_of(x);
    mot_print_options(mot_data_options, &x->data, 0, out);
    mot_print_choice("partition", x->partitioner->name, x->partitioner->options, x->partition_conf, 0, out);
    if (!speed) fprintf(out, "parts: %u\n", x->traits.parts);
    for (uint32_t i = 0; speed && i < x->workers; i++) fprintf(out, "speed: %a\n", speed[i]);
    free(speed);
    fclose(out);
    return text;
}

/* A hash of the program, the text and the files that it names; takes the text. */
static enum mot_status stem_of(
    struct mot_store *s, const struct mot_experiment *x, const char *what, char *said, struct mot_stem *stem)
{
    char *text = NULL;
    size_t n;
    FILE *out = said ? open_memstream(&text, &n) : NULL;
    if (!out) {
        free(said);
        return mot_fail(MOT_ESYSTEM, "out of memory");
    }
    fprintf(out, "motley %s %s %s%s\n%s", MOT_VERSION, mot_kernels_name(), MOT_SOURCE_HASH, what, said);
    mot_plugins_print(out);
    enum mot_status status = print_files(s, x, said, out);
    fclose(out);
    XXH128_hash_t hash = XXH3_128bits(text, n);
    free(text);
    free(said);
    *stem = (struct mot_stem){ .high = hash.high64, .low = hash.low64 };
    return status;
}

enum mot_status mot_store_stem(
    struct mot_store *s, const struct mot_experiment *x, bool models, struct mot_stem *out)
{
    return stem_of(s, x, models ? " models" : "", bare_text(x), out);
}

enum mot_status mot_store_parts_stem(
    struct mot_store *s, const struct mot_experiment *x, struct mot_stem *out)
{
    *out = (struct mot_stem){ .none = true };
    return mot_is_classwise(x->partitioner) ? stem_of(s, x, " parts", parts_text(x), out) : MOT_OK;
}

void mot_store_key(const struct mot_stem *stem, uint64_t seed, char key[MOT_KEY_SIZE])
{
    const uint64_t all[] = { stem->high, stem->low, seed };
    XXH128_hash_t hash = XXH3_128bits(all, sizeof all);
    if (stem->none) key[0] = 0;
    else snprintf(key, MOT_KEY_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high64, hash.low64);
}

char *mot_store_folder(const struct mot_store *s, const char *key)
{
    return mot_format(
        "%s%s%.2s/%s", s->path, s->path[0] && s->path[strlen(s->path) - 1] == '/' ? "" : "/", key, key);
}

/* ---- Sums ---------------------------------------------------------------------------------------------- */

static int is_listed(const struct dirent *entry)
{
    return entry->d_name[0] != '.' && strcmp(entry->d_name, SUMS) != 0;
}

/* The key, so that a folder under a wrong name is no run, then "HASH BYTES NAME" for each file. */
static enum mot_status print_sums(const char *folder, const char *key, FILE *out)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, is_listed, by_name);
    if (n < 0) return mot_fail(MOT_ESYSTEM, "cannot read %s: %s", folder, strerror(errno));
    enum mot_status status = MOT_OK;
    fprintf(out, "run %s\n", key);
    for (int i = 0; i < n; i++) {
        char *path = mot_path_join(folder, entry[i]->d_name);
        uint64_t hash = 0, bytes = 0;
        if (status == MOT_OK) status = hash_file(path, O_NOFOLLOW, &hash, &bytes);
        fprintf(out, "%016" PRIx64 " %" PRIu64 " %s\n", hash, bytes, entry[i]->d_name);
        free(path);
        free(entry[i]);
    }
    free(entry);
    return status;
}

static char *sums_of(const char *folder, const char *key, size_t *n_out)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, n_out);
    if (!out) return NULL;
    enum mot_status status = print_sums(folder, key, out);
    fclose(out);
    if (status == MOT_OK) return text;
    free(text);
    return NULL;
}

bool mot_store_has(const struct mot_store *s, const char *key)
{
    char *folder = mot_store_folder(s, key), *path = mot_path_join(folder, SUMS), *now = NULL;
    unsigned char *then = NULL;
    size_t then_n = 0, now_n = 0;
    bool whole = mot_file_exists(path) && mot_file_read(path, SUMS_MOST, &then, &then_n) == MOT_OK;
    if (whole) now = sums_of(folder, key, &now_n);
    whole = whole && now && now_n == then_n && memcmp(then, now, now_n) == 0;
    free(now);
    free(then);
    free(path);
    free(folder);
    return whole;
}

/* ---- Making a run --------------------------------------------------------------------- */

char *mot_store_workshop(const struct mot_store *s, long program, unsigned slot)
{
    return mot_format("%s/%ld-%u", s->tmp, program, slot);
}

/* Moved away first: a folder being removed must not look like a run. */
void mot_store_remove(const struct mot_store *s, const char *key)
{
    char *folder = mot_store_folder(s, key), *away = mot_format("%s/old-%ld-%s", s->tmp, (long)getpid(), key);
    if (rename(folder, away) == 0) mot_remove_tree(away);
    free(away);
    free(folder);
}

enum mot_status mot_store_publish(const struct mot_store *s, const char *workshop, const char *key)
{
    size_t n;
    char *sums = sums_of(workshop, key, &n), *path = mot_path_join(workshop, SUMS),
         *folder = mot_store_folder(s, key);
    char *shelf = mot_format("%.*s", (int)(strrchr(folder, '/') - folder), folder);
    enum mot_status status = sums ? MOT_OK : MOT_ESYSTEM;
    FILE *out = sums ? fopen(path, "we") : NULL;
    if (sums && (!out || fwrite(sums, 1, n, out) != n))
        status = mot_fail(MOT_ESYSTEM, "cannot write %s: %s", path, strerror(errno));
    if (out && fclose(out) != 0 && status == MOT_OK)
        status = mot_fail(MOT_ESYSTEM, "cannot write %s: %s", path, strerror(errno));
    if (status == MOT_OK) status = mot_make_folder(shelf);
    /* rename() does not replace a folder with something in it: a damaged run goes first. */
    if (status == MOT_OK && rename(workshop, folder) != 0) {
        if (!mot_store_has(s, key)) {
            mot_store_remove(s, key);
            if (rename(workshop, folder) != 0)
                status = mot_fail(MOT_ESYSTEM, "cannot move a run to %s: %s", folder, strerror(errno));
        }
    }
    mot_remove_tree(workshop);
    free(shelf);
    free(folder);
    free(path);
    free(sums);
    return status;
}

/* ---- Families ------------------------------------------------------------------------------------------ */

static char *family_path(const struct mot_store *s, const char *family)
{
    char *name = mot_format("family/%s", family), *path = mot_path_join(s->path, name);
    free(name);
    return path;
}

/* Only a hint: without it a run is made that might have been spared. */
void mot_store_relate(const struct mot_store *s, const char *family, const char *key)
{
    char *path = family_path(s, family), *shelf = mot_path_join(s->path, "family");
    if (mot_make_folder(shelf) == MOT_OK) (void)mot_file_replace(path, key, strlen(key));
    free(shelf);
    free(path);
}

bool mot_store_relative(const struct mot_store *s, const char *family, char key[MOT_KEY_SIZE])
{
    char *path = family_path(s, family);
    unsigned char *text = NULL;
    size_t n = 0;
    bool found = mot_file_exists(path) && mot_file_read(path, MOT_KEY_SIZE, &text, &n) == MOT_OK &&
        n == MOT_KEY_SIZE - 1;
    for (size_t i = 0; found && i < n; i++) found = text[i] && strchr("0123456789abcdef", text[i]);
    if (found) memcpy(key, text, n), key[n] = '\0';
    free(text);
    free(path);
    return found;
}
