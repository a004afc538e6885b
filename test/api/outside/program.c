/* program.c -- a program from outside: a method and a model of its own, simulated and on threads; numbers by
 * callback, from the summary and from the model itself. Prints a line for each claim; the first that does not
 * hold ends it with 1. */
#include <math.h>
#include <motley/motley.h>
#include <motley/random.h>
#include <motley/vector.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const struct mot_method clipped;
extern const struct mot_model line;

static void claim(const char *what, int holds)
{
    printf("%s %s\n", holds ? "ok  " : "FAIL", what);
    if (!holds) {
        printf("     the library's last message: %s\n", mot_error());
        exit(1);
    }
}

struct told {
    unsigned evaluations, ticks;
    struct mot_run_moment last;
};

static void on_evaluated(void *self, const struct mot_run_moment *m)
{
    struct told *t = self;
    t->evaluations++;
    t->last = *m;
}

static void on_progress(void *self, const struct mot_run_moment *m)
{
    struct told *t = self;
    t->ticks += m->size == sizeof *m && m->time_s >= 0;
}

static const struct mot_method *const methods[] = { &clipped, NULL };
static const struct mot_model *const models[] = { &line, NULL };

/* A run with these settings, made this way; the caller closes it. */
static struct mot_run *made(
    enum mot_status (*make)(struct mot_run *), const char *const *set, size_t sets, struct told *told)
{
    struct mot_run_options o = { .size = sizeof o,
        .set = set,
        .sets = sets,
        .methods = methods,
        .models = models,
        .evaluated = told ? on_evaluated : NULL,
        .progress = told ? on_progress : NULL,
        .self = told };
    struct mot_run *run = NULL;
    if (mot_run_open(&o, &run) != MOT_OK || make(run) != MOT_OK) {
        printf("FAIL a run: %s\n", mot_error());
        exit(1);
    }
    return run;
}

static int same_model(const struct mot_run *a, const struct mot_run *b)
{
    size_t n, m;
    const float *x = mot_run_model(a, &n), *y = mot_run_model(b, &m);
    return n == m && n > 0 && memcmp(x, y, n * sizeof *x) == 0;
}

#define COUNT(list) (sizeof(list) / sizeof *(list))
#define CLASSES "data=digits", "model=softmax", "workers=4", "stop.updates=60", "optimizer.momentum=0"
#define VALUES                                                                                               \
    "data=synthetic", "data.kind=regression", "data.size=400", "data.cols=8", "data.noise=0.1",              \
        "model=line", "workers=3", "optimizer.lr=0.2", "stop.updates=120", "evaluate.every=20 updates"

static void try_method(void)
{
    const char *own[] = { CLASSES, "method=clipped" }, *known[] = { CLASSES, "method=async" },
               *short_ones[] = { CLASSES, "method=clipped", "method.clip=0.05" },
               *fewer[] = { CLASSES, "method=clipped", "method.rests=0.25" },
               *live[] = { CLASSES, "method=clipped" };
    struct mot_run *a = made(mot_run_simulate, own, COUNT(own), NULL),
                   *b = made(mot_run_simulate, known, COUNT(known), NULL),
                   *c = made(mot_run_simulate, short_ones, COUNT(short_ones), NULL),
                   *d = made(mot_run_simulate, fewer, COUNT(fewer), NULL),
                   *e = made(mot_run_train, live, COUNT(live), NULL);
    claim("a rule for the hub that clips nothing is the library's async, bit for bit", same_model(a, b));
    claim("its name is in the summary", strstr(mot_run_summary(a), "\"method\": \"clipped\"") != NULL);
    claim(
        "clipping changes the model", !same_model(a, c) && strstr(mot_run_summary(c), "\"clipped\"") != NULL);
    claim("a worker that rests has its notes, and no update",
        strstr(mot_run_summary(d), "\"rested\"") != NULL && mot_run_number(d, "updates") == 60);
    claim("on threads it learns as well",
        mot_run_number(e, "updates") == 60 && mot_run_number(e, "test_accuracy") > 0.6);
    mot_run_close(a), mot_run_close(b), mot_run_close(c), mot_run_close(d), mot_run_close(e);
}

static void try_model(void)
{
    const char *set[] = { VALUES };
    struct told told = { 0 };
    struct mot_run *a = made(mot_run_simulate, set, COUNT(set), &told),
                   *b = made(mot_run_train, set, COUNT(set), NULL);
    size_t n;
    const float *x = mot_run_model(a, &n);
    claim("the model has a number for each column", n == 8);
    claim("it finds the noise's half square", fabs(mot_run_number(a, "train_loss") - 0.005) < 0.002);
    claim("its weights have about length 1, as the data's truth has", fabs(mot_vector_norm(n, x) - 1) < 0.5);
    claim("simulated and on threads it is the same, bit for bit", same_model(a, b));
    claim("every evaluation was told", told.evaluations == 7 && told.last.updates == 120);
    claim("with the summary's figures", told.last.train_loss == mot_run_number(a, "train_loss"));
    mot_run_close(a), mot_run_close(b);
}

static void try_progress(void)
{
    const char *set[] = { "data=digits", "model=softmax", "workers=2", "stop.time=0.5s" };
    struct told told = { 0 };
    mot_run_close(made(mot_run_train, set, COUNT(set), &told));
    claim("progress is told while a run lasts", told.ticks >= 1);
}

static void try_mistakes(void)
{
    const char *set[] = { "method=clipped", "method.clipp=3" }, *shape[] = { "data=digits", "model=line" };
    struct mot_run_options o = { .size = sizeof o, .set = set, .sets = 2, .methods = methods };
    struct mot_run *run = NULL;
    claim("a misspelt option of the method's is an error that names it",
        mot_run_open(&o, &run) == MOT_EUSAGE && strstr(mot_error(), "clip") && !run);
    o = (struct mot_run_options){ .size = sizeof o, .set = shape, .sets = 2, .models = models };
    claim("the model's own error reaches the caller",
        mot_run_open(&o, &run) == MOT_EUSAGE && strstr(mot_error(), "line predicts values") && !run);
}

static void try_vectors(void)
{
    float x[5] = { 1, 2, 3, 4, -5 }, y[5] = { 1, 1, 1, 1, 1 }, z[5];
    const float *terms[] = { x, y }, factor[] = { 2, -1 };
    claim("dot and norm", mot_vector_dot(5, x, y) == 5 && fabs(mot_vector_norm(5, x) - sqrt(55)) < 1e-12);
    mot_vector_axpy(5, 2, x, y);
    claim("axpy", y[0] == 3 && y[4] == -9);
    mot_vector_scale(5, 0.5f, y);
    claim("scale", y[0] == 1.5f && y[4] == -4.5f);
    mot_vector_add(5, 2, terms, z);
    claim("add", z[0] == 2.5f && z[4] == -9.5f);
    mot_vector_combine(5, 2, factor, terms, z);
    claim("combine", z[0] == 0.5f && z[4] == -5.5f);
    claim("finite", mot_vector_finite(5, z));
    z[3] = NAN;
    claim("not finite", !mot_vector_finite(5, z));
}

int main(void)
{
    claim("the library says its version", mot_version()[0] != 0);
    try_vectors();
    try_method();
    try_model();
    try_progress();
    try_mistakes();
    return 0;
}
