/* verdict.h -- what the verdict's files share: the facts of a run, and the words made of them. */
#ifndef MOT_REPORT_VERDICT_H
#define MOT_REPORT_VERDICT_H

#include "report/learned.h"
#include "report/report.h"

#define WAIT_SHARE 0.10 /* from here on the others' waiting is worth a sentence */

struct mot_facts {
    const struct mot_experiment *e;
    const struct mot_outcome *o;
    uint32_t n;  /* workers */
    double time; /* seconds */
    double *job; /* seconds a job, NaN without one */
    bool *slow;
    double job_median, slow_factor; /* the slowest against the median */
    uint32_t slow_count, slowest, fastest;
    double compute, send, wait; /* mean shares over the workers */
    /* the worker that waited least: the others waited for it, if for anyone */
    uint32_t critical;
    /* its share of messages under way; how much more the others waited */
    double critical_send, waited_for_critical;
    /* by how much more of the time the slowest computed than those not slow */
    double waited_for_slow;
    bool in_step; /* the slow did about as many jobs as the others: they go in rounds */
    /* gradients dropped: of each worker; of all; of all that were computed */
    double *lost, late, late_share;
    const char *method;
    double stale, stale_most; /* updates that gradients were old, on average and at most; NaN */
    enum mot_learned learned;
    bool timed; /* of some worker it is known where its time went */
};

struct mot_words {
    char *text;
    size_t used, size;
};

__attribute__((format(printf, 2, 3))) void mot_say(struct mot_words *, const char *format, ...);
double mot_percent(double share);
double mot_share_of(mot_time part, const struct mot_node_tally *t);
bool mot_method_is(const struct mot_facts *f, const char *name);
bool mot_method_has(const struct mot_facts *f, const char *key); /* such an option */
/* The rate that `lr: auto` would take for gradients as old as these were, in its two digits. */
double mot_suiting_rate(const struct mot_facts *f);
uint32_t mot_round_of(const struct mot_facts *f);
/* an update takes what comes: nobody waits for a round to close */
bool mot_has_no_rounds(const struct mot_facts *f);
/* "`--method-k 6`, `--method async`": ways to close rounds without `count` workers, other than
 * the one that runs; `last` stands before the last of several. */
void mot_say_shorter_rounds(struct mot_words *w, const struct mot_facts *f, uint32_t k, const char *last);
bool mot_batches_can_grow(const struct mot_facts *f);
void mot_say_workers(struct mot_words *w, const struct mot_facts *f, const bool *chosen, uint32_t count);

/* verdict_end.c */
void mot_say_end(struct mot_words *w, const struct mot_facts *f);
/* What was reached, what chance would, why probably, and what to try. */
void mot_say_unlearned(struct mot_words *w, const struct mot_facts *f);
/* Faults that a run lived through and that cost it something. */
void mot_say_faults(struct mot_words *w, const struct mot_facts *f);
void mot_say_diverged(struct mot_words *w, const struct mot_facts *f); /* what to try then */

/* verdict_parts.c: whose rows the model has learned from, where parts differ */
void mot_say_parts(struct mot_words *w, const struct mot_facts *f);

/* verdict_network.c: each says what the links have to do with it; false: nothing, and nothing was said. */
bool mot_say_incast(struct mot_words *w, const struct mot_facts *f);
bool mot_say_thin(struct mot_words *w, const struct mot_facts *f);
bool mot_say_far(struct mot_words *w, const struct mot_facts *f);
void mot_say_links(struct mot_words *w, const struct mot_facts *f);

#endif
