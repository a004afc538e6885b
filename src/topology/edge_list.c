/* edge_list.c -- parses graphs and mixing matrices that a user provides as text. */
#include "base/memory.h"
#include "base/words.h"
#include "topology/topology.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 64u /* characters */
#define EDGES_MAX 50000000u

/* Where in the text reading goes on. */
struct cursor {
    const char *name, *at;
    uint32_t line;
};

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* Skips blanks, comments, `marks` and, if `lines`, line ends. */
static void skip(struct cursor *c, const char *marks, bool lines)
{
    for (;; c->at++) {
        while (*c->at == '#')
            while (*c->at && *c->at != '\n') c->at++;
        bool end = *c->at == '\n';
        if (!*c->at || (!is_space(*c->at) && !strchr(marks, *c->at) && !(end && lines))) return;
        c->line += end;
    }
}

/* The word at the cursor, made short and printable for a message. */
static const char *found(const struct cursor *c, char *into, size_t size)
{
    size_t n = 0;
    while (n + 1 < size && c->at[n] && !is_space(c->at[n]) && c->at[n] != '\n') {
        into[n] = c->at[n] > ' ' && c->at[n] < 127 ? c->at[n] : '?';
        n++;
    }
    into[n] = '\0';
    return n ? into : *c->at ? "the end of the line" : "the end";
}

/* ---- Edges ---------------------------------------------------------------------------- */

static enum mot_status read_end(struct cursor *c, uint32_t nodes, uint32_t *out)
{
    char shown[32];
    uint64_t value = 0;
    size_t n = 0;
    while (n < 12 && isdigit((unsigned char)c->at[n])) value = 10 * value + (uint64_t)(c->at[n++] - '0');
    if (n == 0 || n == 12)
        return mot_fail(MOT_EUSAGE, "%s:%u: expected the number of a worker; found %s", c->name, c->line,
            found(c, shown, sizeof(shown)));
    if (value >= nodes)
        return mot_fail(MOT_EUSAGE, "%s:%u: unknown worker %llu: there are %u, numbered from 0", c->name,
            c->line, (unsigned long long)value, nodes);
    c->at += n;
    *out = (uint32_t)value;
    return MOT_OK;
}

static enum mot_status read_edge(struct cursor *c, uint32_t nodes, struct mot_edge *out)
{
    char shown[32];
    enum mot_status status = read_end(c, nodes, &out->a);
    if (status != MOT_OK) return status;
    const char *before = c->at;
    skip(c, ",-", false);
    if (c->at == before)
        return mot_fail(MOT_EUSAGE, "%s:%u: expected an edge such as 0-1; found %s after the first worker",
            c->name, c->line, found(c, shown, sizeof(shown)));
    status = read_end(c, nodes, &out->b);
    if (status == MOT_OK && out->a == out->b)
        return mot_fail(MOT_EUSAGE, "%s:%u: worker %u is linked to itself", c->name, c->line, out->a);
    return status;
}

enum mot_status mot_edges_parse(
    const char *name, const char *text, uint32_t nodes, struct mot_edge **edge_out, uint32_t *edges_out)
{
    struct cursor c = { name, text, 1 };
    struct mot_edge *edge = NULL;
    uint32_t n = 0, room = 0;
    enum mot_status status = MOT_OK;
    for (skip(&c, "", true); *c.at && status == MOT_OK; skip(&c, ",;", true)) {
        if (n == EDGES_MAX) {
            status = mot_fail(MOT_EUSAGE, "%s:%u: more than %u edges", name, c.line, EDGES_MAX);
            break;
        }
        if (n == room) {
            struct mot_edge *more = mot_grow_large(edge, room = room ? 2 * room : 64, sizeof(*edge));
            if (!more) {
                status = mot_memory_status();
                break;
            }
            edge = more;
        }
        status = read_edge(&c, nodes, &edge[n++]);
        if (status == MOT_OK && *c.at && !is_space(*c.at) && !strchr(",;#\n", *c.at)) {
            char shown[32];
            status = mot_fail(MOT_EUSAGE, "%s:%u: expected a comma or a new line after an edge; found %s",
                name, c.line, found(&c, shown, sizeof(shown)));
        }
    }
    if (status == MOT_OK && n == 0 && nodes > 1)
        status = mot_fail(MOT_EUSAGE, "%s: no edges; expected lines such as '0 1'", name);
    if (status != MOT_OK) {
        free(edge);
        return status;
    }
    *edge_out = edge;
    *edges_out = n;
    return MOT_OK;
}

/* ---- Matrices --------------------------------------------------------------------------- */

static enum mot_status read_weight(struct cursor *c, double *out)
{
    char word[NUMBER_MAX], shown[32];
    size_t n = 0;
    while (n + 1 < sizeof(word) && c->at[n] && !is_space(c->at[n]) && !strchr(",\n#", c->at[n])) {
        word[n] = c->at[n];
        n++;
    }
    word[n] = '\0';
    if (n == 0 || !mot_read_real(word, out) || !isfinite(*out))
        return mot_fail(MOT_EUSAGE, "%s:%u: expected a number; found %s", c->name, c->line,
            found(c, shown, sizeof(shown)));
    c->at += n;
    return MOT_OK;
}

static enum mot_status read_row(struct cursor *c, uint32_t nodes, uint32_t row, double *w)
{
    for (uint32_t k = 0; k < nodes; k++) {
        enum mot_status status = MOT_OK;
        skip(c, k ? "," : "", k == 0);
        if (!*c->at && k == 0)
            return mot_fail(
                MOT_EUSAGE, "%s: %u rows; expected one for each of the %u workers", c->name, row, nodes);
        if (!*c->at || *c->at == '\n')
            return mot_fail(MOT_EUSAGE, "%s:%u: %u numbers; expected one for each of the %u workers", c->name,
                c->line, k, nodes);
        if ((status = read_weight(c, &w[k])) != MOT_OK) return status;
    }
    skip(c, "", false);
    if (*c->at && *c->at != '\n')
        return mot_fail(MOT_EUSAGE, "%s:%u: more than %u numbers; expected one for each of the %u workers",
            c->name, c->line, nodes, nodes);
    return MOT_OK;
}

enum mot_status mot_matrix_parse(const char *name, const char *text, uint32_t nodes, double **w_out)
{
    struct cursor c = { name, text, 1 };
    double *w = mot_new_large((size_t)nodes * nodes, sizeof(*w));
    if (!w) return mot_memory_status();
    enum mot_status status = MOT_OK;
    for (uint32_t i = 0; i < nodes && status == MOT_OK; i++)
        status = read_row(&c, nodes, i, w + (size_t)i * nodes);
    skip(&c, "", true);
    if (status == MOT_OK && *c.at)
        status = mot_fail(
            MOT_EUSAGE, "%s:%u: more than %u rows; expected one for each worker", name, c.line, nodes);
    if (status != MOT_OK) {
        free(w);
        return status;
    }
    *w_out = w;
    return MOT_OK;
}

#define DIGITS 1e-6 /* tolerance for numbers rounded in the file */

enum mot_status mot_matrix_settle(const char *name, uint32_t nodes, double *w)
{
    for (uint32_t i = 0; i < nodes; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < nodes; k++) {
            double *here = &w[(size_t)i * nodes + k], *there = &w[(size_t)k * nodes + i];
            sum += *here;
            if (fabs(*here - *there) > DIGITS)
                return mot_fail(MOT_EUSAGE, "%s: not symmetric: %g from worker %u to %u and %g back", name,
                    *here, i, k, *there);
            if (k > i) *here = *there = (*here + *there) / 2;
        }
        if (fabs(sum - 1) > DIGITS)
            return mot_fail(MOT_EUSAGE,
                "%s: the weights of worker %u add up to %.9g; expected 1, so that averaging keeps the mean",
                name, i, sum);
    }
    for (uint32_t i = 0; i < nodes; i++) {
        double others = 0;
        for (uint32_t k = 0; k < nodes; k++)
            if (k != i) others += w[(size_t)i * nodes + k];
        w[(size_t)i * nodes + i] = 1 - others;
    }
    return MOT_OK;
}
