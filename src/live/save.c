/* save.c -- what the judge of a live run saves of a job: a checkpoint. */
#include "live/judge.h"

#include "base/bytes.h"
#include "base/memory.h"
#include "live/rings.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether each node's own model can be saved: all are here, after the same update or each at its own pace. */
static bool is_one_cut(const struct mot_live_judge *j, const struct mot_live_job *job)
{
    const struct mot_live *l = j->live;
    const struct mot_copy *set = job->copy;
    for (mot_node i = l->lead; !job->params.x && i < l->lead + l->showing; i++)
        if (!set[i].x || set[i].scale != 1.0 || (set[i].updates != set[l->lead].updates && !l->own_pace))
            return false;
    return true;
}

static uint64_t (*words_of(struct mot_live_judge *j, const struct mot_live_job *job))[MOT_KEPT_WORDS]
{
    const struct mot_live *l = j->live;
    uint64_t(*word)[MOT_KEPT_WORDS] = mot_new(l->world.nodes, sizeof(*word));
    for (mot_node i = l->lead; i < l->lead + l->showing; i++)
        memcpy(word[i], job->params.x ? job->kept.word : job->copy[i].word, sizeof(*word));
    return word;
}

bool mot_live_judge_left_cut(const struct mot_live_judge *j, const struct mot_live_job *job)
{
    return j->cut && !is_one_cut(j, job);
}

/* Samples behind the model: what a server got after its last update is in no checkpoint. */
static uint64_t samples_of(const struct mot_live_judge *j, const struct mot_live_job *job)
{
    const struct mot_live *l = j->live;
    uint64_t all = l->from ? l->from->samples : 0;
    bool counted = l->world.servers == 0 && !l->own_pace;
    if (l->experiment->traits.redundant || counted || job->initial) return job->moment.samples;
    for (mot_node i = 0; i < l->world.workers; i++)
        all += job->draw[i] - (l->world.draw0 ? l->world.draw0[i] : 0);
    return all;
}

/* Whether the run ended because the data did. */
static bool ran_out(const struct mot_live_judge *j)
{
    if (atomic_load(&j->live->drained)) return true;
    if (!j->live->own_pace) return j->lead->out_of_data;
    return j->judge.ended_by && strcmp(j->judge.ended_by, "data") == 0;
}

/* Reports the first such checkpoint while the run goes on: whoever resumes from it should know. */
static void tell_lack(struct mot_live_judge *j, uint64_t updates, uint32_t missing, mot_node first)
{
    char words[160], others[32] = "";
    if (j->lack_told || !j->watch.trouble) return;
    if (missing > 1) snprintf(others, sizeof(others), " and %u more", missing - 1);
    snprintf(words, sizeof(words),
        "the checkpoint of update %llu lacks what worker %u%s had left to send: lost, or no answer",
        (unsigned long long)updates, first, others);
    j->watch.trouble(j->watch.self, words);
    j->lack_told = true;
}

/* What workers had left to send; the share of a worker that is lost, or does not answer, is missing. */
static struct mot_live_rest *rests_of(struct mot_live_judge *j, const struct mot_live_job *job, bool final)
{
    uint32_t missing;
    mot_node first;
    if (!job->rests) return NULL;
    struct mot_live_rest *rest = mot_gather_rests(j, job->rests, &missing, &first);
    if (missing) mot_notes_add(&j->notes, "residuals_lost", missing);
    if (missing && !final) tell_lack(j, job->moment.updates, missing, first);
    return rest;
}

void mot_live_judge_save(struct mot_live_judge *j, const struct mot_live_job *job, bool final)
{
    struct mot_live *l = j->live;
    bool one_cut = is_one_cut(j, job);
    const struct mot_traits *t = &l->experiment->traits;
    bool own = (t->model == MOT_MODEL_OF_EACH || t->keeps_own) && !job->params.x && one_cut;
    struct mot_live_at at = mot_live_judge_model(j, job, true);
    struct mot_live_checkpoint c = { .updates = job->moment.updates,
        .samples = samples_of(j, job),
        .computed = l->experiment->traits.redundant ? job->moment.computed : samples_of(j, job),
        .now = job->moment.now,
        .step = l->own_pace ? job->moment.updates : at.step, /* each goes on from the mean */
        .out_of_data = final && ran_out(j),
        .draw = job->draw,
        .cursor = job->cursor,
        .word = one_cut && !job->initial && l->experiment->method->keep ? words_of(j, job) : NULL,
        .rest = rests_of(j, job, final),
        .mark = j->watch.mark ? j->watch.mark(j->watch.self) : 0,
        .models = own ? l->world.workers : 1 };
    if (final && job == j->final && atomic_load(&j->judge.target.met)) {
        c.target.met = true;
        c.target.score = j->judge.target.score;
        c.target.at = j->judge.target.at;
        c.target.updates = j->judge.target.updates;
    }
    if (j->judge.best.x && !isnan(j->judge.best.score.valid_loss)) {
        c.best.score = j->judge.best.score;
        c.best.updates = j->judge.best.updates;
        c.best.x = j->judge.best.x;
    }
    c.model = mot_new(c.models, sizeof(*c.model));
    c.model[0] = at.params;
    for (mot_node i = 0; own && i < c.models; i++) {
        c.model[i].x = job->copy[i].x;
        for (uint32_t s = 0; s < l->slots; s++) c.model[i].slot[s] = job->copy[i].slot[s];
    }
    struct mot_bytes held = { 0 };
    if (l->rings && mot_rings_reservoir(l->rings)) mot_reservoir_pack(mot_rings_reservoir(l->rings), &held);
    c.held = held.at;
    c.held_bytes = held.n;
    enum mot_status status = mot_live_save(l->checkpoint, l, &c);
    mot_bytes_free(&held);
    free(c.model);
    free(c.word);
    free(c.rest);
    bool again = j->save_fails;
    j->save_fails = status != MOT_OK;
    if (status == MOT_OK) {
        j->cut = own ? c.updates : 0;
        return;
    }
    /* out of memory, the run will end: then nobody is told that it goes on */
    bool goes_on = !final && !again && !mot_memory_refused();
    if (goes_on && j->watch.trouble) j->watch.trouble(j->watch.self, mot_error());
    if (!j->save_error) j->save_error = mot_text(mot_error());
}
