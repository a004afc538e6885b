/* scene_words.c -- the progress of a run or a study, in words and as JSON. */
#include "base/words.h"
#include "report/json.h"
#include "serve/scene.h"
#include "study/figures.h"
#include <math.h>
#include <stdlib.h>

#define TEXT 96

const char *mot_scene_state(const struct mot_scene *v) { return v->ended ? "ended" : "running"; }

static char *join(char *first, char *second)
{
    char *both = mot_format("%s%s", first, second);
    free(first);
    free(second);
    return both;
}

/* "1,234 updates, 4.20 s on its clock, 37 % done" */
static char *run_words(const struct mot_scene *v)
{
    char clock[TEXT];
    if (!v->known) return mot_text("it has not reached its first evaluation yet");
    char *words = mot_format("%s, %s on its clock", mot_updates_text(v->now.updates).text,
        mot_show_time(v->now.now, clock, sizeof clock));
    if (!v->ended && isfinite(v->share))
        words = join(words, mot_format(", %.0f %% done", floor(100 * v->share)));
    return words;
}

/* "12 of 60 runs have ended, 1 of them failed" */
static char *study_words(const struct mot_scene *v)
{
    if (!v->runs) return mot_text("it has not begun yet");
    char *words = mot_format(
        "%zu of %zu run%s %s ended", v->done, v->runs, mot_plural(v->runs), v->runs == 1 ? "has" : "have");
    if (v->failed) words = join(words, mot_format(", %zu of them failed", v->failed));
    return words;
}

static char *going_words(const struct mot_scene *v)
{
    if (v->of == MOT_SCENE_NOTHING) return mot_text("It is about to begin.");
    bool run = v->of == MOT_SCENE_RUN, step = !run && v->runs;
    char *words = run ? run_words(v) : study_words(v);
    char *all = mot_format(
        "The %s goes on%s%s: %s.", run ? "run" : "study", step ? ", " : "", step ? v->doing : "", words);
    free(words);
    return all;
}

static char *ended_words(const struct mot_scene *v)
{
    const char *what = v->of == MOT_SCENE_RUN ? "run" : v->of == MOT_SCENE_STUDY ? "study" : "command";
    char *words = mot_format("The %s %s", what,
        v->status == MOT_OK                 ? "has ended"
            : v->status == MOT_EINTERRUPTED ? "was interrupted"
                                            : "has failed");
    if (v->of == MOT_SCENE_RUN && v->known) words = join(words, join(mot_text(": "), run_words(v)));
    if (v->how && v->status != MOT_EINTERRUPTED) words = join(words, mot_format(": %s", v->how));
    words = join(words, mot_text("."));
    bool left = v->status == MOT_OK || (v->of == MOT_SCENE_RUN && v->known); /* else there may be nothing */
    if (v->where && left) words = join(words, mot_format(" What it left is in %s.", v->where));
    return words;
}

char *mot_scene_words(const struct mot_scene *v) { return v->ended ? ended_words(v) : going_words(v); }

json_t *mot_scene_state_json(struct mot_scene *v)
{
    pthread_mutex_lock(&v->lock);
    char *words = mot_scene_words(v);
    json_t *state = json_pack("{s:I, s:s}", "moment", (json_int_t)v->version, "state", mot_scene_state(v));
    pthread_mutex_unlock(&v->lock);
    mot_json_set(state, "words", mot_json_text(words));
    free(words);
    return state;
}
