#include "differ.h"

#include "base/memory.h"
#include <string.h>

bool cli_differ_is_asked(const struct cli_args *args)
{
    size_t n = strlen(args->word[0]);
    if (n > 5 && strcmp(args->word[0] + n - 5, ".yaml") == 0) return true;
    for (size_t i = 0; i < args->settings; i++)
        if (strncmp(args->setting[i].key, "model", 5) == 0) return true;
    return false;
}

static struct mot_parts copy_of(const struct mot_parts *p)
{
    size_t rows = (size_t)p->at[p->parts];
    struct mot_parts copy = { .parts = p->parts };
    copy.at = mot_new((size_t)p->parts + 1, sizeof *copy.at);
    copy.row = mot_new(rows ? rows : 1, sizeof *copy.row);
    memcpy(copy.at, p->at, ((size_t)p->parts + 1) * sizeof *copy.at);
    memcpy(copy.row, p->row, rows * sizeof *copy.row);
    return copy;
}

enum mot_status cli_differ_measure(const struct mot_experiment *x, struct mot_dataset *data,
    const struct mot_parts *parts, unsigned threads, struct cli_differ *out)
{
    struct mot_job job;
    *out = (struct cli_differ){ .model = x->model->name };
    enum mot_status status = mot_job_open_with(x, data, copy_of(parts), &job);
    if (status != MOT_OK) return status;
    struct mot_look look = mot_look_at_all(&job.problem);
    out->known = job.net.kind->computes;
    out->is = mot_parts_differ(mot_job_differs(&job, &look, threads), mot_batch_share(x, parts));
    struct mot_parts_cut cut = { parts->parts, mot_batch_of_all(x), false };
    mot_parts_words(&out->is, &cut, false, out->words, sizeof out->words);
    mot_job_close(&job);
    return MOT_OK;
}

void cli_differ_print(const struct cli_differ *d)
{
    if (!d->known) return;
    printf("%-12s zeta^2 %.4g between parts, sigma^2 %.4g between a part's rows, %.4g between its batches "
           "(squared distances, at the initial %s)\n",
        "gradients", d->is.zeta2, d->is.sigma2, d->is.noise, d->model);
    if (*d->words) printf("%-12s %s\n", "so", d->words);
}

json_t *cli_differ_json(const struct cli_differ *d)
{
    if (!d->known) return json_null();
    json_t *all = mot_parts_json(&d->is);
    json_object_set_new(all, "model", json_string(d->model));
    json_object_set_new(all, "words", json_string(d->words));
    return all;
}
