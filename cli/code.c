/* code.c -- `motley code`: a gradient code's matrix, its cost, what it survives, and whether shuffling
 * helps. */
#include "base/memory.h"
#include "base/options.h"
#include "cli.h"
#include "cluster/cluster.h"
#include "config/keys.h"
#include "report/json.h"
#include "report/report.h"
#include <math.h>
#include <motley/code.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define SHOW_MATRIX 16u   /* the most workers and parts for which the text shows the matrix */
#define JSON_MATRIX 1024u /* and the JSON */
#define PATTERNS 20000u   /* of missing workers, at most; */
#define WORK 2e9          /* fewer if decoding them would take more operations than about this */

static const char *const decoders[] = { "auto", "any-holder", "one-step", "optimal", "component" };

/* The command's own flags. */
struct own {
    uint64_t missing, slow;
    double slow_straggles, straggles;
};

/* What to show: a code, and how often its workers straggle. */
struct subject {
    const struct mot_experiment *x;
    const struct mot_code *code;
    struct own own;
    uint32_t missing, slow;
    double *chance; /* [workers] */
    bool described; /* by the cluster; else the first `slow` are slow */
    bool exact;     /* rounds last until the sum is exact, whoever is missing */
    struct mot_code_quality quality;
    struct mot_forecast forecast[MOT_SHUFFLE_PARTIAL];
    enum mot_shuffle_kind advice;
};

static enum mot_status work_out(struct subject *s)
{
    const struct mot_code *c = s->code;
    double each = c->decoder == MOT_DECODER_OPTIMAL ? (double)c->workers * c->workers * c->parts : 0;
    uint64_t patterns = each * PATTERNS > WORK ? (uint64_t)(WORK / each) + 20 : PATTERNS;
    enum mot_status status = mot_code_measure(c, s->missing, patterns, s->x->seed, &s->quality);
    if (status == MOT_OK) s->advice = mot_shuffle_advise(c, s->chance, s->x->seed, s->exact, s->forecast);
    return status;
}

/* ---- For people ----------------------------------------------------------------------------------- */

static double clean(double error) { return error < 1e-9 ? 0 : error; } /* rounding is no loss */

static const char *plural(uint64_t n) { return n == 1 ? "" : "s"; }

static void show_promise(const struct mot_code *c)
{
    printf(
        "%s: %u worker%s, %u part%s; ", c->name, c->workers, plural(c->workers), c->parts, plural(c->parts));
    if (c->stragglers) printf("the sum is exact with any %u missing\n", c->stragglers);
    else if (c->approximate) printf("the sum is approximate if anyone is missing\n");
    else printf("the sum is exact only if all answer\n");
}

static void show_load(const struct subject *s)
{
    const struct mot_code *c = s->code;
    double copies = s->quality.load_mean * c->workers / c->parts;
    uint32_t unheld = 0;
    printf("  load       %.4g part%s per worker", s->quality.load_mean, s->quality.load_mean == 1 ? "" : "s");
    if (c->load_most > s->quality.load_mean) printf(" on average, %u at most", c->load_most);
    printf(": each part is computed %.4g time%s\n", copies, copies == 1 ? "" : "s");
    if (c->partials)
        printf("  decoder    %s; workers send each part's gradient by itself\n", decoders[c->decoder]);
    else printf("  decoder    %s; weights up to %.4g\n", decoders[c->decoder], s->quality.weight);
    for (uint32_t j = 0; j < c->parts; j++) unheld += c->held[j] == c->held[j + 1];
    if (unheld) printf("  unheld     nobody holds %u of the parts: more load makes that rarer\n", unheld);
    if (c->groups && !c->replicas)
        printf(
            "  groups     %u set%s of workers cover the data once: one that has answered decodes by itself\n",
            c->groups, plural(c->groups));
    if (c->warning) printf("  warning    %s\n", c->warning);
}

static void show_error(const struct subject *s)
{
    const struct mot_code_quality *q = &s->quality;
    printf("  error      with %u missing: %.4g on average, %s%.4g at worst", s->missing,
        clean(q->random_error), q->all ? "" : "at least ", clean(q->worst_error));
    printf(q->all ? " (all %llu patterns)\n" : " (%llu random patterns, and a search for a bad one)\n",
        (unsigned long long)q->patterns);
    printf("             the sum over the parts of (weight in the decoded sum - 1) squared: a lost part "
           "counts 1\n");
    if (clean(q->worst_error) == 0) return;
    printf("  worst      without");
    for (uint32_t r = 0, n = 0; r < s->code->workers && n < 20; r++)
        if (mot_role_in(q->worst, r)) printf("%s %u", n++ ? "," : "", r);
    puts(s->missing > 20 ? ", ..." : "");
}

static void show_stragglers(const struct subject *s)
{
    uint32_t n = s->code->workers, shown = 0, all = 0;
    if (!s->described && s->slow == 0) {
        printf("every worker straggles with probability %.4g\n", s->own.straggles);
        return;
    }
    if (!s->described && s->slow == 1) {
        printf("worker 0 straggles with probability %.4g, the others with %.4g\n", s->own.slow_straggles,
            s->own.straggles);
        return;
    }
    if (!s->described) {
        printf("the first %u workers straggle with probability %.4g, the others with %.4g\n", s->slow,
            s->own.slow_straggles, s->own.straggles);
        return;
    }
    printf("workers straggle as the cluster says:");
    for (uint32_t i = 0; i < n; i++)
        if (s->chance[i] > 0 && all++ < 8)
            printf("%s %u in %.3g %%", shown++ ? "," : "", i, 100 * s->chance[i]);
    printf(" of the rounds");
    if (all > shown) printf(", and %u more", all - shown);
    putchar('\n');
}

/* The figure to maximise: the share of rounds that need no straggler, or how often the least covered part is
 * used. */
static double good(const struct subject *s, uint32_t kind)
{
    return s->exact ? 1 - s->forecast[kind].waits : s->forecast[kind].least;
}

static void show_advice(const struct subject *s)
{
    double most = 0; /* by the best shuffle */
    for (uint32_t kind = 1; kind < MOT_SHUFFLE_PARTIAL; kind++) most = fmax(most, good(s, kind));
    if (s->advice != MOT_SHUFFLE_NONE && s->exact)
        printf("  %s: %.1f %% of the rounds then wait for a straggler instead of %.1f %%.\n",
            mot_shuffle_name(s->advice), 100 * s->forecast[s->advice].waits, 100 * s->forecast[0].waits);
    else if (s->advice != MOT_SHUFFLE_NONE)
        printf("  %s: the part covered least is then used in %.1f %% of the rounds instead of %.1f %%.\n",
            mot_shuffle_name(s->advice), 100 * s->forecast[s->advice].least, 100 * s->forecast[0].least);
    else if (most >= good(s, 0) - 0.005) puts("  Shuffling would not help.");
    else if (s->exact) puts("  Do not shuffle: with any kind, more rounds would wait for a straggler.");
    else puts("  Do not shuffle: any kind would leave some part less used than the least used one is now.");
}

static void show_coverage(const struct subject *s)
{
    const struct mot_forecast *f = s->forecast;
    printf("\n  coverage   how often a holder of a part answers, if\n             ");
    show_stragglers(s);
    printf("    %-14s %8s %14s %8s   %s\n", "shuffle", "mean", "least covered",
        isnan(f->waits) ? "" : "waits", "moved by a shuffle, in copies of the data");
    for (uint32_t kind = 0; kind < MOT_SHUFFLE_PARTIAL; kind++) {
        printf("    %-14s %8.3f %14.3f", mot_shuffle_name(kind), f[kind].mean, f[kind].least);
        if (isnan(f[kind].waits)) printf(" %8s   %.3g\n", "", f[kind].traffic);
        else printf(" %8.3f   %.3g\n", f[kind].waits, f[kind].traffic);
    }
    if (!isnan(f->waits))
        puts("    waits: share of the rounds in which the exact sum needs a straggler's answer");
    show_advice(s);
}

static void show_matrix(const struct mot_code *c)
{
    if (c->workers > SHOW_MATRIX || c->parts > SHOW_MATRIX) {
        printf("\n  The matrix is shown for up to %u workers and parts, with --json for up to %u.\n",
            SHOW_MATRIX, JSON_MATRIX);
        return;
    }
    printf("\n  matrix: a row for each worker's role, a column for each part\n");
    for (uint32_t r = 0; r < c->workers; r++) {
        uint32_t k = c->at[r];
        printf("   ");
        for (uint32_t j = 0; j < c->parts; j++)
            if (k < c->at[r + 1] && c->share[k].part == j) printf(" %7.3g", (double)c->share[k++].coef);
            else printf("       .");
        putchar('\n');
    }
}

static void show_text(const struct subject *s)
{
    show_promise(s->code);
    show_load(s);
    show_error(s);
    show_coverage(s);
    show_matrix(s->code);
}

/* ---- For programs ------------------------------------------------------------------------------ */

static json_t *matrix_json(const struct mot_code *c)
{
    if (c->workers > JSON_MATRIX || c->parts > JSON_MATRIX) return json_null();
    json_t *rows = json_array();
    for (uint32_t r = 0; r < c->workers; r++) {
        json_t *row = json_array();
        uint32_t k = c->at[r];
        for (uint32_t j = 0; j < c->parts; j++) {
            bool here = k < c->at[r + 1] && c->share[k].part == j;
            mot_json_add(row, mot_json_number(here ? (double)c->share[k++].coef : 0));
        }
        mot_json_add(rows, row);
    }
    return rows;
}

static json_t *coverage_json(const struct subject *s)
{
    json_t *all = json_object();
    for (uint32_t kind = 0; kind < MOT_SHUFFLE_PARTIAL; kind++) {
        const struct mot_forecast *f = &s->forecast[kind];
        mot_json_set(all, mot_shuffle_name(kind),
            json_pack("{s:o, s:o, s:o, s:o}", "mean", mot_json_number(f->mean), "least",
                mot_json_number(f->least), "waits", mot_json_number(f->waits), "copies_moved",
                mot_json_number(f->traffic)));
    }
    return all;
}

static void show_json(const struct subject *s)
{
    const struct mot_code *c = s->code;
    const struct mot_code_quality *q = &s->quality;
    json_t *worst = json_array(), *load = json_array(), *straggles = json_array(), *all = json_object();
    for (uint32_t r = 0; r < c->workers; r++) {
        if (clean(q->worst_error) > 0 && mot_role_in(q->worst, r)) mot_json_add(worst, json_integer(r));
        mot_json_add(load, json_integer(c->at[r + 1] - c->at[r]));
        mot_json_add(straggles, mot_json_number(s->chance[r]));
    }
    mot_json_set(all, "code", json_string(c->name));
    mot_json_set(all, "workers", json_integer(c->workers));
    mot_json_set(all, "parts", json_integer(c->parts));
    mot_json_set(all, "stragglers", json_integer(c->stragglers));
    mot_json_set(all, "decoder", json_string(decoders[c->decoder]));
    mot_json_set(all, "partials", json_boolean(c->partials));
    mot_json_set(all, "load", load);
    mot_json_set(all, "load_mean", mot_json_number(q->load_mean));
    mot_json_set(all, "warning", c->warning ? mot_json_text(c->warning) : json_null());
    mot_json_set(all, "error",
        json_pack("{s:I, s:o, s:o, s:o, s:o, s:I, s:b}", "missing", (json_int_t)s->missing, "random_mean",
            mot_json_number(q->random_error), "random_most", mot_json_number(q->random_most), "worst",
            mot_json_number(q->worst_error), "worst_without", worst, "patterns", (json_int_t)q->patterns,
            "all_patterns", q->all));
    mot_json_set(all, "largest_weight", mot_json_number(q->weight));
    mot_json_set(all, "straggles", straggles);
    mot_json_set(all, "coverage", coverage_json(s));
    mot_json_set(all, "shuffle", json_string(mot_shuffle_name(s->advice)));
    mot_json_set(all, "matrix", matrix_json(c));
    mot_json_print(all, stdout);
    json_decref(all);
}

/* ---- The command ------------------------------------------------------------------------------- */

/* Options of codes without the prefix: --stragglers is --code-stragglers. */
static const char *const short_names[] = { "stragglers", "load", "degree", "parts", "speeds", "burst",
    "window", "distinct", "slack", "decoder" };

static const struct cli_flag flags[] = {
    { "stragglers", "S", "exact codes: missing answers that are decoded exactly" },
    { "load", "L", "expander, bernoulli, regularised: parts per worker" },
    { "degree", "D", "graph: workers that hold a part" },
    { "parts", "K", "parts of the data, where the code leaves the choice" },
    { "speeds", "LIST",
        "hetero, hetero-groups: how fast each worker is: '1, 2, 4'; else as the cluster says" },
    { "burst", "B", "sr-sgc: the most rounds in a row for which a worker straggles" },
    { "window", "W", "sr-sgc: rounds in which at most --distinct workers straggle" },
    { "distinct", "N", "sr-sgc: see --window" },
    { "slack", "X", "sr-sgc: a straggler takes 1 + X times as long as the fastest" },
    { "decoder", "NAME", "any-holder, one-step, optimal or component (default: what suits the code)" },
    { "missing", "N",
        "look at patterns of N missing workers (default: what the code tolerates, or a tenth)" },
    { "slow", "N", "the first N workers are slow (default: as the cluster says, or a quarter)" },
    { "slow-straggles", "P", "with --slow: how often a slow worker does not answer in time (default 0.8)" },
    { "straggles", "P", "with --slow: the same for the others (default 0.01)" },
    { NULL, NULL, NULL },
};

static const struct mot_option own_options[] = {
    { .name = "missing",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct own, missing),
        .preset = "auto",
        .word = "auto" },
    { .name = "slow",
        .type = MOT_OPT_UINT,
        .offset = offsetof(struct own, slow),
        .preset = "auto",
        .word = "auto" },
    { .name = "slow-straggles",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct own, slow_straggles),
        .preset = "0.8",
        .max = 1 },
    { .name = "straggles",
        .type = MOT_OPT_REAL,
        .offset = offsetof(struct own, straggles),
        .preset = "0.01",
        .max = 1 },
    { .name = NULL },
};

static enum mot_status read_own(const struct cli_args *a, struct own *own)
{
    struct mot_arena arena = { NULL };
    enum mot_status status = mot_options_preset(own_options, own, &arena);
    for (const struct mot_option *o = own_options; status == MOT_OK && o->name; o++) {
        const char *value = cli_value(a, o->name);
        if (!value || mot_option_set(o, own, value, &arena) == MOT_OK) continue;
        char *why = mot_text(mot_error());
        status = mot_fail(MOT_EUSAGE, "--%s: %s", o->name, why);
        free(why);
    }
    mot_arena_free(&arena);
    return status;
}

/* Chances of straggling from the cluster: each worker computes the samples that its role gives it. */
static void describe(struct subject *s)
{
    const struct mot_code *c = s->code;
    uint32_t *samples = mot_new(c->workers, sizeof(*samples)), *batch = mot_new(c->workers, sizeof(*batch));
    double all = 0;
    for (uint32_t i = 0; i < c->workers; i++) all += batch[i] = s->x->batch_full ? 32 : s->x->batch[i];
    for (uint32_t i = 0; i < c->workers; i++)
        samples[i] = (uint32_t)fmax(1, all * (c->at[i + 1] - c->at[i]) / c->parts);
    mot_straggle_chances(s->x->cluster, s->x->seed, batch, samples, s->chance);
    for (uint32_t i = 0; i < c->workers; i++) s->described |= s->chance[i] > 0;
    free(batch);
    free(samples);
}

static enum mot_status settle(const struct own *own, struct subject *s)
{
    uint32_t n = s->code->workers, tenth = n / 10 ? n / 10 : n > 1;
    if (own->missing != MOT_WORD_UINT && own->missing >= n)
        return mot_fail(MOT_EUSAGE, "--missing: found %llu; expected fewer than the %u workers there are",
            (unsigned long long)own->missing, n);
    if (own->slow != MOT_WORD_UINT && own->slow > n)
        return mot_fail(MOT_EUSAGE, "--slow: found %llu; expected at most the %u workers there are",
            (unsigned long long)own->slow, n);
    s->missing = s->code->stragglers ? s->code->stragglers : tenth;
    if (own->missing != MOT_WORD_UINT) s->missing = (uint32_t)own->missing;
    s->slow = own->slow == MOT_WORD_UINT ? (n + 3) / 4 : (uint32_t)own->slow;
    s->own = *own;
    s->exact = !s->x->traits.cuts && !s->code->approximate && !s->code->burst;
    if (own->slow == MOT_WORD_UINT) describe(s);
    for (uint32_t i = 0; i < n && !s->described; i++)
        s->chance[i] = i < s->slow ? own->slow_straggles : own->straggles;
    return MOT_OK;
}

static enum mot_status show(const struct cli_args *a, const struct own *own, const struct mot_experiment *x)
{
    struct mot_code_spec spec = mot_code_of(x);
    struct mot_code *code;
    double *speed = mot_speeds_of(x);
    spec.speed = speed;
    enum mot_status status = mot_code_open(&spec, &code);
    free(speed);
    if (status != MOT_OK) return status;
    struct subject s = { .x = x, .code = code, .chance = mot_new(code->workers, sizeof(*s.chance)) };
    status = settle(own, &s);
    if (status == MOT_OK) status = work_out(&s);
    if (status == MOT_OK && a->json) show_json(&s);
    else if (status == MOT_OK) show_text(&s);
    free(s.chance);
    mot_code_close(code);
    return status;
}

static enum mot_status run_code(const struct cli_args *a)
{
    struct mot_choice choice;
    struct own own;
    const char *word = a->words ? a->word[0] : NULL;
    bool is_name = word && mot_family_find(&mot_family_code, word, &choice);
    bool is_file = word && !is_name && (strchr(word, '.') || strchr(word, '/'));
    struct mot_setting *setting = mot_new(a->settings + MOT_COUNT(short_names) + 1, sizeof(*setting));
    struct mot_arena arena = { NULL };
    size_t n = 0;
    /* The name goes first: it decides which options exist. */
    if (word && !is_file) setting[n++] = (struct mot_setting){ "code", word, "NAME" };
    for (size_t i = 0; i < a->settings; i++) setting[n++] = a->setting[i];
    for (size_t i = 0; i < MOT_COUNT(short_names); i++) {
        const char *value = cli_value(a, short_names[i]), *key, *origin;
        if (!value) continue;
        key = mot_arena_take(&arena, mot_format("code.%s", short_names[i]));
        origin = mot_arena_take(&arena, mot_format("--%s", short_names[i]));
        setting[n++] = (struct mot_setting){ key, value, origin };
    }
    struct mot_experiment *x;
    enum mot_status status = read_own(a, &own);
    if (status == MOT_OK) status = mot_experiment_open(is_file ? word : NULL, setting, n, &x);
    if (status == MOT_OK) {
        status = show(a, &own, x);
        mot_experiment_close(x);
    }
    mot_arena_free(&arena);
    free(setting);
    return status;
}

const struct cli_command cli_code = {
    .name = "code",
    .synopsis = "[NAME | EXPERIMENT.yaml] [--workers N] [--stragglers S] [--KEY VALUE ...]",
    .summary = "show a gradient code: matrix, load, error, coverage",
    .about = "Prints what a gradient code costs and survives: how many parts each worker computes, the error "
             "of the decoded sum when workers are missing, at random and in the worst case, the largest "
             "decoding weight, and the matrix. NAME is a code (motley help code lists them; default auto).\n"
             "It also predicts how often each part is used if some workers straggle, without shuffling and "
             "with each kind of shuffle, and says which it would choose: where slow workers hold the same "
             "parts, shuffling helps; where they do not, it can hurt. The cluster says who straggles (a job "
             "straggles if it takes twice as long as the median worker's job without straggling); if nobody "
             "does, a quarter of the workers are assumed to be slow, or as many as --slow says.",
    .examples = "motley code crc --workers 12 --stragglers 3\n"
                "motley code frc --workers 12 --stragglers 2 --slow 6\n"
                "motley code expander --workers 100 --load 11 --missing 10\n"
                "motley code hetero --workers 5 --parts 7 --speeds '1, 2, 3, 4, 4' --json\n",
    .flags = flags,
    .words_max = 1,
    .experiment_flags = true,
    .prints_only = true,
    .run = run_code,
};
