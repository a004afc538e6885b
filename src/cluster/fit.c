/* fit.c -- finds a trace's straggling jobs, describes its nodes, and fits models to both. */
#include "cluster/fit.h"
#include "base/exact.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FACTOR_MOST 1e6 /* the most that a cluster file accepts */

const char *mot_fit_name(enum mot_fit_kind kind)
{
    static const char *const names[MOT_FIT_KINDS] = { "iid", "two-class", "markov", "iid-each", "markov-each",
        "classes", "trace", "none" };
    return names[kind];
}

/* ---- Which jobs straggle ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of n numbers, `stride` apart; `room` has room for all. */
static double median(const double *x, size_t n, size_t stride, double *room)
{
    for (size_t i = 0; i < n; i++) room[i] = x[i * stride];
    qsort(room, n, sizeof *room, by_value);
    return n % 2 ? room[n / 2] : (room[n / 2 - 1] + room[n / 2]) / 2;
}

static enum mot_status check(const char *name, const struct mot_trace *t)
{
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->cols; c++) {
            double s = t->seconds[(size_t)r * t->cols + c];
            if (!(s >= 1e-9 && s <= MOT_JOB_LONGEST_S))
                return mot_fail(MOT_EUSAGE,
                    "%s: row %u, node %u (both from 0): expected a time from 1 ns to %.0f s; found %g s",
                    name, r, c, MOT_JOB_LONGEST_S, s);
        }
    return MOT_OK;
}

/* Marks the jobs that straggle. typical: what each cell is compared with, [rows], or [cols] with of_own. */
static void classify(struct mot_fit *f, double *typical, double *room)
{
    const struct mot_trace *t = f->trace;
    for (uint32_t i = 0; i < (f->of_own ? t->cols : t->rows); i++)
        typical[i] = f->of_own ? median(t->seconds + i, t->rows, t->cols, room)
                               : median(t->seconds + (size_t)i * t->cols, t->cols, 1, room);
    for (uint32_t r = 0; r < t->rows; r++)
        for (uint32_t c = 0; c < t->cols; c++) {
            size_t at = (size_t)r * t->cols + c;
            f->straggles[at] = t->seconds[at] > f->threshold * typical[f->of_own ? c : r];
            f->total += f->straggles[at];
        }
}

/* ---- Nodes -------------------------------------------------------------------------------------- */

static void describe(struct mot_fit *f, uint32_t c, const double *typical, double *excess)
{
    const struct mot_trace *t = f->trace;
    struct mot_fit_node *n = &f->node[c];
    double fast_s = 0, slow_s = 0, pace = 0, usual = 0, least = INFINITY, most = 0;
    uint32_t run = 0;
    for (uint32_t r = 0; r < t->rows; r++) {
        size_t at = (size_t)r * t->cols + c;
        double s = t->seconds[at], norm = typical[f->of_own ? c : r];
        bool hit = f->straggles[at];
        n->straggles += hit;
        n->runs += hit && run == 0;
        run = hit ? run + 1 : 0;
        if (run > n->longest) n->longest = run;
        usual += norm;
        if (hit) {
            slow_s += s;
            least = fmin(least, s);
            most = fmax(most, s);
        } else {
            fast_s += s;
            pace += s / norm;
        }
    }
    uint32_t fast = t->rows - n->straggles;
    n->mean = fast ? fast_s / fast : usual / t->rows;
    n->pace = fast ? pace / fast : NAN;
    n->factor = n->straggles ? fmin(slow_s / n->straggles / n->mean, FACTOR_MOST) : NAN;
    n->factor_least = n->straggles ? least / n->mean : NAN;
    n->factor_most = n->straggles ? most / n->mean : NAN;
    *excess += slow_s / n->mean;
}

static struct mot_fit_chain chain_of(const struct mot_fit *f, uint32_t c)
{
    struct mot_fit_chain chain = { 0 };
    uint32_t cols = f->trace->cols;
    for (uint32_t r = 0; r < f->trace->rows; r++) {
        bool now = f->straggles[(size_t)r * cols + c], before = r && f->straggles[(size_t)(r - 1) * cols + c];
        if (r == 0) (*(now ? &chain.first_slow : &chain.first_fast))++;
        else if (before) (*(now ? &chain.slow_slow : &chain.slow_fast))++;
        else (*(now ? &chain.fast_slow : &chain.fast_fast))++;
    }
    return chain;
}

static void add_chain(struct mot_fit_chain *sum, const struct mot_fit_chain *c)
{
    sum->slow_slow += c->slow_slow;
    sum->slow_fast += c->slow_fast;
    sum->fast_fast += c->fast_fast;
    sum->fast_slow += c->fast_slow;
    sum->first_slow += c->first_slow;
    sum->first_fast += c->first_fast;
}

/* ---- Models ------------------------------------------------------------------------------------- */

static double bernoulli(double hits, double jobs)
{
    double misses = jobs - hits;
    return (hits > 0 ? hits * mot_log(hits / jobs) : 0) + (misses > 0 ? misses * mot_log(misses / jobs) : 0);
}

static struct mot_fit_model *begin_model(
    struct mot_fit *f, enum mot_fit_kind kind, enum mot_straggle_kind straggle, uint32_t parameters)
{
    struct mot_fit_model *m = &f->model[kind];
    m->straggle = (struct mot_straggle){ .kind = straggle, .factor = f->factor };
    m->parameters = parameters;
    return m;
}

static void fit_models(struct mot_fit *f)
{
    uint32_t nodes = f->trace->cols;
    double jobs = f->trace->rows, cells = jobs * nodes;
    struct mot_fit_model *iid = begin_model(f, MOT_FIT_IID, MOT_STRAGGLE_IID, 1);
    struct mot_fit_model *two = begin_model(f, MOT_FIT_TWO_CLASS, MOT_STRAGGLE_TWO_CLASS, 3);
    struct mot_fit_model *markov = begin_model(f, MOT_FIT_MARKOV, MOT_STRAGGLE_MARKOV, 2);
    struct mot_fit_model *iid_each = begin_model(f, MOT_FIT_IID_EACH, MOT_STRAGGLE_IID, nodes);
    struct mot_fit_model *markov_each = begin_model(f, MOT_FIT_MARKOV_EACH, MOT_STRAGGLE_MARKOV, 2 * nodes);
    struct mot_fit_chain all = { 0 };
    double *hits = mot_new(nodes, sizeof *hits), *slow = mot_new(nodes, sizeof *slow);
    for (uint32_t c = 0; c < nodes; c++) {
        struct mot_fit_node *n = &f->node[c];
        struct mot_fit_chain chain = chain_of(f, c);
        hits[c] = n->straggles;
        iid_each->log_likelihood += bernoulli(hits[c], jobs);
        markov_each->log_likelihood += mot_fit_markov(&chain, &n->stay_slow, &n->stay_fast);
        add_chain(&all, &chain);
    }
    iid->straggle.p = (double)f->total / cells;
    iid->log_likelihood = bernoulli((double)f->total, cells);
    two->log_likelihood = mot_fit_two_class(hits, nodes, jobs, &two->straggle, slow);
    markov->log_likelihood = mot_fit_markov(&all, &markov->straggle.stay_slow, &markov->straggle.stay_fast);
    for (uint32_t c = 0; c < nodes; c++) f->node[c].slow = slow[c];
    free(hits);
    free(slow);
    f->best = MOT_FIT_IID;
    for (int k = 0; k < MOT_FIT_MODELS; k++) {
        struct mot_fit_model *m = &f->model[k];
        m->bic = m->parameters * mot_log(cells) - 2 * m->log_likelihood;
        if (m->bic < f->model[f->best].bic) f->best = (enum mot_fit_kind)k;
    }
    if (f->total == 0) f->best = MOT_FIT_NONE;
}

struct mot_straggle mot_fit_straggle(const struct mot_fit *f, enum mot_fit_kind kind, uint32_t node)
{
    const struct mot_fit_node *n = &f->node[node];
    const struct mot_straggle *two = &f->model[MOT_FIT_TWO_CLASS].straggle;
    struct mot_straggle s = { .kind = MOT_STRAGGLE_NONE, .factor = 1 };
    if (kind < MOT_FIT_MODELS) s = f->model[kind].straggle;
    if (kind == MOT_FIT_CLASSES)
        s = (struct mot_straggle){
            .kind = MOT_STRAGGLE_IID, .factor = f->factor, .p = n->slow > 0.5 ? two->p_slow : two->p_fast
        };
    if (kind == MOT_FIT_IID_EACH || kind == MOT_FIT_MARKOV_EACH) {
        if (n->straggles == 0) return (struct mot_straggle){ .kind = MOT_STRAGGLE_NONE, .factor = 1 };
        s.factor = n->factor;
        s.p = kind == MOT_FIT_IID_EACH ? (double)n->straggles / f->trace->rows : 0;
        s.stay_slow = kind == MOT_FIT_MARKOV_EACH ? n->stay_slow : 0;
        s.stay_fast = kind == MOT_FIT_MARKOV_EACH ? n->stay_fast : 0;
    }
    return s;
}

/* ---- The fit -------------------------------------------------------------------------------------- */

static enum mot_status fit(struct mot_fit *f, uint64_t seed)
{
    uint32_t rows = f->trace->rows, cols = f->trace->cols, most = rows > cols ? rows : cols;
    double *typical = mot_new_large(most, sizeof *typical), *room = mot_new_large(most, sizeof *room);
    f->straggles = mot_new_large((size_t)rows * cols, 1);
    f->node = mot_new_large(cols, sizeof *f->node);
    if (typical && room && f->straggles && f->node) {
        double excess = 0;
        classify(f, typical, room);
        for (uint32_t c = 0; c < cols; c++) describe(f, c, typical, &excess);
        f->factor = f->total ? fmin(excess / (double)f->total, FACTOR_MOST) : 1;
        f->looks = mot_fit_look(f->straggles, rows, cols);
        mot_fit_laws(f);
        fit_models(f);
        mot_fit_simulate(f, seed);
    }
    free(typical);
    free(room);
    return mot_memory_status();
}

enum mot_status mot_fit_open(
    const char *name, const struct mot_trace *trace, double threshold, uint64_t seed, struct mot_fit *out)
{
    struct mot_fit f = { .trace = trace, .threshold = threshold, .of_own = trace->cols < 3 };
    enum mot_status status = check(name, trace);
    if (status == MOT_OK) status = fit(&f, seed);
    if (status == MOT_OK) *out = f;
    else mot_fit_close(&f);
    return status;
}

void mot_fit_close(struct mot_fit *f)
{
    free(f->straggles);
    free(f->node);
}
