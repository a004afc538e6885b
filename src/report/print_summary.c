/* print_summary.c -- a run's result for people. */
#include "report/report.h"

#include "base/shown.h"
#include "base/words.h"
#include "report/tally.h"
#include "report/verdict.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define COLUMNS 80
#define TABLE_MOST 16 /* workers listed one by one; beyond that only the extremes */

struct page {
    FILE *out;
    bool colour;
};

static const char *shade(const struct page *p, const char *code) { return p->colour ? code : ""; }
#define BOLD "\x1b[1m"
#define DIM "\x1b[2m"
#define RED "\x1b[31m"
#define GREEN "\x1b[32m"
#define PLAIN "\x1b[0m"

static void row(const struct page *p, const char *key)
{
    fprintf(p->out, "  %s%-10s%s ", shade(p, DIM), key, shade(p, PLAIN));
}

/* "0.3512", "88.40 %" or a dash. */
static const char *figure(double value, bool share, char into[32])
{
    if (!isfinite(value)) snprintf(into, 32, "-");
    else if (share) snprintf(into, 32, "%.2f %%", 100 * value);
    else snprintf(into, 32, "%.5g", value);
    return into;
}

static const char *counted(uint64_t n, char into[32]) { return mot_show_count((double)n, into, 32); }

static void print_part(const struct page *p, const char *name, double loss, double accuracy)
{
    char one[32], two[32];
    if (!isfinite(loss) && !isfinite(accuracy)) return;
    row(p, name);
    fprintf(p->out, "loss %s", figure(loss, false, one));
    if (isfinite(accuracy))
        fprintf(p->out, ", accuracy %s%s%s", shade(p, BOLD), figure(accuracy, true, two), shade(p, PLAIN));
    fputc('\n', p->out);
}

static void print_target(const struct page *p, const struct mot_experiment *e, const struct mot_outcome *o)
{
    if (e->stop.target == MOT_TARGET_NONE) return;
    char time[48];
    row(p, "target");
    char words[64];
    fprintf(
        p->out, "%s: ", mot_show_target(mot_target_name(e->stop.target), e->stop.value, words, sizeof words));
    if (o->target.reached)
        fprintf(p->out, "%sreached%s at %s, after %s\n", shade(p, GREEN), shade(p, PLAIN),
            mot_show_time(o->target.at, time, sizeof time), mot_updates_text(o->target.updates).text);
    else fprintf(p->out, "%snot reached%s\n", shade(p, RED), shade(p, PLAIN));
}

static double share_of(mot_time part, mot_time whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void print_node(
    const struct page *p, const struct mot_experiment *e, const struct mot_outcome *o, mot_node i)
{
    const struct mot_node_tally *t = &o->node[i];
    char label[64], job[48], size[48], count[32];
    mot_time whole = t->compute + t->wait + t->send;
    mot_node_label(e, o, i, label, sizeof label);
    fprintf(p->out, "  %-20.20s %7.1f %7.1f %7.1f %10s %11s %10s\n", label, share_of(t->compute, whole),
        share_of(t->wait, whole), share_of(t->send, whole),
        t->jobs ? mot_show_time((mot_time)(1e9 * mot_job_seconds(e, o, i) + 0.5), job, sizeof job) : "-",
        counted(t->updates, count), mot_show_size((double)t->bytes_sent, size, sizeof size));
}

/* Of many workers, the ones with the longest jobs, the shortest jobs and the longest wait. */
static void print_extremes(const struct page *p, const struct mot_experiment *e, const struct mot_outcome *o)
{
    mot_node slow = 0, fast = 0, idle = 0;
    for (mot_node i = 1; i < o->workers; i++) {
        if (mot_job_seconds(e, o, i) > mot_job_seconds(e, o, slow) || isnan(mot_job_seconds(e, o, slow)))
            slow = i;
        if (mot_job_seconds(e, o, i) < mot_job_seconds(e, o, fast) || isnan(mot_job_seconds(e, o, fast)))
            fast = i;
        if (o->node[i].wait > o->node[idle].wait) idle = i;
    }
    fprintf(p->out, "  of %u workers, those with the longest jobs, the shortest and the longest wait:\n",
        o->workers);
    print_node(p, e, o, slow);
    print_node(p, e, o, fast);
    print_node(p, e, o, idle);
}

static void print_table(const struct page *p, const struct mot_experiment *e, const struct mot_outcome *o)
{
    if (!o->node || o->workers == 0) return;
    fprintf(p->out, "\n  %s%-20s %7s %7s %7s %10s %11s %10s%s\n", shade(p, DIM), "time in %", "compute",
        "wait", "send", "a job", "updates", "sent", shade(p, PLAIN));
    if (o->workers <= TABLE_MOST)
        for (mot_node i = 0; i < o->workers; i++) print_node(p, e, o, i);
    else print_extremes(p, e, o);
    for (mot_node i = o->workers; i < o->workers + o->servers && i < o->workers + 4; i++)
        print_node(p, e, o, i);
}

/* Whether the blank at text[n] lies between a number and its unit: "90 %", "55.7 ms", "10 Gbit/s". */
static bool is_in_figure(const char *text, size_t n)
{
    static const char *const units[] = { "%", "s", "ms", "us", "ns", "min", "h", "B", "kB", "MB", "GB", "TB",
        "kbit/s", "Mbit/s", "Gbit/s", "samples/s" };
    if (n == 0 || text[n - 1] < '0' || text[n - 1] > '9') return false;
    size_t length = strcspn(text + n + 1, " ,.;:)");
    for (size_t i = 0; i < MOT_COUNT(units); i++)
        if (strlen(units[i]) == length && strncmp(text + n + 1, units[i], length) == 0) return true;
    return false;
}

void mot_print_wrapped(const char *text, const char *lead, FILE *out)
{
    int at = 0;
    while (*text) {
        size_t n = 0;
        bool quoted = false;
        while (text[n] && (text[n] != ' ' || quoted || is_in_figure(text, n))) {
            if (text[n] == '`') quoted = !quoted;
            n++;
        }
        if (n > COLUMNS - strlen(lead)) n = strcspn(text, " ");
        if (at && at + 1 + (int)n > COLUMNS) {
            fputc('\n', out);
            at = 0;
        }
        at += fprintf(out, "%s", at ? " " : lead);
        at += (int)fwrite(text, 1, n, out);
        text += n;
        while (*text == ' ') text++;
    }
    fputc('\n', out);
}

/* How much was compressed, and how far. */
static void print_compressed(const struct page *p, const struct mot_outcome *o)
{
    const struct mot_note_tally *compressed = mot_note_find(o, "compressed"),
                                *share = mot_note_find(o, "packed_share");
    if (!compressed || !share || compressed->count == 0) return;
    row(p, "compress");
    fprintf(p->out, "%.3g %% of the sends, in %.3g %% of the bytes that floats take\n",
        100 * compressed->sum / (double)compressed->count, 100 * share->sum / (double)share->count);
}

/* How it ended, in a word or two: "learned nothing" takes precedence over "done". */
static const char *end_of(const struct mot_experiment *e, const struct mot_outcome *o)
{
    if (o->status != MOT_OK) return mot_status_name(o->status);
    return mot_learned(e, o) == MOT_LEARNED_NOTHING ? "learned nothing" : "done";
}

static void print_head(const struct page *p, const struct mot_experiment *e, const struct mot_outcome *o)
{
    const struct mot_moment *last = &o->last;
    bool good = o->status == MOT_OK, nothing = good && mot_learned(e, o) == MOT_LEARNED_NOTHING;
    char time[48], size[48], count[32], other[32];
    fprintf(p->out, "%s%s%s on %u worker%s: %s%s%s", shade(p, BOLD), e->method ? e->method->name : "run",
        shade(p, PLAIN), o->workers, o->workers == 1 ? "" : "s", shade(p, good && !nothing ? GREEN : RED),
        end_of(e, o), shade(p, PLAIN));
    if (good && o->ended_by) fprintf(p->out, " (ended by %s)", o->ended_by);
    fputc('\n', p->out);
    row(p, "time");
    fprintf(p->out, "%s%s%s on the run's clock", shade(p, BOLD), mot_show_time(last->now, time, sizeof time),
        shade(p, PLAIN));
    const char *per = mot_priced_per(e, o);
    if (per)
        fprintf(p->out, " (%s)",
            strcmp(per, "samples") == 0   ? "jobs priced by samples"
                : strcmp(per, "job") == 0 ? "jobs priced alike, whatever their samples"
                                          : "some jobs priced by samples");
    if (isfinite(o->wall_s)) fprintf(p->out, ", %.2f s of real time", o->wall_s);
    fputc('\n', p->out);
    row(p, "work");
    fprintf(p->out, "%s, %s samples", mot_updates_text(last->updates).text, counted(last->samples, other));
    if (isfinite(last->epochs) && !last->streams) fprintf(p->out, ", %.2f epochs", last->epochs);
    if (last->computed) fprintf(p->out, "; %s samples computed", counted(last->computed, count));
    fputc('\n', p->out);
    row(p, "network");
    fprintf(p->out, "%s in %s messages", mot_show_size((double)last->bytes_sent, size, sizeof size),
        counted(last->messages, count));
    if (last->rows_bytes)
        fprintf(
            p->out, ", %s of it rows of data", mot_show_size((double)last->rows_bytes, size, sizeof size));
    fputc('\n', p->out);
    print_compressed(p, o);
}

/* What mixing did to the workers' own models. */
static void print_mixed(const struct page *p, const struct mot_outcome *o)
{
    const struct mot_mixed *m = &o->last.mixed;
    const struct mot_note_tally *behind = mot_note_find(o, "rounds_behind"),
                                *dropped = mot_note_find(o, "dropped_segments");
    if (isfinite(m->consensus)) {
        row(p, "models");
        fprintf(p->out, "mean squared distance from their mean %.3g", m->consensus);
        fputc('\n', p->out);
        if (isfinite(m->drift) || isfinite(m->mass)) row(p, "");
        if (isfinite(m->drift)) fprintf(p->out, "mixing moved that mean by %.2g %%", 100 * m->drift);
        if (isfinite(m->mass))
            fprintf(p->out, "%spush-sum mass %.6g", isfinite(m->drift) ? "; " : "", m->mass);
        if (isfinite(m->drift) || isfinite(m->mass)) fputc('\n', p->out);
    }
    if (behind && behind->count) {
        row(p, "rounds");
        fprintf(p->out, "what was mixed in was %.2f rounds off on average, at most %.0f\n",
            behind->sum / (double)behind->count, behind->max);
    }
    if (dropped && dropped->count) {
        row(p, "dropped");
        fprintf(p->out, "%.0f segment%s outside the window\n", dropped->sum, dropped->sum == 1 ? "" : "s");
    }
}

static void print_stream(const struct page *p, const struct mot_outcome *o)
{
    if (!o->last.streams) return;
    struct mot_feed_tally all = mot_streams_of(o);
    char time[48];
    row(p, "stream");
    char number[5][32];
    fprintf(p->out, "%s samples arrived: %s used, %s dropped, %s waiting\n", counted(all.arrived, number[0]),
        counted(all.used, number[1]), counted(all.dropped, number[2]), counted(all.waiting, number[3]));
    row(p, "");
    if (o->from_source) fprintf(p->out, "%s malformed; ", counted(all.malformed, number[4]));
    if (o->held.judges) fprintf(p->out, "%s held out, ", counted(all.held, number[0]));
    if (o->held.judges && o->held.rows)
        fprintf(p->out, "%s of which are the test rows; ", counted(o->held.rows, number[1]));
    else if (o->held.judges) fputs("too few to evaluate with; ", p->out);
    fprintf(p->out, "the oldest waited %s\n", mot_show_time(all.oldest, time, sizeof time));
    if (all.missing || all.repeated) {
        row(p, "");
        fprintf(p->out, "by their numbers %s records never came, and %s came again\n",
            counted(all.missing, number[0]), counted(all.repeated, number[1]));
    }
    if (!o->trouble) return;
    row(p, "");
    fprintf(p->out, "worker %u's source stalled: %s\n", o->troubled, o->trouble);
}

void mot_summary_print(const struct mot_experiment *e, const struct mot_outcome *o, FILE *out, bool colour)
{
    const struct page page = { out, colour }, *p = &page;
    const struct mot_score *s = &o->last.score;
    char text[32];
    print_head(p, e, o);
    print_part(p, "train", s->train_loss, s->train_accuracy);
    print_part(p, "validation", s->valid_loss, s->valid_accuracy);
    print_part(p, "test", s->test_loss, s->test_accuracy);
    if (isfinite(s->grad_norm)) {
        row(p, "gradient");
        fprintf(out, "norm %s\n", figure(s->grad_norm, false, text));
    }
    const struct mot_note_tally *stale = mot_note_find(o, "staleness");
    if (stale && stale->count) {
        row(p, "staleness");
        fprintf(out, "mean %.2f, at most %.0f updates\n", stale->sum / (double)stale->count, stale->max);
    }
    print_mixed(p, o);
    print_stream(p, o);
    if (e->traits.codes && o->last.updates) {
        row(p, "code");
        mot_print_code(e, o, out);
    }
    if (mot_note_find(o, "shuffles")) {
        row(p, "shuffles");
        mot_print_shuffles(o, out);
    }
    print_target(p, e, o);
    row(p, "model");
    fprintf(out, "%016" PRIx64 "\n", o->model_hash);
    print_table(p, e, o);
    char *verdict = mot_verdict(e, o);
    fputc('\n', out);
    mot_print_wrapped(verdict, "  ", out);
    free(verdict);
    if (!e->output) return;
    fprintf(out, "\n  %sfolder%s     ", shade(p, DIM), shade(p, PLAIN));
    mot_put_shown(e->output, out);
    fputc('\n', out);
}

void mot_summary_line(const struct mot_experiment *e, const struct mot_outcome *o, FILE *out)
{
    const struct mot_score *s = &o->last.score;
    char text[32];
    fprintf(out, "%s: %s after %s", e->method->name, end_of(e, o), mot_updates_text(o->last.updates).text);
    if (isfinite(s->test_accuracy)) fprintf(out, ", test accuracy %s", figure(s->test_accuracy, true, text));
    else if (isfinite(s->test_loss)) fprintf(out, ", test loss %s", figure(s->test_loss, false, text));
    else if (isfinite(s->train_loss)) fprintf(out, ", train loss %s", figure(s->train_loss, false, text));
    if (o->model_lost) fputs(", model lost\n", out);
    else fprintf(out, ", model %016" PRIx64 "\n", o->model_hash);
}
