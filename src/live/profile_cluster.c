/* profile_cluster.c -- turns what was measured into a cluster: workers and links that differ by no more than
 * noise are made equal, and so become one group of the file. */
#include "base/memory.h"
#include "live/profile.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Workers whose jobs differ by less than this, as a share, are alike; links by less than this factor. */
#define ALIKE 0.1
#define LINKS_ALIKE 2.0

double mot_profile_digits(double x)
{
    char text[32];
    if (!isfinite(x)) return x;
    snprintf(text, sizeof(text), "%.3g", x);
    return strtod(text, NULL);
}

static mot_time time_in_digits(double seconds) { return (mot_time)(mot_profile_digits(seconds * 1e9) + 0.5); }

struct mot_link mot_profile_link(const struct mot_profile *p, mot_node node)
{
    struct mot_link link = { .up = 0, .down = 0 };
    double mine = 0, all = 0;
    for (mot_node j = 0; j < p->nodes; j++) {
        if (j == node) continue;
        const struct mot_profile_pair *there = &p->pair[(size_t)node * p->nodes + j],
                                      *back = &p->pair[(size_t)j * p->nodes + node];
        link.up = fmax(link.up, there->bytes_per_s);
        link.down = fmax(link.down, back->bytes_per_s);
        mine += there->latency_s;
    }
    for (mot_node i = 0; i < p->nodes; i++)
        for (mot_node j = i + 1; j < p->nodes; j++) all += p->pair[(size_t)i * p->nodes + j].latency_s;
    /* A pair's latency is the sum of its two ends': mine = (nodes - 2) own +
     * sum of all own, and that is all / (nodes - 1). */
    double own = p->nodes > 2 ? (mine - all / (p->nodes - 1)) / (p->nodes - 2) : mine / 2;
    link.latency = own > 0 ? time_in_digits(own) : 0;
    link.up = mot_profile_digits(link.up);
    link.down = mot_profile_digits(link.down);
    return link;
}

/* Between threads, a link's bandwidth is the speed of reading memory, and pairs differ by chance. */
static bool links_alike(const struct mot_link *a, const struct mot_link *b)
{
    double up = a->up / b->up, down = a->down / b->down;
    double late = (double)a->latency + 500, later = (double)b->latency + 500; /* ns; less is noise */
    return fmax(up, 1 / up) < LINKS_ALIKE && fmax(down, 1 / down) < LINKS_ALIKE &&
        fmax(late / later, later / late) < LINKS_ALIKE;
}

static double job_of(const struct mot_profile_worker *w)
{
    return w->fixed_s + w->batch[2] * w->per_sample_s;
}

static bool workers_alike(const struct mot_profile_worker *a, const struct mot_profile_worker *b)
{
    return a->batch[2] == b->batch[2] && fabs(job_of(a) - job_of(b)) < ALIKE * fmin(job_of(a), job_of(b));
}

/* How many workers from `first` on are like it; their mean figures, and the mean of their links. */
static uint32_t pool(const struct mot_profile *p, mot_node first, struct mot_profile_worker *worker_out,
    struct mot_link *link_out)
{
    struct mot_profile_worker w = p->worker[first];
    struct mot_link link = p->nodes > 1 ? mot_profile_link(p, first)
                                        : (struct mot_link){ INFINITY, INFINITY, 0 },
                    sum = link;
    double latency = (double)link.latency, n = 1;
    for (mot_node i = first + 1; i < p->workers && p->nodes > 1; i++) {
        struct mot_link other = mot_profile_link(p, i);
        if (!workers_alike(&p->worker[first], &p->worker[i]) || !links_alike(&link, &other)) break;
        w.per_sample_s += p->worker[i].per_sample_s, w.fixed_s += p->worker[i].fixed_s;
        w.least += p->worker[i].least, w.sigma += p->worker[i].sigma;
        sum.up += other.up, sum.down += other.down, latency += (double)other.latency;
        n++;
    }
    w.per_sample_s /= n, w.fixed_s /= n, w.least /= n, w.sigma /= n;
    *worker_out = w;
    *link_out = (struct mot_link){ mot_profile_digits(sum.up / n), mot_profile_digits(sum.down / n),
        time_in_digits(latency / n * 1e-9) };
    return (uint32_t)n;
}

static void set_machine(struct mot_machine *m, const struct mot_profile_worker *w, struct mot_link link)
{
    m->link = link;
    m->has_job_time = false;
    m->straggle = (struct mot_straggle){ .kind = MOT_STRAGGLE_NONE };
    m->speed = w->per_sample_s > 0 ? mot_profile_digits(1 / w->per_sample_s) : 1e9;
    m->fixed = time_in_digits(w->fixed_s);
    m->jitter = (struct mot_law){ .kind = MOT_LAW_FIXED, .mean = 1, .unit = 1 };
    double least = mot_profile_digits(w->least);
    if (w->sigma > 0 && least < 1)
        m->jitter = (struct mot_law){ .kind = MOT_LAW_LOGNORMAL,
            .mean = mot_profile_digits(1 - least),
            .sigma = mot_profile_digits(w->sigma),
            .unit = 1,
            .plus = least };
}

void mot_profile_apply(const struct mot_profile *p, struct mot_cluster *c)
{
    for (mot_node i = 0; i < c->workers;) {
        struct mot_profile_worker worker;
        struct mot_link link;
        for (uint32_t left = pool(p, i, &worker, &link); left > 0; left--)
            set_machine(&c->machine[i++], &worker, link);
    }
    for (mot_node i = c->workers; i < c->workers + c->servers;
         i++) /* not measured: assume that of worker 0 */
        c->machine[i].link = p->nodes == 1 ? (struct mot_link){ INFINITY, INFINITY, 0 }
            : i < p->nodes                 ? mot_profile_link(p, i)
                                           : c->machine[0].link;
    c->host = (struct mot_host){ p->cores, p->here < p->workers ? p->here : 0 };
    c->costs =
        (struct mot_costs){ mot_profile_digits(p->step_bytes_per_s), mot_profile_digits(p->mix_bytes_per_s) };
}

double mot_profile_crowd(const struct mot_profile *p)
{
    return p->cores > 0 && p->here > p->cores ? (double)p->here / p->cores : 1;
}

double mot_profile_taken(const struct mot_profile *p)
{
    double share = 0;
    for (uint32_t i = 0; i < p->workers; i++) share += p->worker[i].share / p->workers;
    return fmax(0, 1 - share * mot_profile_crowd(p));
}
