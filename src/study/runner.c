#include "study/runner.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/shown.h"
#include "base/stopwatch.h"
#include "config/print.h"
#include "report/tally.h"
#include "study/watch.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#define NOBODY SIZE_MAX
#define POLL_MS 100
#define JOBS_MAX 1024
#define LAST_WORDS 512

/* A worker, seen from the parent. */
struct slot {
    pid_t pid;         /* 0: none */
    int socket, words; /* words: what it wrote to standard error */
    size_t at;         /* its current case, or NOBODY */
    uint64_t data;     /* of its last case */
    char *workshop;
};

struct crew {
    struct mot_runner *r;
    struct mot_case *c;
    size_t n;
    size_t *todo, todos; /* cases without a run, in order; NOBODY once handed out */
    size_t left, first;  /* how many are not handed out; where to look for the first */
    bool partitions;     /* makes the cases' partitions, not their runs */
    size_t *alike;       /* for each case, the first with the same key */
    struct slot *slot;
    unsigned slots;
    uint32_t threads;
    struct mot_watcher *watch;
};

/* ---- Cases ------------------------------------------------------------------------------------ */

void mot_cases_free(struct mot_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(c[i].folder);
        free(c[i].failed);
        if (c[i].owner) mot_experiment_close(c[i].experiment);
    }
    free(c);
}

enum mot_status mot_cases_resolve(const struct mot_runner *r, struct mot_case *c, size_t n, size_t cells)
{
    for (size_t i = 0; i < n; i++) {
        if (i >= cells) {
            c[i].experiment = c[i % cells].experiment;
            continue;
        }
        enum mot_status status = mot_study_plan_run(
            r->plan, c[i].arm, c[i].condition, c[i].more, c[i].mores, &c[i].seed, &c[i].experiment);
        if (status != MOT_OK) return status;
        c[i].owner = true;
        if (r->interrupt && *r->interrupt) return mot_fail(MOT_EINTERRUPTED, "interrupted; nothing was run");
    }
    return MOT_OK;
}

/* What the keys of one experiment's cases have in common. */
struct stems {
    struct mot_stem run, family, parts;
    uint64_t data;
};

/* Equal for experiments whose rows, order and split are the same where their seeds are. */
static uint64_t data_stem(const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return 0;
    mot_print_options(mot_data_options, &x->data, 0, out);
    fclose(out);
    uint64_t hash = XXH3_64bits(text, n);
    free(text);
    return hash;
}

static enum mot_status find_stems(
    const struct mot_runner *r, const struct mot_experiment *x, struct stems *out)
{
    enum mot_status status = mot_store_stem(r->store, x, r->models, &out->run);
    struct mot_experiment endless = *x;
    endless.stop.target = MOT_TARGET_NONE;
    endless.stop.value = 0;
    if (status == MOT_OK) status = mot_store_stem(r->store, &endless, r->models, &out->family);
    if (status == MOT_OK) status = mot_store_parts_stem(r->store, x, &out->parts);
    out->data = data_stem(x);
    return status;
}

enum mot_status mot_cases_name(const struct mot_runner *r, struct mot_case *c, size_t n)
{
    enum mot_status status = MOT_OK;
    size_t cells = 0;
    while (cells < n && c[cells].owner) cells++;
    struct stems *stems = mot_new(cells + 1, sizeof(*stems));
    for (size_t i = 0; i < cells && status == MOT_OK; i++) status = find_stems(r, c[i].experiment, &stems[i]);
    for (size_t i = 0; i < n && status == MOT_OK; i++) {
        const struct stems *s = &stems[i % cells];
        bool seeded = c[i].experiment->data.data_seed == MOT_WORD_UINT;
        mot_store_key(&s->run, c[i].seed, c[i].key);
        mot_store_key(&s->family, c[i].seed, c[i].family);
        c[i].goal =
            (struct mot_goal){ mot_target_name(c[i].experiment->stop.target), c[i].experiment->stop.value };
        mot_store_key(&s->parts, c[i].seed, c[i].parts);
        c[i].data = mot_hash3(s->data, seeded, seeded ? c[i].seed : 0) | 1; /* 0 is no data */
    }
    free(stems);
    return status;
}

/* If models are kept, only a run that ended at its own target has the right one. */
char *mot_case_found(const struct mot_runner *r, const struct mot_case *c)
{
    char key[MOT_KEY_SIZE];
    if (r->fresh) return NULL;
    if (mot_store_has(r->store, c->key)) return mot_store_folder(r->store, c->key);
    if (!r->rereads || r->models || !mot_store_relative(r->store, c->family, key)) return NULL;
    char *folder = mot_store_folder(r->store, key);
    if (mot_store_has(r->store, key) && mot_figures_answer(folder, &c->goal)) return folder;
    free(folder);
    return NULL;
}

struct keyed {
    const char *key;
    size_t at;
};

static int by_key(const void *a, const void *b)
{
    const struct keyed *p = a, *q = b;
    int order = strcmp(p->key, q->key);
    return order ? order : (p->at > q->at) - (p->at < q->at);
}

/* For each case the first with the same key: arms that are the same under two names share their runs.
 * `place` is the key's offset in the struct. */
static size_t *first_of_key(const struct mot_case *c, size_t n, size_t place)
{
    struct keyed *sorted = mot_new(n + 1, sizeof(*sorted));
    size_t *first = mot_new(n + 1, sizeof(*first));
    for (size_t i = 0; i < n; i++) sorted[i] = (struct keyed){ (const char *)&c[i] + place, i };
    qsort(sorted, n, sizeof(*sorted), by_key);
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && strcmp(sorted[i].key, sorted[i - 1].key) == 0;
        first[sorted[i].at] = same ? first[sorted[i - 1].at] : sorted[i].at;
    }
    free(sorted);
    return first;
}

/* ---- Workers ------------------------------------------------------------------------------------- */

static enum mot_status start(struct crew *crew, struct slot *s)
{
    int pair[2], words = memfd_create("words", MFD_CLOEXEC);
    if (words < 0) return mot_fail(MOT_ESYSTEM, "cannot capture a worker's output: %s", strerror(errno));
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
        close(words);
        return mot_fail(MOT_ESYSTEM, "cannot talk to a worker: %s", strerror(errno));
    }
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        signal(SIGINT, SIG_IGN); /* the parent decides */
        signal(SIGTERM, SIG_DFL);
        signal(SIGUSR1, SIG_DFL);
        for (unsigned i = 0; i < crew->slots; i++)
            if (crew->slot[i].pid) close(crew->slot[i].socket), close(crew->slot[i].words);
        close(pair[0]);
        dup2(words, STDOUT_FILENO);
        dup2(words, STDERR_FILENO);
        mot_worker(crew->r, crew->c, crew->n, crew->partitions, pair[1], s->workshop, crew->threads);
    }
    int error = errno;
    close(pair[1]);
    if (pid < 0) {
        close(pair[0]);
        close(words);
        return mot_fail(MOT_ESYSTEM, "cannot start a worker: %s", strerror(error));
    }
    s->pid = pid;
    s->socket = pair[0];
    s->words = words;
    s->at = NOBODY;
    s->data = 0;
    return MOT_OK;
}

/* Waits for it to end; returns how it ended. */
static int bury(struct slot *s)
{
    int how = 0;
    while (waitpid(s->pid, &how, 0) < 0 && errno == EINTR) continue;
    close(s->socket);
    close(s->words);
    s->pid = 0;
    mot_remove_tree(s->workshop);
    return how;
}

/* The last line it wrote, printable; "" if none. */
static void last_words(int words, char *into, size_t size)
{
    char text[LAST_WORDS + 1];
    off_t end = lseek(words, 0, SEEK_END), from = end > LAST_WORDS ? end - LAST_WORDS : 0;
    ssize_t n = end > 0 ? pread(words, text, LAST_WORDS, from) : 0;
    while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == ' ')) n--;
    text[n > 0 ? n : 0] = 0;
    const char *line = strrchr(text, '\n');
    mot_show_text(line ? line + 1 : text, into, size);
}

static char *how_it_fell(int how, const char *words)
{
    const char *colon = *words ? ": " : "";
    if (!WIFSIGNALED(how))
        return mot_format("crashed: its process ended with code %d%s%s", WEXITSTATUS(how), colon, words);
    int number = WTERMSIG(how);
    return mot_format("crashed: signal %d (%s)%s%s%s", number, strsignal(number),
        number == SIGKILL ? "; out of memory?" : "", colon, words);
}

/* ---- Handing out ------------------------------------------------------------------------------------ */

static bool loaded_elsewhere(const struct crew *crew, uint64_t data)
{
    for (unsigned i = 0; i < crew->slots; i++)
        if (crew->slot[i].pid && crew->slot[i].at != NOBODY && crew->slot[i].data == data) return true;
    return false;
}

/* Where in the list the worker's best next case is: one with the data it has loaded, else one with data
 * that nobody has. */
static size_t choose(const struct crew *crew, const struct slot *s)
{
    size_t fresh = NOBODY, any = NOBODY;
    for (size_t i = crew->first; i < crew->todos; i++) {
        if (crew->todo[i] == NOBODY) continue;
        uint64_t data = crew->c[crew->todo[i]].data;
        if (data == s->data) return i;
        if (any == NOBODY) any = i;
        if (fresh == NOBODY && !loaded_elsewhere(crew, data)) fresh = i;
        if (fresh != NOBODY && s->data == 0) break;
    }
    return fresh != NOBODY ? fresh : any;
}

static void hand_out(struct crew *crew, struct slot *s)
{
    size_t place = choose(crew, s);
    if (place == NOBODY) return;
    uint32_t at = (uint32_t)crew->todo[place];
    crew->todo[place] = NOBODY;
    crew->left--;
    while (crew->first < crew->todos && crew->todo[crew->first] == NOBODY) crew->first++;
    s->at = at;
    s->data = crew->c[at].data;
    /* If it is dead, its socket will tell. */
    (void)!send(s->socket, &at, sizeof(at), MSG_NOSIGNAL);
    mot_watcher_began(crew->watch, &crew->c[at], (unsigned)(s - crew->slot));
}

static void settle(struct crew *crew, struct slot *s, char *failed)
{
    struct mot_case *c = &crew->c[s->at];
    s->at = NOBODY;
    if (crew->partitions) {
        free(failed); /* its runs will fail too, and say why */
    } else {
        c->failed = failed;
        if (!failed) c->folder = mot_store_folder(crew->r->store, c->key);
        crew->r->made += !failed;
        crew->r->lost += failed != NULL;
        if (crew->r->listener) crew->r->listener->ended(crew->r->listener->self, crew->r, c);
    }
    mot_watcher_ended(crew->watch, (unsigned)(s - crew->slot));
}

/* A reply, or the worker's death. */
static void listen_to(struct crew *crew, struct slot *s)
{
    struct mot_reply reply;
    ssize_t n = recv(s->socket, &reply, sizeof(reply), 0);
    if (n < 0 && errno == EINTR) return;
    if (n == sizeof(reply) && reply.at == s->at) {
        reply.text[sizeof(reply.text) - 1] = 0;
        settle(crew, s, reply.kind == MOT_REPLY_DONE ? NULL : mot_format("refused: %s", reply.text));
        return;
    }
    char words[LAST_WORDS + 1];
    last_words(s->words, words, sizeof(words));
    int how = bury(s);
    if (s->at != NOBODY) settle(crew, s, how_it_fell(how, words));
}

static void stop_all(struct crew *crew)
{
    for (unsigned i = 0; i < crew->slots; i++)
        if (crew->slot[i].pid) kill(crew->slot[i].pid, SIGKILL);
    for (unsigned i = 0; i < crew->slots; i++)
        if (crew->slot[i].pid) bury(&crew->slot[i]);
}

static bool late(const struct crew *crew) { return crew->r->until_s > 0 && mot_wall_s() > crew->r->until_s; }

static bool interrupted(const struct crew *crew) { return crew->r->interrupt && *crew->r->interrupt; }

/* Gives every idle worker a case; *busy: somebody has one. */
static enum mot_status keep_busy(struct crew *crew, bool *busy)
{
    *busy = false;
    if (late(crew)) crew->left = 0;
    for (unsigned i = 0; i < crew->slots; i++) {
        struct slot *s = &crew->slot[i];
        if (!s->pid && crew->left) {
            enum mot_status status = start(crew, s);
            if (status != MOT_OK) return status;
        }
        if (s->pid && s->at == NOBODY && crew->left) hand_out(crew, s);
        *busy |= s->pid && s->at != NOBODY;
    }
    return MOT_OK;
}

static enum mot_status work(struct crew *crew)
{
    struct pollfd *ear = mot_new(crew->slots, sizeof(*ear));
    enum mot_status status = MOT_OK;
    for (bool busy = true; busy && status == MOT_OK;) {
        if (interrupted(crew)) {
            status = mot_fail(MOT_EINTERRUPTED, "interrupted");
            break;
        }
        status = keep_busy(crew, &busy);
        for (unsigned i = 0; i < crew->slots; i++)
            ear[i] = (struct pollfd){ .fd = crew->slot[i].pid ? crew->slot[i].socket : -1, .events = POLLIN };
        if (status == MOT_OK && busy && poll(ear, crew->slots, POLL_MS) > 0)
            for (unsigned i = 0; i < crew->slots; i++)
                if (ear[i].revents) listen_to(crew, &crew->slot[i]);
        mot_watcher_tick(crew->watch);
    }
    free(ear);
    return status;
}

/* ---- The whole ------------------------------------------------------------------------ */

static unsigned cores(void)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 && n < JOBS_MAX ? (unsigned)n : 1;
}

static enum mot_status run_crew(struct crew *crew)
{
    struct mot_runner *r = crew->r;
    unsigned jobs = r->jobs ? r->jobs : cores();
    if (jobs > crew->todos) jobs = (unsigned)crew->todos;
    crew->left = crew->todos;
    crew->slots = jobs;
    crew->threads = jobs < cores() ? cores() / jobs : 1;
    crew->slot = mot_new(jobs, sizeof(*crew->slot));
    for (unsigned i = 0; i < jobs; i++)
        crew->slot[i].workshop = mot_store_workshop(r->store, (long)getpid(), i);
    crew->watch = mot_watcher_open(r, jobs, crew->todos, crew->partitions);
    fflush(NULL); /* a child must not flush what the parent has buffered */
    enum mot_status status = work(crew);
    mot_watcher_close(crew->watch);
    if (status != MOT_OK) stop_all(crew);
    for (unsigned i = 0; i < jobs; i++) {
        if (crew->slot[i].pid) {
            shutdown(crew->slot[i].socket, SHUT_RDWR);
            bury(&crew->slot[i]);
        }
        free(crew->slot[i].workshop);
    }
    free(crew->slot);
    return status;
}

/* Somebody may clear the store while a study runs. */
static enum mot_status still_there(const struct mot_case *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].folder && !mot_file_exists(c[i].folder))
            return mot_fail(MOT_ESYSTEM,
                "%s: this run is no longer in the store; was it "
                "removed? The same command makes what is missing",
                c[i].folder);
    return MOT_OK;
}

/* Makes the partitions that several of these runs share; runs make the others themselves, unless all is
 * to be made anew. */
static enum mot_status make_partitions(const struct crew *runs)
{
    const struct mot_runner *r = runs->r;
    const struct mot_case *c = runs->c;
    struct crew crew = { .r = runs->r, .c = runs->c, .n = runs->n, .partitions = true };
    size_t *first = first_of_key(c, crew.n, offsetof(struct mot_case, parts)),
           *users = mot_new(crew.n + 1, sizeof(*users));
    crew.todo = mot_new(crew.n + 1, sizeof(*crew.todo));
    for (size_t i = 0; i < runs->todos; i++) {
        size_t at = runs->todo[i];
        bool now = *c[at].parts && ++users[first[at]] == (r->fresh ? 1 : 2);
        if (now && (r->fresh || !mot_store_has(r->store, c[at].parts))) crew.todo[crew.todos++] = at;
    }
    enum mot_status status = crew.todos ? run_crew(&crew) : MOT_OK;
    free(crew.todo);
    free(users);
    free(first);
    return status;
}

enum mot_status mot_runner_run(struct mot_runner *r, struct mot_case *c, size_t n)
{
    struct crew crew = { .r = r, .c = c, .n = n };
    enum mot_status status = mot_cases_name(r, c, n);
    if (status != MOT_OK) return status;
    crew.todo = mot_new(n + 1, sizeof(*crew.todo));
    crew.alike = first_of_key(c, n, offsetof(struct mot_case, key));
    for (size_t i = 0; i < n; i++) {
        if (crew.alike[i] != i) continue;
        c[i].folder = mot_case_found(r, &c[i]);
        if (c[i].folder) r->found++;
        else crew.todo[crew.todos++] = i;
    }
    if (r->listener) r->listener->begins(r->listener->self, r, c, n);
    status = make_partitions(&crew);
    if (status == MOT_OK && crew.todos) status = run_crew(&crew);
    for (size_t i = 0; i < n && status == MOT_OK; i++) {
        const struct mot_case *same = &c[crew.alike[i]];
        if (same == &c[i]) continue;
        if (same->folder) c[i].folder = mot_text(same->folder);
        if (same->failed) c[i].failed = mot_text(same->failed);
    }
    if (status == MOT_OK) status = still_there(c, n);
    free(crew.alike);
    free(crew.todo);
    return status;
}
