/* scene.h -- what is known so far of a run or a study, shared by its listeners and the thread that shows
 * it. */
#ifndef MOT_SERVE_SCENE_H
#define MOT_SERVE_SCENE_H

#include "base/memory.h"
#include "run/outcome.h"
#include "study/study.h"
#include <jansson.h>
#include <pthread.h>
#include <stdio.h>

#define MOT_SCENE_LINES 512    /* lines kept of a run's metrics; when full, every second one is dropped */
#define MOT_SCENE_WORKERS 1000 /* workers whose times are reported one by one */
#define MOT_SCENE_ARMS 64      /* arms shown of a study that is being tuned */

enum mot_scene_of { MOT_SCENE_NOTHING, MOT_SCENE_RUN, MOT_SCENE_STUDY };

/* One run of a study. */
struct mot_scene_case {
    uint32_t arm, condition;
    uint64_t seed;
    struct mot_goal goal; /* its target, which the run in the folder may not have known */
    char key[40];
    const char *more;      /* "optimizer.lr=0.5 stop.time=3s", or "" */
    char *folder, *failed; /* both NULL until it ends */
};

struct mot_scene {
    pthread_mutex_t lock;
    struct mot_arena arena; /* holds the texts below until the next run or plan begins */
    enum mot_scene_of of;
    uint64_t version; /* of what the page shows; ticks do not change it */
    bool ended;
    enum mot_status status;
    char *how; /* it ended: the error message, or NULL */
    char *where;
    const char *command, *title, *experiment;
    /* a run */
    const char *method, *driver;
    uint64_t seed;
    uint32_t workers;
    const char *target; /* "test_accuracy", or NULL */
    double target_value;
    struct mot_experiment *stops; /* a copy of which only the numbers in `stop` may be read */
    bool known;                   /* whether there was a moment yet: */
    struct mot_moment now;
    struct mot_score score; /* of the last evaluation */
    double share;           /* how much of the run is done; NaN: unknown */
    uint64_t evaluations, every;
    char *line[MOT_SCENE_LINES], *last;
    size_t lines;
    const char **group;  /* [told]: from the cluster file, or NULL */
    uint64_t *worked_ns; /* [told]; 0: unknown */
    uint32_t told;
    /* a study */
    const void *plan; /* only to tell one plan from the next; never dereferenced */
    const char *doing;
    struct mot_study_side *arm, *condition;
    size_t arms, conditions;
    struct mot_scene_case *run;
    size_t runs, done, failed;
};

/* "The run goes on: ...": the state in words; call it under the lock. malloc'd. */
char *mot_scene_words(const struct mot_scene *);
const char *mot_scene_state(const struct mot_scene *); /* "running" or "ended" */

/* These three take the lock only while they copy. */
json_t *mot_scene_state_json(struct mot_scene *);
void mot_scene_metrics(struct mot_scene *, FILE *);                            /* for Prometheus */
enum mot_status mot_scene_page(struct mot_scene *, FILE *, uint64_t *version); /* the page, as HTML */

/* A study's document so far, and whether it compares arms; takes the lock only while copying. NULL if no
 * study is shown or none of its runs has ended. */
enum mot_status mot_scene_study(struct mot_scene *, json_t **out, uint64_t *version);

#endif
