#include "serve/serve.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "report/json.h"
#include "report/report.h"
#include "report/tally.h"
#include "serve/http.h"
#include "serve/scene.h"
#include "study/compare.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define RENEW_S 0.5   /* the least time from one page to the next, */
#define PATIENCE 3.0  /* and at least this many times as long as making the last one took */
#define WATCHED_S 2.5 /* whoever looked within this time is still watching, */
#define LINGER_S 3.0  /* and gets this long to see the end; */
#define PAUSES 2.0    /* or, either way, this many of its longest pauses between two looks, */
#define PAUSE_S 5.0   /* of which this much counts */
#define NAP_NS 20000000

struct mot_serve {
    struct mot_scene view;
    struct mot_site site;
    struct mot_study_listener listener;
    struct mot_http *http;
    char url[80];
    /* For the server's thread only: */
    struct mot_spare *spare;
    struct mot_body *page; /* the last that was made, or NULL */
    uint64_t page_version;
    double page_at_s, page_took_s;
    /* Shared by it and the thread that waits at the end: */
    _Atomic double looked_s, pause_s; /* when somebody last looked; the longest pause between two looks */
    _Atomic uint64_t seen;            /* the version of the last page sent to anybody */
};

/* ---- Showing: the server's thread ------------------------------------------------------------------- */

/* Uses spare memory of our own, so that running out of it here harms nobody else. */
static void own_memory(struct mot_serve *s)
{
    if (mot_memory_refused()) {
        mot_spare_use(NULL);
        mot_spare_close(s->spare);
        s->spare = NULL;
    }
    if (!s->spare && mot_spare_open(&s->spare) != MOT_OK) s->spare = NULL;
    mot_spare_use(s->spare);
}

static struct mot_body *body_of(const char *type, char *text, size_t n)
{
    struct mot_body *b = text && !mot_memory_refused() ? mot_body_new(type, text, n) : NULL;
    free(text);
    return b;
}

static struct mot_body *state_body(struct mot_serve *s)
{
    json_t *state = mot_scene_state_json(&s->view);
    char *text = json_dumps(state, JSON_COMPACT);
    json_decref(state);
    return body_of("application/json", text, text ? strlen(text) : 0);
}

static struct mot_body *metrics_body(struct mot_serve *s)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return NULL;
    mot_scene_metrics(&s->view, out);
    fclose(out);
    return body_of("text/plain; version=0.0.4; charset=utf-8", text, n);
}

static void make_page(struct mot_serve *s)
{
    char *text = NULL;
    size_t n;
    uint64_t version;
    double began = mot_wall_s();
    FILE *out = open_memstream(&text, &n);
    if (!out) return;
    enum mot_status status = mot_scene_page(&s->view, out, &version);
    fclose(out);
    if (status != MOT_OK) n = 0;
    struct mot_body *fresh = n ? body_of("text/html; charset=utf-8", text, n) : NULL;
    if (!n) free(text);
    s->page_at_s = mot_wall_s();
    s->page_took_s = s->page_at_s - began;
    if (!fresh) return; /* keep showing the old page */
    mot_body_drop(s->page);
    s->page = fresh;
    s->page_version = version;
}

static struct mot_body *page_body(struct mot_serve *s)
{
    double rest = PATIENCE * s->page_took_s > RENEW_S ? PATIENCE * s->page_took_s : RENEW_S;
    pthread_mutex_lock(&s->view.lock);
    bool old = s->page_version != s->view.version, ended = s->view.ended;
    pthread_mutex_unlock(&s->view.lock);
    /* The final state is shown at once; the page does not change after that. */
    if (!s->page || (old && (ended || mot_wall_s() - s->page_at_s > rest))) make_page(s);
    if (s->page) mot_body_hold(s->page);
    return s->page;
}

/* A browser on a busy machine looks less often than it wants to. */
static void note_look(struct mot_serve *s)
{
    double now = mot_wall_s(), pause = now - s->looked_s;
    if (s->looked_s > 0) s->pause_s = fmax(s->pause_s, fmin(pause, PAUSE_S));
    s->looked_s = now;
}

static struct mot_body *show(void *self, const char *path, bool *busy)
{
    struct mot_serve *s = self;
    own_memory(s);
    *busy = true;
    if (strcmp(path, "/") == 0) return page_body(s);
    if (strcmp(path, "/state") == 0) {
        note_look(s);
        return state_body(s);
    }
    if (strcmp(path, "/metrics") == 0) return metrics_body(s);
    if (strcmp(path, "/healthz") == 0) return mot_body_new("text/plain; charset=utf-8", "ok\n", 3);
    *busy = false;
    return NULL;
}

static void shown(void *self, const struct mot_body *b)
{
    struct mot_serve *s = self;
    if (b == s->page) s->seen = s->page_version;
}

/* ---- Telling: a run -------------------------------------------------------------------------------- */

static void clear_run(struct mot_scene *v)
{
    for (size_t i = 0; i < v->lines; i++) free(v->line[i]);
    free(v->last);
    free(v->worked_ns);
    v->last = NULL;
    v->worked_ns = NULL;
    v->lines = v->told = 0;
    v->known = false;
    v->evaluations = 0;
    v->every = 1;
    v->share = NAN;
    v->now = (struct mot_moment){ .score = MOT_SCORE_UNKNOWN, .mixed = MOT_MIXED_UNKNOWN };
    v->score = (struct mot_score)MOT_SCORE_UNKNOWN;
}

static void clear_study(struct mot_scene *v)
{
    for (size_t i = 0; i < v->runs; i++) {
        free(v->run[i].folder);
        free(v->run[i].failed);
    }
    free(v->run);
    v->run = NULL;
    v->runs = v->done = v->failed = 0;
}

/* Clears what was shown before, to show something else. */
static void begin(struct mot_scene *v, enum mot_scene_of of)
{
    clear_run(v);
    clear_study(v);
    mot_arena_free(&v->arena);
    v->arm = v->condition = NULL;
    v->arms = v->conditions = 0;
    v->of = of;
    v->plan = NULL;
    v->version++;
}

/* The experiment as YAML, in the arena. */
static const char *as_yaml(struct mot_scene *v, const struct mot_experiment *x)
{
    char *text = NULL;
    size_t n;
    FILE *out = open_memstream(&text, &n);
    if (!out) return "";
    enum mot_status status = mot_experiment_print(x, out);
    fclose(out);
    const char *kept = status == MOT_OK ? mot_arena_text(&v->arena, text) : "";
    free(text);
    return kept;
}

void mot_serve_run(struct mot_serve *s, const struct mot_experiment *x, const char *driver, const char *title)
{
    struct mot_scene *v = &s->view;
    pthread_mutex_lock(&v->lock);
    begin(v, MOT_SCENE_RUN);
    v->title = mot_arena_text(&v->arena, title);
    v->experiment = as_yaml(v, x);
    v->method = mot_arena_text(&v->arena, x->method->name);
    v->driver = driver;
    v->seed = x->seed;
    v->workers = x->workers;
    v->target = mot_target_name(x->stop.target);
    v->target_value = x->stop.value;
    v->stops = mot_arena_new(&v->arena, sizeof *v->stops);
    v->stops->stop = x->stop;
    v->told = x->workers < MOT_SCENE_WORKERS ? x->workers : MOT_SCENE_WORKERS;
    v->worked_ns = mot_new(v->told + 1u, sizeof *v->worked_ns);
    v->group = mot_arena_new(&v->arena, (v->told + 1u) * sizeof *v->group);
    for (uint32_t i = 0; x->cluster && i < v->told && i < x->cluster->workers; i++) {
        const char *name = x->cluster->machine[i].name;
        v->group[i] = name && *name ? mot_arena_text(&v->arena, name) : NULL;
    }
    pthread_mutex_unlock(&v->lock);
}

static void take_moment(struct mot_scene *v, const struct mot_moment *m)
{
    v->known = true;
    v->now = *m;
    v->now.stalled = NULL; /* it may be gone by the time that it is shown */
    v->share = mot_progress_share(v->stops, m);
}

/* Keeps every `every`-th line, and the last. */
static void take_line(struct mot_scene *v, char *line)
{
    if (v->lines == MOT_SCENE_LINES) {
        for (size_t i = 0; i < MOT_SCENE_LINES; i++) {
            if (i % 2) free(v->line[i]);
            else v->line[i / 2] = v->line[i];
        }
        v->lines = MOT_SCENE_LINES / 2;
        v->every *= 2;
    }
    if (v->evaluations % v->every == 0) v->line[v->lines++] = mot_text(line);
    free(v->last);
    v->last = line;
    v->evaluations++;
}

void mot_serve_evaluated(void *serve, const struct mot_moment *m)
{
    struct mot_scene *v = &((struct mot_serve *)serve)->view;
    char *line = mot_metrics_line(m);
    pthread_mutex_lock(&v->lock);
    take_moment(v, m);
    v->score = m->score;
    take_line(v, line);
    v->version++;
    pthread_mutex_unlock(&v->lock);
}

void mot_serve_tick(void *serve, const struct mot_moment *m)
{
    struct mot_scene *v = &((struct mot_serve *)serve)->view;
    if (pthread_mutex_trylock(&v->lock) != 0) return; /* the next one will do */
    take_moment(v, m);
    pthread_mutex_unlock(&v->lock);
}

void mot_serve_worked(void *serve, mot_node worker, mot_time compute)
{
    struct mot_scene *v = &((struct mot_serve *)serve)->view;
    if (pthread_mutex_trylock(&v->lock) != 0) return;
    if (worker < v->told) v->worked_ns[worker] = compute;
    pthread_mutex_unlock(&v->lock);
}

/* ---- Telling: a study -------------------------------------------------------------------------------- */

static struct mot_study_side *copy_sides(struct mot_scene *v, const struct mot_study_side *from, size_t n)
{
    struct mot_study_side *to = mot_arena_new(&v->arena, (n + 1) * sizeof *to);
    for (size_t i = 0; i < n; i++) {
        struct mot_study_setting *s = mot_arena_new(&v->arena, (from[i].settings + 1) * sizeof *s);
        for (size_t k = 0; k < from[i].settings; k++)
            s[k] = (struct mot_study_setting){ mot_arena_text(&v->arena, from[i].setting[k].key),
                mot_arena_text(&v->arena, from[i].setting[k].value), "" };
        to[i] = (struct mot_study_side){ mot_arena_text(&v->arena, from[i].name), s, from[i].settings };
    }
    return to;
}

static void begin_study(struct mot_scene *v, const struct mot_study_plan *plan)
{
    begin(v, MOT_SCENE_STUDY);
    const char *slash = plan->path ? strrchr(plan->path, '/') : NULL;
    v->plan = plan;
    v->title = mot_arena_text(&v->arena, slash ? slash + 1 : plan->path ? plan->path : "defaults");
    v->experiment = mot_arena_take(&v->arena, mot_study_shared(plan));
    v->arm = copy_sides(v, plan->arm, plan->arms);
    v->condition = copy_sides(v, plan->condition, plan->conditions);
    v->arms = plan->arms;
    v->conditions = plan->conditions;
    v->doing = "";
}

static const char *more_of(struct mot_scene *v, const struct mot_case *c)
{
    char *text = mot_text("");
    for (size_t i = 0; i < c->mores; i++) {
        char *longer = mot_format("%s%s%s=%s", text, i ? " " : "", c->more[i].key, c->more[i].value);
        free(text);
        text = longer;
    }
    return mot_arena_take(&v->arena, text);
}

static void note_end(struct mot_scene *v, struct mot_scene_case *r, const struct mot_case *c)
{
    if (r->folder || r->failed || !(c->folder || c->failed)) return;
    r->folder = c->folder ? mot_text(c->folder) : NULL;
    r->failed = c->failed ? mot_text(c->failed) : NULL;
    v->done++;
    v->failed += r->failed != NULL;
}

/* Whether the case is among the first n runs: a race continues runs that it has begun. */
static bool is_listed(const struct mot_scene *v, size_t n, const struct mot_case *c)
{
    for (size_t i = 0; i < n; i++)
        if (v->run[i].arm == c->arm && v->run[i].condition == c->condition && v->run[i].seed == c->seed &&
            strcmp(v->run[i].key, c->key) == 0)
            return true;
    return false;
}

static void on_begins(void *self, const struct mot_runner *r, const struct mot_case *c, size_t n)
{
    struct mot_scene *v = &((struct mot_serve *)self)->view;
    pthread_mutex_lock(&v->lock);
    if (v->of != MOT_SCENE_STUDY || v->plan != r->plan) begin_study(v, r->plan);
    if (strcmp(v->doing, r->doing) != 0) clear_study(v);
    v->doing = r->doing; /* a string constant */
    v->run = mot_grow(v->run, v->runs + n + 1, sizeof *v->run);
    size_t before = v->runs;
    for (size_t i = 0; i < n; i++) {
        if (is_listed(v, before, &c[i])) continue;
        struct mot_scene_case *mine = &v->run[v->runs++];
        *mine = (struct mot_scene_case){ .arm = (uint32_t)c[i].arm,
            .condition = (uint32_t)c[i].condition,
            .seed = c[i].seed,
            .goal = c[i].goal,
            .more = more_of(v, &c[i]) };
        snprintf(mine->key, sizeof mine->key, "%s", c[i].key);
        note_end(v, mine, &c[i]);
    }
    v->version++;
    pthread_mutex_unlock(&v->lock);
}

/* Identical arms under two names share a run, so note its end for both. */
static void on_ended(void *self, const struct mot_runner *r, const struct mot_case *c)
{
    struct mot_scene *v = &((struct mot_serve *)self)->view;
    (void)r;
    pthread_mutex_lock(&v->lock);
    for (size_t i = 0; i < v->runs; i++)
        if (strcmp(v->run[i].key, c->key) == 0) note_end(v, &v->run[i], c);
    v->version++;
    pthread_mutex_unlock(&v->lock);
}

const struct mot_study_listener *mot_serve_study(struct mot_serve *s) { return &s->listener; }

/* ---- From the beginning to the end ------------------------------------------------------------------ */

enum mot_status mot_serve_open(const char *where, bool anyone, const char *command, struct mot_serve **out)
{
    struct mot_web_address address;
    enum mot_status status = mot_web_address_read(where, anyone, &address);
    if (status != MOT_OK) return status;
    struct mot_serve *s = mot_new(1, sizeof *s);
    pthread_mutex_init(&s->view.lock, NULL);
    clear_run(&s->view);
    char *kept = mot_text(command);
    s->view.command = kept;
    s->view.version = 1;
    s->view.title = "motley";
    s->view.experiment = "";
    s->site = (struct mot_site){ s, show, shown };
    s->listener = (struct mot_study_listener){ s, on_begins, on_ended };
    status = mot_http_open(&address, &s->site, &s->http);
    if (status != MOT_OK) {
        pthread_mutex_destroy(&s->view.lock);
        free(kept);
        free(s);
        return status;
    }
    mot_web_address_show(mot_http_address(s->http), s->url, sizeof s->url);
    *out = s;
    return MOT_OK;
}

const char *mot_serve_url(const struct mot_serve *s) { return s->url; }

void mot_serve_ended(struct mot_serve *s, enum mot_status status, const char *folder)
{
    struct mot_scene *v = &s->view;
    pthread_mutex_lock(&v->lock);
    v->ended = true;
    v->status = status;
    free(v->how);
    free(v->where);
    v->how = status == MOT_OK ? NULL : mot_text(mot_error());
    v->where = folder ? mot_text(folder) : NULL;
    v->version++;
    pthread_mutex_unlock(&v->lock);
}

static void linger(struct mot_serve *s)
{
    /* Whoever pressed Ctrl-C is not at the browser. */
    double began = mot_wall_s(), pauses = s->view.status == MOT_EINTERRUPTED ? 0 : PAUSES * s->pause_s;
    bool watched = s->looked_s > 0 && began - s->looked_s < fmax(WATCHED_S, pauses);
    while (watched && s->seen != s->view.version && mot_wall_s() - began < fmax(LINGER_S, pauses))
        nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
}

void mot_serve_close(struct mot_serve *s)
{
    if (!s) return;
    if (s->view.ended) linger(s);
    mot_http_close(s->http);
    mot_body_drop(s->page);
    mot_spare_close(s->spare);
    clear_run(&s->view);
    clear_study(&s->view);
    mot_arena_free(&s->view.arena);
    free((char *)s->view.command);
    free(s->view.how);
    free(s->view.where);
    pthread_mutex_destroy(&s->view.lock);
    free(s);
}
