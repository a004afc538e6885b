/* race.h -- `motley plan`: which method suits this cluster and this data?
 *
 * Every method that can run here is tried with several learning rates in short runs; the better ones are
 * tried longer, with finer rates; the best four race over fresh seeds, and drop out once they can be told
 * apart from the leader. Then the leaders are tried on changed clusters. All runs of a step end at the
 * same virtual time, and what counts is the time to the target, or how near to it a run came.
 *
 * The wall clock decides only how many runs are made: none begins after the budget is spent. Conclusions
 * depend only on the runs that were made, and the store keeps them: the same command continues where the
 * last one ended. */
#ifndef MOT_STUDY_RACE_H
#define MOT_STUDY_RACE_H

#include "study/figures.h"
#include "study/runner.h"
#include "study/stats.h"

#define MOT_RACE_SEEDS 10  /* of the race: 1 to 10 */
#define MOT_RACE_ARMS 4    /* that race */
#define MOT_RACE_CHANGES 3 /* changed clusters */
#define MOT_RACE_CHANGED 3 /* seeds of each */

enum mot_race_stage { MOT_RACE_REFUSED, MOT_RACE_SCREENED, MOT_RACE_TUNED, MOT_RACE_RACED };

/* A method in the race, with its best rate so far. */
struct mot_racer {
    const char *name;                           /* "server{k: 6}" */
    const char *why;                            /* refused: why */
    const char *setting;                        /* the value of the key `method` */
    size_t arm;                                 /* in the plan */
    enum mot_race_stage stage;                  /* the last that it took part in */
    bool tried, out;                            /* it has a run; it dropped out of the race */
    int rate;                                   /* the learning rate is the file's times 2^rate */
    struct mot_run_figures best;                /* of its best run in the last step before the race */
    struct mot_run_figures run[MOT_RACE_SEEDS]; /* of the race; `known` tells which there are */
    char *folder[MOT_RACE_SEEDS];
    struct mot_run_figures changed[MOT_RACE_CHANGES][MOT_RACE_CHANGED];
};

struct mot_race {
    const char *experiment; /* the file; NULL: defaults */
    const struct mot_setting *setting;
    size_t settings;
    const char *command; /* as typed */
    const char *store, *out;
    unsigned jobs;
    double budget_s;
    bool fresh;
    bool dry_run; /* find out who could take part, and run nothing */
    FILE *progress;
    bool terminal;
    const volatile sig_atomic_t *interrupt;
    const struct mot_study_listener *listener; /* may be NULL */
    /* The rest is filled by mot_race_run; mot_race_close frees it. */
    struct mot_arena arena;
    struct mot_study_plan *plan;
    struct mot_racer *racer;
    size_t racers;
    enum mot_target_kind target; /* what is raced for, */
    double target_value;
    bool
        target_given; /* by the experiment; else it is what the better half of the methods reaches half-way */
    double lr, horizon_s;           /* the file's rate; what runs of full length take on the virtual clock */
    size_t seeds;                   /* of the race that were run, for those that stayed in */
    bool complete;                  /* nothing was left out for want of time */
    bool changes;                   /* changed clusters were tried, */
    bool refuses[MOT_RACE_CHANGES]; /* but not these, which this experiment cannot have, */
    bool pointless[MOT_RACE_CHANGES]; /* nor these, which could not matter to it */
    size_t made, found;
};
enum mot_status mot_race_run(struct mot_race *);
void mot_race_close(struct mot_race *);

extern const struct mot_race_change {
    const char *words, *key, *value;
} mot_race_changes[MOT_RACE_CHANGES];

/* Those that raced, the best first; returns how many. */
size_t mot_race_order(const struct mot_race *, const struct mot_racer **order, size_t max);
/* Whether any of the race's runs reached the target; else there is nothing to recommend. */
bool mot_race_arrived(const struct mot_race *);
/* What a plan that is not complete says of that. */
extern const char mot_race_incomplete[];
/* Why there is nothing to recommend. malloc'd. */
char *mot_race_nothing(const struct mot_race *);
/* The median over the race's runs, as a study counts them: INFINITY where half of them or more missed the
 * target; NaN: there is none. */
double mot_race_median(const struct mot_racer *, enum mot_figure);
size_t mot_race_reached(const struct mot_racer *, size_t *runs_out); /* how many of the race's runs did */
/* Over the race's pairs: how many times sooner `b` was at the target than `a`. */
struct mot_comparison mot_race_compare(const struct mot_racer *a, const struct mot_racer *b);

/* Whether `r` took over 1.5 times as long as the leader, or missed the target, in each of their pairs, of
 * which there are three or more. */
bool mot_race_clearly_later(const struct mot_racer *r, const struct mot_racer *leader);

/* What to run, why, by what margin, what else was tried and what would change it, as JSON (docs/plan.md);
 * and a study's document of those that raced, for the page. */
json_t *mot_race_json(const struct mot_race *);
enum mot_status mot_race_document(const struct mot_race *, json_t **out);

#endif
