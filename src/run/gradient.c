#include "run/heterogeneity.h"
#include "base/memory.h"
#include "base/rng.h"
#include "data/augment.h"
#include "math/models.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t model_scratch(const struct mot_net *net)
{
    return (net->scratch_bytes + 64 + 63) & ~(size_t)63;
}

size_t mot_gradient_scratch(const struct mot_problem *p)
{
    return model_scratch(p->net) + mot_augment_bytes(p->data);
}

uint64_t mot_terms_samples(const struct mot_problem *p, const struct mot_term *term, uint32_t terms)
{
    uint64_t total = 0;
    for (uint32_t t = 0; t < terms; t++)
        total += mot_sample_count(&p->sampler, term[t].part, term[t].draw, term[t].samples);
    return total;
}

void mot_gradient_begin(struct mot_gradient_run *r, const struct mot_problem *p, const struct mot_term *term,
    uint32_t terms, uint64_t samples, const float *x, float *g)
{
    *r = (struct mot_gradient_run){
        .problem = p, .term = term, .terms = terms, .left = samples, .x = x, .g = g, .first = true
    };
    if (!p->net->kind->computes) r->left = 0;
}

uint32_t mot_slice_rows(const struct mot_net *net, uint64_t left)
{
    if (left <= MOT_SLICE_ROWS) return (uint32_t)left;
    return left == MOT_SLICE_ROWS + 1 && mot_net_least(net) > 1 ? MOT_SLICE_ROWS - 1 : MOT_SLICE_ROWS;
}

bool mot_gradient_slice(struct mot_gradient_run *r, void *scratch)
{
    const struct mot_net *net = r->problem->net;
    uint32_t row[MOT_SLICE_ROWS], got = 0;
    while (got == 0) {
        if (r->left == 0 || r->at == r->terms) return false;
        const struct mot_term *t = &r->term[r->at];
        uint64_t there = t->samples - r->in_term;
        uint32_t want = mot_slice_rows(net, there < r->left ? there : r->left);
        got = want ? mot_sample(&r->problem->sampler, t->part, t->draw, (uint32_t)r->in_term, want, row) : 0;
        if (got == 0) { /* the term is done, or its data has run out */
            r->at++;
            r->in_term = 0;
        }
    }
    struct mot_batch batch = { .table = &r->problem->data->train, .row = row, .rows = got };
    const struct mot_term *t = &r->term[r->at];
    const uint64_t seed = r->problem->sampler.seed;
    struct mot_table changed;
    if (mot_augments(r->problem->data)) {
        changed = mot_augment(r->problem->data, seed, t->part, t->draw + r->in_term, row, got,
            (char *)scratch + model_scratch(net));
        batch = (struct mot_batch){ .table = &changed, .rows = got };
    }
    batch.chance = mot_hash3(seed, MOT_RNG_DROPOUT, t->part) | 1;
    batch.draw = t->draw + r->in_term;
    const float coef = t->coef;
    if (r->leaving && r->left == got)
        r->loss += mot_net_grad_early(net, r->x, &batch, coef, r->first, r->g, scratch, r->leaving);
    else r->loss += mot_net_grad(net, r->x, &batch, coef, r->first, r->g, scratch);
    r->first = false;
    r->in_term += got;
    r->left -= got;
    return true;
}

void mot_gradient_end(struct mot_gradient_run *r)
{
    if (r->first) memset(r->g, 0, r->problem->net->dim * sizeof(*r->g));
    r->first = false;
}

void mot_gradient_spoil(float *g, uint32_t dim)
{
    for (uint32_t i = 0; i < dim; i++) g[i] = NAN;
}

double mot_gradient(const struct mot_problem *p, const struct mot_term *term, uint32_t terms,
    uint64_t samples, const float *x, float *g, void *scratch)
{
    struct mot_gradient_run run;
    mot_gradient_begin(&run, p, term, terms, samples, x, g);
    while (mot_gradient_slice(&run, scratch)) {}
    mot_gradient_end(&run);
    return run.loss;
}

/* ---- Evaluation ---------------------------------------------------------------- */

#define CHUNK_ROWS 1024u /* rows that one thread evaluates at a time */
#define LANES 8u         /* gradient accumulators; chunk c goes to lane c % LANES */

struct mot_evaluator {
    const struct mot_problem *problem;
    struct mot_crew *crew;
    void **scratch; /* [threads] */
    double *loss;   /* [chunks of the largest table] */
    uint32_t *hits;
    double *lane;      /* allocated at the first gradient */
    float *chunk_grad; /* [threads][dim] */
    const float *x;
    const struct mot_table *table;
};

static uint32_t chunks_of(const struct mot_table *t)
{
    return t->rows / CHUNK_ROWS + (t->rows % CHUNK_ROWS != 0);
}

static uint32_t most(uint32_t a, uint32_t b) { return a > b ? a : b; }

struct mot_evaluator *mot_evaluator_open(const struct mot_problem *p, struct mot_crew *crew)
{
    struct mot_evaluator *e = mot_new(1, sizeof(*e));
    unsigned threads = mot_crew_threads(crew);
    const struct mot_dataset *d = p->data;
    uint32_t chunks = most(1, most(chunks_of(&d->train), most(chunks_of(&d->valid), chunks_of(&d->test))));
    e->problem = p;
    e->crew = crew;
    e->scratch = mot_new(threads, sizeof(*e->scratch));
    for (unsigned i = 0; i < threads; i++) e->scratch[i] = mot_aligned_large(p->net->scratch_bytes + 64);
    e->loss = mot_new_large(chunks, sizeof(*e->loss));
    e->hits = mot_new_large(chunks, sizeof(*e->hits));
    if (!mot_memory_refused()) return e;
    mot_evaluator_close(e);
    return NULL;
}

void mot_evaluator_close(struct mot_evaluator *e)
{
    if (!e) return;
    for (unsigned i = 0; i < mot_crew_threads(e->crew); i++) free(e->scratch[i]);
    free(e->scratch);
    free(e->loss);
    free(e->hits);
    free(e->lane);
    free(e->chunk_grad);
    free(e);
}

size_t mot_evaluator_bytes(const struct mot_net *net, unsigned threads)
{
    return (LANES * sizeof(double) + (threads < LANES ? threads : LANES) * sizeof(float)) * (size_t)net->dim;
}

static struct mot_batch slice_of(const struct mot_table *t, uint32_t first, uint32_t end)
{
    uint32_t rows = end - first < MOT_SLICE_ROWS ? end - first : MOT_SLICE_ROWS;
    return (struct mot_batch){ .table = t, .first = first, .rows = rows };
}

static uint32_t chunk_end(const struct mot_table *t, uint32_t chunk)
{
    uint64_t end = ((uint64_t)chunk + 1) * CHUNK_ROWS;
    return end < t->rows ? (uint32_t)end : t->rows;
}

static void loss_chunk(void *context, uint32_t chunk, unsigned who)
{
    struct mot_evaluator *e = context;
    const struct mot_net *net = e->problem->net;
    uint32_t end = chunk_end(e->table, chunk);
    double loss = 0;
    uint32_t hits = 0;
    for (uint32_t first = chunk * CHUNK_ROWS; first < end; first += MOT_SLICE_ROWS) {
        struct mot_batch batch = slice_of(e->table, first, end);
        uint32_t right = 0;
        loss += net->kind->loss(net, e->x, &batch, &right, e->scratch[who]);
        hits += right;
    }
    e->loss[chunk] = loss;
    e->hits[chunk] = hits;
}

static void evaluate_table(
    struct mot_evaluator *e, const struct mot_table *t, double *loss_out, double *accuracy_out)
{
    if (t->rows == 0) return;
    uint32_t chunks = chunks_of(t);
    double loss = 0;
    uint64_t hits = 0;
    e->table = t;
    mot_crew_each(e->crew, chunks, loss_chunk, e);
    for (uint32_t c = 0; c < chunks; c++) {
        loss += e->loss[c];
        hits += e->hits[c];
    }
    *loss_out = loss / t->rows;
    if (t->classes) *accuracy_out = (double)hits / t->rows;
}

/* A lane adds its chunks in order, in double; lanes are summed only after all are done. */
static void gradient_lane(void *context, uint32_t lane, unsigned who)
{
    struct mot_evaluator *e = context;
    const struct mot_net *net = e->problem->net;
    double *sum = e->lane + (size_t)lane * net->dim;
    float *g = e->chunk_grad + (size_t)who * net->dim;
    memset(sum, 0, net->dim * sizeof(*sum));
    for (uint32_t chunk = lane; chunk < chunks_of(e->table); chunk += LANES) {
        uint32_t end = chunk_end(e->table, chunk);
        uint32_t begin = chunk * CHUNK_ROWS;
        for (uint32_t first = begin; first < end; first += MOT_SLICE_ROWS) {
            struct mot_batch batch = slice_of(e->table, first, end);
            mot_net_grad(net, e->x, &batch, 1.0f, first == begin, g, e->scratch[who]);
        }
        for (uint32_t i = 0; i < net->dim; i++) sum[i] += (double)g[i];
    }
}

static double gradient_norm(struct mot_evaluator *e, const struct mot_table *t)
{
    uint32_t dim = e->problem->net->dim;
    if (!e->lane) {
        e->lane = mot_new_large((size_t)LANES * dim, sizeof(*e->lane));
        e->chunk_grad = mot_new_large((size_t)mot_crew_threads(e->crew) * dim, sizeof(*e->chunk_grad));
    }
    if (!e->lane || !e->chunk_grad) return NAN;
    e->table = t;
    mot_crew_each(e->crew, LANES, gradient_lane, e);
    double square = 0;
    for (uint32_t i = 0; i < e->problem->net->trained; i++) {
        double sum = 0;
        for (uint32_t lane = 0; lane < LANES; lane++) sum += e->lane[(size_t)lane * dim + i];
        sum /= t->rows;
        square += sum * sum;
    }
    return sqrt(square);
}

struct mot_heterogeneity mot_evaluate_parts(
    struct mot_evaluator *e, const struct mot_look *look, const float *x)
{
    return mot_heterogeneity(e->problem, e->crew, e->scratch, look, x);
}

unsigned mot_evaluate_what(const struct mot_experiment *x, const struct mot_moment *m, bool final)
{
    bool begins = m->updates == 0 && m->now == 0;
    unsigned what = MOT_EVALUATE_VALID | MOT_EVALUATE_TEST;
    if (final || x->evaluate.train == 0 || x->stop.target == MOT_TARGET_TRAIN_LOSS)
        what |= MOT_EVALUATE_TRAIN;
    if (final || x->evaluate.grad_norm || x->stop.target == MOT_TARGET_GRAD_NORM) what |= MOT_EVALUATE_GRAD;
    switch (x->evaluate.heterogeneity) {
    case MOT_HETEROGENEITY_ENDS: return final || begins ? what | MOT_EVALUATE_PARTS : what;
    case MOT_HETEROGENEITY_ALWAYS: return what | MOT_EVALUATE_PARTS;
    case MOT_HETEROGENEITY_NEVER: return what;
    }
    return what;
}

struct mot_score mot_evaluate(struct mot_evaluator *e, const float *x, unsigned what)
{
    const struct mot_dataset *d = e->problem->data;
    const struct mot_net *net = e->problem->net;
    struct mot_score s = MOT_SCORE_UNKNOWN;
    if (!net->kind->computes) return s;
    e->x = x;
    if (what & MOT_EVALUATE_TRAIN) {
        evaluate_table(e, &d->train, &s.train_loss, &s.train_accuracy);
        if (net->kind->penalty) s.train_loss += net->kind->penalty(net, x);
    }
    if (what & MOT_EVALUATE_VALID) evaluate_table(e, &d->valid, &s.valid_loss, &s.valid_accuracy);
    if (what & MOT_EVALUATE_TEST) evaluate_table(e, &d->test, &s.test_loss, &s.test_accuracy);
    if (what & MOT_EVALUATE_GRAD) s.grad_norm = gradient_norm(e, &d->train);
    if (what & MOT_EVALUATE_PARTS) {
        struct mot_look look = mot_look_of_run(e->problem);
        struct mot_heterogeneity h = mot_evaluate_parts(e, &look, x);
        s.zeta2 = h.zeta2;
        s.sigma2 = h.sigma2;
    }
    return s;
}
