/* verdict.h -- what the verdict's files share: the facts of a run, and the words made of them. */
#ifndef MOT_REPORT_VERDICT_H
#define MOT_REPORT_VERDICT_H

#include "report/learned.h"
#include "report/report.h"

#define WAIT_SHARE 0.10 /* from here on, waiting is worth a sentence */
#define SEND_SHARE 0.25 /* from here on, the network is */

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
    /* the worker that waited least: if the others waited for anyone, it was this one */
    uint32_t critical;
    /* its share of time with messages in flight; how much more the others waited */
    double critical_send, waited_for_critical;
    /* how much more of the time the slowest computed than the others */
    double waited_for_slow;
    bool in_step; /* the slow did about as many jobs as the others: they go in rounds */
    /* gradients dropped: by worker; in all; as a share of those computed */
    double *lost, late, late_share;
    double stale, stale_most; /* staleness of gradients, mean and maximum; NaN */
    enum mot_learned learned;
    bool timed; /* some worker's time was measured */
};

struct mot_words {
    char *text;
    size_t used, size;
};

__attribute__((format(printf, 2, 3))) void mot_say(struct mot_words *, const char *format, ...);
double mot_percent(double share);
struct mot_figure_text {
    char text[24];
};
struct mot_figure_text mot_seconds_words(double seconds); /* "80.7 ms" */
struct mot_figure_text mot_rate_words(
    double rate); /* a rate to try, two digits as a flag takes them: "250" */
double mot_share_of(mot_time part, const struct mot_node_tally *t);
/* Writes the method's advice into `into`, which has room for MOT_ADVICE; may be empty. Returns `into`. */
#define MOT_ADVICE 256
const char *mot_advice(const struct mot_facts *f, enum mot_situation_kind, uint32_t rest, char *into);
/* The rate that `lr: auto` would choose for gradients this stale, to two digits as it does. */
double mot_suiting_rate(const struct mot_facts *f);
bool mot_batches_can_grow(const struct mot_facts *f);
void mot_say_workers(struct mot_words *w, const struct mot_facts *f, const bool *chosen, uint32_t count);

/* verdict_end.c */
void mot_say_end(struct mot_words *w, const struct mot_facts *f);
/* What was reached, what chance would reach, the probable cause, and what to try. */
void mot_say_unlearned(struct mot_words *w, const struct mot_facts *f);
void mot_say_remedy(
    struct mot_words *w, const struct mot_facts *f); /* why it learned nothing, probably, and what to try */
/* Faults that a run survived and that cost it something. */
void mot_say_faults(struct mot_words *w, const struct mot_facts *f);
void mot_say_diverged(struct mot_words *w, const struct mot_facts *f); /* what to try */

/* verdict_parts.c: whose rows the model has learned from, where parts differ */
void mot_say_parts(struct mot_words *w, const struct mot_facts *f);

/* verdict_drawn.c: what held rounds of drawn workers back */
void mot_say_drawn(struct mot_words *w, const struct mot_facts *f);

/* verdict_code.c: whether a coded run had the exact gradient, which parts it missed, late shuffles */
void mot_say_code(struct mot_words *w, const struct mot_facts *f);

/* verdict_mixed.c: whether mixing kept the mean, if it is known not to have */
void mot_say_mixed(struct mot_words *w, const struct mot_facts *f);
/* The same facts as lines of the summary: "81 of 100 updates exact", "25, put off in 3 rounds". */
void mot_print_code(const struct mot_experiment *, const struct mot_outcome *, FILE *out);
void mot_print_shuffles(const struct mot_outcome *, FILE *out);

/* verdict_stream.c: whether waiting for samples held the run back; false: it did not, and nothing was said */
bool mot_say_starved(struct mot_words *w, const struct mot_facts *f);
/* Who dropped samples, and who has more than it can use. */
void mot_say_streams(struct mot_words *w, const struct mot_facts *f);

/* verdict_network.c: each says what the links have to do with it; false: nothing, and nothing was said. */
bool mot_say_incast(struct mot_words *w, const struct mot_facts *f);
bool mot_say_thin(struct mot_words *w, const struct mot_facts *f);
bool mot_say_far(struct mot_words *w, const struct mot_facts *f);
void mot_say_links(struct mot_words *w, const struct mot_facts *f);

#endif
