/* tidy.c -- the rules of the source tree, checked.
 *
 *   tidy ROOT [LIBRARY.so]
 *
 * Prints a line "file:line: what is wrong" for every breach and then exits with 1.
 * Sizes of files and functions are reported, and are nobody's failure. The rules
 * are the tables below; CONTRIBUTING.md says why they are there. */
#include <ctype.h>
#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef TIDY_NM
#define TIDY_NM "nm"
#endif

/* ---- The rules ---------------------------------------------------------------- */

#define LOW "base math data stream partition cluster compress topology code method config"
/* Which rooms of src/ a room may include from, besides itself and include/motley. */
static const struct {
    const char *room, *may;
} edges[] = {
    { "base", "" },
    { "math", "base" },
    { "data", "base math" },
    { "stream", "base math data" },
    { "partition", "base math data" },
    { "cluster", "base math" },
    { "compress", "base math" },
    { "topology", "base math" },
    { "code", "base math topology" },
    { "method", "base math compress topology code" },
    { "config", "base math data stream partition cluster compress topology code method" },
    { "run", LOW },
    { "sim", LOW " run" },
    { "live", LOW " run sim" },
    { "wire", LOW " run sim live" },
    { "report", LOW " run" },
    { "api", LOW " run sim live wire report" },
    { "study", LOW " run report api" },
    { "page", "base config report study" },
    { "serve", "base config run report study page" },
    { "cli", LOW " run sim live wire report api study page serve" },
};

/* A method sees the world through method.h alone. */
static const char *const method_headers =
    "motley/method.h motley/hub.h motley/code.h motley/option.h motley/status.h motley/model.h";

/* Calls that no file makes: no bound, no error, hidden state, or not the same everywhere. */
static const char *const banned_calls =
    "strcpy stpcpy strcat strncat sprintf vsprintf gets atoi atol atoll atof strtok rand srand rand_r random "
    "srandom drand48 lrand48 tmpnam mktemp tempnam alloca asctime ctime gmtime localtime system";

/* In the library and the program, where input comes from strangers: numbers out of range are undefined. */
static const char *const careless_calls = "scanf fscanf sscanf";

/* There too: a wait by such a clock ends too early or too late when it is set. */
static const char *const settable_clocks = "CLOCK_REALTIME CLOCK_REALTIME_COARSE";

/* In the rooms that decide a run's numbers, libm would give each machine its own bits. */
static const char *const exact_rooms =
    "base math data stream partition cluster compress topology code method run sim live wire";
static const char *const inexact_calls =
    "exp exp2 exp10 expm1 log log2 log10 log1p pow sin cos tan asin acos atan atan2 sinh cosh tanh cbrt "
    "hypot erf erfc lgamma tgamma "
    "expf exp2f expm1f logf log2f log10f log1pf powf sinf cosf tanf atanf atan2f tanhf cbrtf hypotf erff";

/* The plain twins that kernels are checked against; and any line that says "libm is fine", and why. */
static const char *const inexact_files = "src/math/ref.c";
static const char *const inexact_waiver = "libm is fine";

/* A method never allocates, reads a clock or does I/O. */
static const char *const method_calls =
    "malloc calloc realloc free mot_new mot_grow mot_text mot_format mot_aligned mot_reserve mot_arena_new "
    "fopen open read write "
    "printf fprintf puts fputs time clock clock_gettime gettimeofday nanosleep usleep sleep pthread_create";

static const char *const marks[] = { "TO"
                                     "DO",
    "FIX"
    "ME",
    "XX"
    "X:",
    "HA"
    "CK:" };
static const char *const machine_folders[] = { "work", "root", "farm", "home" };

enum { FILE_LINES = 700, FUNCTION_LINES = 80, COLUMNS = 110 };

/* ---- Findings -------------------------------------------------------------------- */

static int breaches;

__attribute__((format(printf, 3, 4))) static void breach(const char *path, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (line) printf("%s:%d: ", path, line);
    else printf("%s: ", path);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    breaches++;
}

/* ---- Text -------------------------------------------------------------------------- */

static bool is_word_char(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Whether `word` of n bytes is one of the blank-separated `list`. */
static bool in_list(const char *list, const char *word, size_t n)
{
    for (const char *p = list; *p;) {
        size_t m = strcspn(p, " ");
        if (m == n && memcmp(p, word, n) == 0) return true;
        p += m;
        p += strspn(p, " ");
    }
    return false;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static bool begins_with(const char *text, const char *begin)
{
    return strncmp(text, begin, strlen(begin)) == 0;
}

static void *checked(void *p)
{
    if (p) return p;
    fputs("tidy: out of memory\n", stderr);
    exit(2);
}

/* The whole stream with a zero after it. */
static char *read_all(FILE *in, size_t *n_out)
{
    size_t room = 1 << 16, n = 0;
    char *text = checked(malloc(room));
    for (size_t got; (got = fread(text + n, 1, room - 1 - n, in)) > 0;) {
        n += got;
        if (n + 1 == room) text = checked(realloc(text, room *= 2));
    }
    text[n] = 0;
    *n_out = n;
    return text;
}

/* A copy in which comments and the insides of literals are blanks:
 * what is left is code, at the same offsets. */
static char *only_code(const char *text, size_t n)
{
    char *code = checked(malloc(n + 1));
    memcpy(code, text, n + 1);
    enum { CODE, LINE_COMMENT, COMMENT, STRING, CHARACTER } in = CODE;
    for (size_t i = 0; i < n; i++) {
        char c = text[i], next = text[i + 1];
        if (in == CODE) {
            if (c == '/' && next == '/') in = LINE_COMMENT;
            else if (c == '/' && next == '*') in = COMMENT;
            else if (c == '"') in = STRING;
            else if (c == '\'' && !(i && isalnum((unsigned char)text[i - 1]))) in = CHARACTER;
            if (in == LINE_COMMENT || in == COMMENT) code[i] = code[i + 1] = ' ', i++;
            continue;
        }
        if (c == '\n') {
            if (in != COMMENT) in = CODE;
            continue;
        }
        bool quote = (in == STRING && c == '"') || (in == CHARACTER && c == '\'');
        if (quote) {
            in = CODE;
            continue;
        }
        code[i] = ' ';
        if (in == COMMENT && c == '*' && next == '/') {
            code[++i] = ' ';
            in = CODE;
        } else if ((in == STRING || in == CHARACTER) && c == '\\' && next && next != '\n') {
            code[++i] = ' ';
        }
    }
    return code;
}

/* ---- Include edges -------------------------------------------------------------------- */

/* The room of a path: "math" for src/math/x.c, "cli" for cli/x.c; "" for those that may include anything. */
static const char *room_of(const char *path, char *room, size_t size)
{
    const char *begin = begins_with(path, "src/") ? path + 4 : begins_with(path, "cli/") ? path : "";
    snprintf(room, size, "%.*s", (int)strcspn(begin, "/"), begin);
    return room;
}

static const char *may_include(const char *room)
{
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++)
        if (strcmp(edges[i].room, room) == 0) return edges[i].may;
    return NULL;
}

static void check_include(const char *path, int line, const char *room, const char *name, bool quoted)
{
    if (begins_with(path, "include/")) {
        if (quoted || (strchr(name, '/') && !begins_with(name, "motley/")))
            breach(path, line, "a public header includes \"%s\": only <motley/...> and the C library", name);
        return;
    }
    if (strcmp(name, "mpi.h") == 0 && strcmp(path, "src/wire/mpi.c") != 0)
        breach(path, line, "only src/wire/mpi.c includes mpi.h");
    if (strcmp(name, "microhttpd.h") == 0 && strcmp(path, "src/serve/http.c") != 0)
        breach(path, line, "only src/serve/http.c includes microhttpd.h");
    if (!*room) return;
    const char *may = may_include(room);
    if (!may) {
        breach(path, line, "the room '%s' is not in the table of tools/tidy.c", room);
        return;
    }
    if (begins_with(name, "motley/")) {
        if (strcmp(room, "method") == 0 && !in_list(method_headers, name, strlen(name)))
            breach(path, line, "a method includes <%s>: it may include only %s", name, method_headers);
        return;
    }
    if (!quoted) return;
    size_t n = strcspn(name, "/");
    if (name[n] == 0) {
        if (strcmp(room, "cli") != 0)
            breach(path, line, "\"%s\": write the room, as in \"%s/%s\"", name, room, name);
        return;
    }
    bool own = strlen(room) == n && memcmp(room, name, n) == 0;
    if (!own && !in_list(may, name, n))
        breach(path, line, "%s may not include \"%s\": edges point downward (%s%s)", room, name,
            *may ? "only " : "it depends on nothing", may);
}

static void check_includes(const char *path, const char *text, const char *code)
{
    char room[64], name[256];
    room_of(path, room, sizeof room);
    int line = 0;
    for (const char *p = code; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        line++;
        const char *q = p + strspn(p, " \t");
        if (*q != '#') continue;
        q++;
        q += strspn(q, " \t");
        if (!begins_with(q, "include")) continue;
        q += 7;
        q += strspn(q, " \t");
        if (*q != '"' && *q != '<') continue;
        const char *at = text + (q - code) + 1; /* the name itself is blank in `code` */
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, "\">\n"), at);
        check_include(path, line, room, name, *q == '"');
    }
}

/* ---- Calls ------------------------------------------------------------------------------ */

/* Whether the line around `at` (a place in code) says so in a comment. */
static bool waived(const char *text, const char *code, const char *at)
{
    const char *p = text + (at - code), *end = p + strcspn(p, "\n");
    const char *said = strstr(p, inexact_waiver);
    return said && said < end;
}

static void check_calls(const char *path, const char *text, const char *code)
{
    char room[64];
    room_of(path, room, sizeof room);
    bool exact =
        *room && in_list(exact_rooms, room, strlen(room)) && !in_list(inexact_files, path, strlen(path));
    bool method = strcmp(room, "method") == 0;
    int line = 1;
    for (const char *p = code; *p;) {
        if (!is_word_char(*p)) {
            line += *p++ == '\n';
            continue;
        }
        const char *word = p;
        while (is_word_char(*p)) p++;
        size_t n = (size_t)(p - word);
        if (*room && in_list(settable_clocks, word, n))
            breach(path, line, "%.*s: whoever sets it changes how long a wait lasts: see base/stopwatch.h",
                (int)n, word);
        if (p[strspn(p, " \t")] != '(') continue;
        bool member =
            word > code && (word[-1] == '.' || (word[-1] == '>' && word - 1 > code && word[-2] == '-'));
        if (member) continue;
        if (in_list(banned_calls, word, n)) breach(path, line, "%.*s() is banned", (int)n, word);
        if (*room && in_list(careless_calls, word, n))
            breach(path, line, "%.*s() is banned here: see base/words.h", (int)n, word);
        if (exact && in_list(inexact_calls, word, n) && !waived(text, code, word))
            breach(path, line, "%.*s() gives different bits on different machines: see base/exact.h", (int)n,
                word);
        if (method && in_list(method_calls, word, n))
            breach(path, line, "a method calls %.*s(): it may not allocate, read a clock or do I/O", (int)n,
                word);
    }
}

/* ---- Marks and paths ---------------------------------------------------------------------- */

static void check_text(const char *path, const char *text)
{
    int line = 1;
    for (const char *p = text; *p; p++) {
        if (*p == '\n') line++;
        char before = p == text ? ' ' : p[-1];
        for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
            if (!is_word_char(before) && begins_with(p, marks[i]) && !is_word_char(p[strlen(marks[i])]))
                breach(path, line, "a mark '%s': open an issue instead", marks[i]);
        if (*p != '/' || is_word_char(before) || strchr(".-}/)$~*", before)) continue;
        for (size_t i = 0; i < sizeof machine_folders / sizeof *machine_folders; i++) {
            const char *after = p + 1 + strlen(machine_folders[i]);
            if (begins_with(p + 1, machine_folders[i]) && *after == '/' && is_word_char(after[1]))
                breach(path, line, "a path of one machine: %.30s", p);
        }
    }
}

static bool has_columns(const char *path)
{
    static const char *const ends[] = { ".c", ".h", ".js", ".css", ".html" };
    size_t i = 0;
    while (i < sizeof ends / sizeof *ends && !ends_with(path, ends[i])) i++;
    return i < sizeof ends / sizeof *ends;
}

/* Lines of C and of the page fit COLUMNS; a character of several bytes is one column. */
static void check_columns(const char *path, const char *text)
{
    int line = 1, columns = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '\n') {
            if (columns > COLUMNS) breach(path, line, "%d columns: lines have at most %d", columns, COLUMNS);
            line++;
            columns = 0;
        } else if (((unsigned char)*p & 0xc0) != 0x80) {
            columns++;
        }
    }
}

/* ---- Sizes ------------------------------------------------------------------------------- */

static struct {
    int files, lines, longest_file, functions, longest_function;
    char file[PATH_MAX], function[PATH_MAX + 300];
} sizes;

/* A function's body begins with a brace in the first column after a line that is
 * not a type or an initialiser, and ends with a brace in the first column. */
static void measure(const char *path, const char *code)
{
    int line = 0, began = 0;
    char name[256] = "";
    for (const char *p = code; *p; p += strcspn(p, "\n"), p += *p == '\n') {
        line++;
        if (isalpha((unsigned char)*p)) {
            size_t n = strcspn(p, "(\n");
            const char *end = p + n;
            while (end > p && is_word_char(end[-1])) end--;
            if (p[n] == '(') snprintf(name, sizeof name, "%.*s", (int)(p + n - end), end);
            else *name = 0;
        }
        if (*p == '{' && *name) began = line;
        if (*p == '}' && began) {
            int length = line - began;
            sizes.functions++;
            if (length > sizes.longest_function) {
                sizes.longest_function = length;
                snprintf(sizes.function, sizeof sizes.function, "%s() in %s", name, path);
            }
            if (length > FUNCTION_LINES)
                printf("note: %s:%d: %s() has %d lines\n", path, began, name, length);
            began = 0;
            *name = 0;
        }
    }
    sizes.files++;
    sizes.lines += line;
    if (line > FILE_LINES) printf("note: %s has %d lines\n", path, line);
    if (line > sizes.longest_file) {
        sizes.longest_file = line;
        snprintf(sizes.file, sizeof sizes.file, "%s", path);
    }
}

/* ---- Exports ------------------------------------------------------------------------------- */

/* The names that the public headers declare MOT_API, each between blanks. */
static char *declared;

static void add_declared(const char *name, size_t n)
{
    size_t old = declared ? strlen(declared) : 0;
    declared = checked(realloc(declared, old + n + 2));
    memcpy(declared + old, name, n);
    memcpy(declared + old + n, " ", 2);
}

static void collect_declared(const char *code)
{
    for (const char *p = code; (p = strstr(p, "MOT_API")); p += 7) {
        const char *line = p;
        while (line > code && line[-1] != '\n') line--;
        if (line[strspn(line, " \t")] == '#') continue; /* its own definition */
        const char *end = p + strcspn(p, "(;[=");
        while (end > p && isspace((unsigned char)end[-1])) end--;
        const char *name = end;
        while (name > p && is_word_char(name[-1])) name--;
        add_declared(name, (size_t)(end - name));
    }
}

static void check_exports(const char *library)
{
    char command[PATH_MAX + 64], line[1024];
    snprintf(command, sizeof command, "%s -D --defined-only '%s'", TIDY_NM, library);
    FILE *in = popen(command, "r");
    int symbols = 0;
    while (in && fgets(line, sizeof line, in)) {
        const char *name = strrchr(line, ' ');
        if (!name) continue;
        size_t n = strcspn(++name, "@\r\n");
        /* Sanitizers and gcov export things of their own. */
        if (begins_with(name, "__") || begins_with(name, "_init") || begins_with(name, "_fini")) continue;
        symbols++;
        if (!in_list(declared ? declared : "", name, n))
            breach(library, 0, "exports %.*s, which no public header declares MOT_API", (int)n, name);
    }
    if (!in || pclose(in) != 0 || symbols == 0) breach(library, 0, "cannot list its symbols");
}

/* ---- Files ------------------------------------------------------------------------------------ */

static char **paths;
static size_t path_count;

static void add_path(const char *path)
{
    paths = checked(realloc(paths, (path_count + 1) * sizeof *paths));
    paths[path_count++] = checked(strdup(path));
}

static int visit(const char *path, const struct stat *info, int type, struct FTW *at)
{
    (void)info;
    const char *name = path + at->base;
    bool skip = at->level > 0 &&
        (strcmp(name, ".git") == 0 || begins_with(name, "build") || strcmp(name, "runs") == 0);
    if (type == FTW_D && skip) return FTW_SKIP_SUBTREE;
    if (type == FTW_F) add_path(path + 2); /* without "./" */
    return FTW_CONTINUE;
}

/* What git tracks, or would; outside of a repository, everything but what a build leaves. */
static void list_files(void)
{
    char path[PATH_MAX];
    size_t n = 0;
    FILE *in = popen("git ls-files -coz --exclude-standard 2>/dev/null", "r");
    for (int c; in && (c = getc(in)) != EOF;) {
        if (n + 1 < sizeof path) path[n++] = (char)c;
        if (c == 0) {
            add_path(path);
            n = 0;
        }
    }
    bool tracked = in && pclose(in) == 0 && path_count > 0;
    if (!tracked && nftw(".", visit, 16, FTW_PHYS | FTW_ACTIONRETVAL) != 0) {
        perror("tidy: cannot list files");
        exit(2);
    }
}

static void check_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in && errno == ENOENT) return; /* removed, and git does not know yet */
    if (!in) {
        breach(path, 0, "cannot be read: %s", strerror(errno));
        return;
    }
    size_t n;
    char *text = read_all(in, &n);
    fclose(in);
    bool binary = memchr(text, 0, n) != NULL, seed = begins_with(path, "fuzz/corpus/");
    if (!binary && !seed) check_text(path, text);
    if (!binary && has_columns(path)) check_columns(path, text);
    if (!binary && (ends_with(path, ".c") || ends_with(path, ".h"))) {
        char *code = only_code(text, n);
        check_includes(path, text, code);
        check_calls(path, text, code);
        measure(path, code);
        if (begins_with(path, "include/motley/")) collect_declared(code);
        free(code);
    }
    free(text);
}

int main(int count, char **arguments)
{
    char library[PATH_MAX] = "";
    if (count < 2 || count > 3) {
        fputs("usage: tidy ROOT [LIBRARY.so]\n", stderr);
        return 2;
    }
    if (count == 3 && !realpath(arguments[2], library)) {
        fprintf(stderr, "tidy: %s: %s\n", arguments[2], strerror(errno));
        return 2;
    }
    if (chdir(arguments[1]) != 0) {
        fprintf(stderr, "tidy: %s: %s\n", arguments[1], strerror(errno));
        return 2;
    }
    list_files();
    for (size_t i = 0; i < path_count; i++) {
        check_file(paths[i]);
        free(paths[i]);
    }
    free(paths);
    if (*library) check_exports(library);
    free(declared);
    printf("%d C files, %d lines, %d functions; longest file %s (%d lines), longest function %s (%d lines)\n",
        sizes.files, sizes.lines, sizes.functions, sizes.file, sizes.longest_file, sizes.function,
        sizes.longest_function);
    if (breaches) printf("%d breaches\n", breaches);
    return breaches != 0;
}
