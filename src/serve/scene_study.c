/* scene_study.c -- a study's document so far: the runs that have ended, sorted into arms.
 *
 * If several runs have the same arm, condition and seed, they differ in tuned values. Then each set of values
 * becomes an arm of its own, and no arm is judged. */
#include "report/json.h"
#include "serve/scene.h"
#include <stdlib.h>
#include <string.h>

/* A copy of what we need from the view, so that the rest needs no lock. */
struct sight {
    struct mot_arena arena;
    struct mot_study study;
    struct mot_study_side *arm;
    struct mot_study_run *run;
    const char **more;              /* [runs] */
    size_t planned, runs, left_out; /* runs of arms beyond what a page can show */
    bool apart;
};

static struct mot_study_side *copy_sides(
    struct mot_arena *arena, const struct mot_study_side *from, size_t n, size_t room)
{
    struct mot_study_side *to = mot_arena_new(arena, (room + 1) * sizeof *to);
    for (size_t i = 0; i < n; i++) {
        struct mot_study_setting *s = mot_arena_new(arena, (from[i].settings + 1) * sizeof *s);
        for (size_t k = 0; k < from[i].settings; k++)
            s[k] = (struct mot_study_setting){ mot_arena_text(arena, from[i].setting[k].key),
                mot_arena_text(arena, from[i].setting[k].value), "" };
        to[i] = (struct mot_study_side){ mot_arena_text(arena, from[i].name), s, from[i].settings };
    }
    return to;
}

static void copy_runs(const struct mot_scene *v, struct sight *s)
{
    s->run = mot_arena_new(&s->arena, (v->done + 1) * sizeof *s->run);
    s->more = mot_arena_new(&s->arena, (v->done + 1) * sizeof *s->more);
    for (size_t i = 0; i < v->runs && s->runs < v->done; i++) {
        const struct mot_scene_case *c = &v->run[i];
        if (!c->folder && !c->failed) continue;
        struct mot_goal *goal = mot_arena_new(&s->arena, sizeof *goal);
        *goal = c->goal;
        s->run[s->runs] = (struct mot_study_run){ .arm = c->arm,
            .condition = c->condition,
            .seed = c->seed,
            .goal = goal,
            .folder = c->folder ? mot_arena_text(&s->arena, c->folder) : NULL,
            .failed = c->failed ? mot_arena_text(&s->arena, c->failed) : NULL };
        s->more[s->runs++] = mot_arena_text(&s->arena, c->more);
    }
}

static int by_place(const void *a, const void *b) { return mot_study_run_order(a, b); }

/* Whether any two planned runs have the same arm, condition and seed. */
static bool are_apart(const struct mot_scene *v)
{
    struct mot_study_run *all = mot_new(v->runs + 1, sizeof *all);
    bool apart = false;
    for (size_t i = 0; i < v->runs; i++)
        all[i] = (struct mot_study_run){
            .arm = v->run[i].arm, .condition = v->run[i].condition, .seed = v->run[i].seed
        };
    qsort(all, v->runs, sizeof *all, by_place);
    for (size_t i = 1; i < v->runs && !apart; i++) apart = by_place(&all[i - 1], &all[i]) == 0;
    free(all);
    return apart;
}

/* Gives every set of values in every arm an arm of its own. Leaves out the runs of arms beyond what a page
 * can show. */
static void split_arms(struct sight *s)
{
    struct mot_study_side *arm = mot_arena_new(&s->arena, (MOT_SCENE_ARMS + 1) * sizeof *arm);
    uint32_t *from = mot_arena_new(&s->arena, (MOT_SCENE_ARMS + 1) * sizeof *from);
    const char **more = mot_arena_new(&s->arena, (MOT_SCENE_ARMS + 1) * sizeof *more);
    size_t arms = 0, kept = 0;
    for (size_t i = 0; i < s->runs; i++) {
        size_t at = 0;
        while (at < arms && (from[at] != s->run[i].arm || strcmp(more[at], s->more[i]) != 0)) at++;
        if (at == MOT_SCENE_ARMS) {
            s->left_out++;
            continue;
        }
        if (at == arms) {
            const struct mot_study_side *of = &s->arm[s->run[i].arm];
            char *name = mot_format("%s %s", of->name, s->more[i]);
            arm[arms] = (struct mot_study_side){ mot_arena_take(&s->arena, name), of->setting, of->settings };
            from[arms] = s->run[i].arm;
            more[arms++] = s->more[i];
        }
        s->run[kept] = s->run[i];
        s->run[kept++].arm = (uint32_t)at;
    }
    s->arm = arm;
    s->runs = kept;
    s->study.arms = arms;
}

enum mot_status mot_scene_study(struct mot_scene *v, json_t **out, uint64_t *version)
{
    struct sight s = { .runs = 0 };
    *out = NULL;
    pthread_mutex_lock(&v->lock);
    if (v->of != MOT_SCENE_STUDY || v->done == 0) {
        pthread_mutex_unlock(&v->lock);
        return MOT_OK;
    }
    s.arm = copy_sides(&s.arena, v->arm, v->arms, v->arms);
    s.study = (struct mot_study){ .title = mot_arena_text(&s.arena, v->title),
        .command = v->command,
        .experiment = mot_arena_text(&s.arena, v->experiment),
        .condition = copy_sides(&s.arena, v->condition, v->conditions, v->conditions),
        .arms = v->arms,
        .conditions = v->conditions };
    copy_runs(v, &s);
    s.planned = v->runs;
    s.apart = are_apart(v);
    char *words = mot_scene_words(v);
    const char *state = mot_scene_state(v);
    *version = v->version;
    pthread_mutex_unlock(&v->lock);
    if (s.apart) split_arms(&s);
    qsort(s.run, s.runs, sizeof *s.run, by_place);
    s.study.arm = s.arm;
    s.study.run = s.run;
    s.study.runs = s.runs;
    s.study.unjudged = s.apart;
    json_t *document = NULL, *live;
    enum mot_status status = mot_study_document(&s.study, &document);
    if (status == MOT_OK) {
        live = json_pack("{s:s, s:o, s:I, s:I, s:b, s:b, s:I}", "state", state, "words", mot_json_text(words),
            "moment", (json_int_t)*version, "planned", (json_int_t)s.planned, "judged",
            !s.apart && s.study.arms > 1, "apart", s.apart, "left_out", (json_int_t)s.left_out);
        mot_json_set(document, "live", live);
        *out = document;
    }
    free(words);
    mot_arena_free(&s.arena);
    return status;
}
