/* ref.c -- the plain twin of every kernel: what it computes, in as few lines as possible.
 *
 * Sums are taken in double and functions are libm's; the tests compare each kernel set with these. No run
 * uses them. */
#include "math/kernels.h"
#include <math.h>
#include <string.h>

/* Element (r, c) of an [rows][cols] matrix in panels. */
static size_t at(uint32_t rows, uint32_t r, uint32_t c)
{
    return ((size_t)(c / MOT_PANEL) * rows + r) * MOT_PANEL + c % MOT_PANEL;
}

static void gemm_ref(const struct mot_gemm *g)
{
    for (uint32_t i = 0; i < g->m; i++)
        for (uint32_t j = 0; j < g->n; j++) {
            double sum = g->bias ? (double)g->bias[i] : 0;
            for (uint32_t k = 0; k < g->k; k++)
                sum += (double)g->a[i * g->a_row + k / MOT_PANEL * g->a_block + k % MOT_PANEL * g->a_col] *
                    (double)(g->b ? g->b[j / MOT_PANEL * g->b_panel + (size_t)k * MOT_PANEL + j % MOT_PANEL]
                                  : g->b_row[k][j]);
            float *c = g->c + j / MOT_PANEL * g->c_panel + i * g->c_row + j % MOT_PANEL;
            *c = (float)(g->add && !g->fresh ? (double)*c + sum : sum);
        }
}

static void turn_rows_ref(uint32_t rows, const float *const *row, size_t first, uint32_t cols, float *out)
{
    for (uint32_t c = 0; c < cols; c++)
        for (uint32_t r = 0; r < mot_panels(rows) * MOT_PANEL; r++)
            out[at(cols, c, r)] = r < rows ? row[r][first + c] : 0;
}

static void transpose_ref(uint32_t rows, uint32_t cols, const float *in, float *out)
{
    for (uint32_t c = 0; c < cols; c++)
        for (uint32_t r = 0; r < mot_panels(rows) * MOT_PANEL; r++)
            out[at(cols, c, r)] = r < rows ? in[at(rows, r, c)] : 0;
}

static void row_sums_ref(uint32_t rows, uint32_t cols, const float *in, float *y)
{
    for (uint32_t r = 0; r < rows; r++) {
        double sum = 0;
        for (uint32_t c = 0; c < cols; c++) sum += (double)in[at(rows, r, c)];
        y[r] = (float)((double)y[r] + sum);
    }
}

/* d(r, o) of a few rows */
static double slope_of(const struct mot_few *f, uint32_t r, uint32_t o)
{
    return (double)f->d[o * f->d_out + r * f->d_row];
}

static void few_forward_ref(const struct mot_few *f)
{
    for (uint32_t r = 0; r < f->rows; r++)
        for (uint32_t o = 0; o < f->out; o++) {
            double sum = f->bias ? (double)f->bias[o] : 0;
            for (uint32_t i = 0; i < f->in; i++)
                sum += (double)f->w[(size_t)o * f->in + i] * (double)f->x[r][i];
            f->y[r * f->y_row + o] = (float)sum;
        }
}

static void narrow_forward_ref(const struct mot_few *f)
{
    for (uint32_t r = 0; r < f->rows; r++)
        for (uint32_t o = 0; o < f->out; o++) {
            struct mot_few one = *f;
            one.rows = one.out = 1;
            one.w += (size_t)o * f->in, one.x += r, one.y += at(f->out, o, r);
            if (f->bias) one.bias += o;
            few_forward_ref(&one);
        }
}

static void few_back_ref(const struct mot_few *f)
{
    for (uint32_t r = 0; r < f->rows; r++)
        for (uint32_t i = 0; i < f->in; i++) {
            double sum = 0;
            for (uint32_t o = 0; o < f->out; o++)
                sum += (double)f->w[(size_t)o * f->in + i] * slope_of(f, r, o);
            f->y[r * f->y_row + i] = (float)sum;
        }
}

static void few_weights_ref(const struct mot_few *f)
{
    for (uint32_t o = 0; o < f->out; o++)
        for (uint32_t i = 0; i < f->in; i++) {
            double sum = f->fresh ? 0 : (double)f->y[o * f->y_row + i];
            for (uint32_t r = 0; r < f->rows; r++) sum += slope_of(f, r, o) * (double)f->x[r][i];
            f->y[o * f->y_row + i] = (float)sum;
        }
}

static void few_sums_ref(const struct mot_few *f)
{
    for (uint32_t i = 0; i < f->in; i++) {
        double sum = (double)f->y[i];
        for (uint32_t r = 0; r < f->rows; r++) sum += (double)f->x[r][i];
        f->y[i] = (float)sum;
    }
}

static void axpy_ref(size_t n, float a, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)((double)y[i] + (double)a * (double)x[i]);
}

static void add_ref(size_t n, uint32_t terms, const float *const *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        float sum = x[0][i];
        for (uint32_t t = 1; t < terms; t++) sum += x[t][i];
        y[i] = sum;
    }
}

static void sum_ref(size_t n, uint32_t terms, const float *a, const float *const *x, float *y)
{
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (uint32_t t = 0; t < terms; t++) sum += (double)a[t] * (double)x[t][i];
        y[i] = (float)sum;
    }
}

static void blend_ref(
    size_t n, uint32_t terms, const double *a, const float *const *x, bool first, double *sum, float *y)
{
    for (size_t i = 0; i < n; i++) {
        double s = first ? 0 : sum[i];
        for (uint32_t t = 0; t < terms; t++) s += a[t] * (double)x[t][i];
        if (y) y[i] = (float)s;
        else sum[i] = s;
    }
}

static double dot_ref(size_t n, const float *x, const float *y)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum;
}

static double norm2_ref(size_t n, const float *x) { return dot_ref(n, x, x); }

static bool finite_ref(size_t n, const float *x)
{
    for (size_t i = 0; i < n; i++)
        if (!(x[i] - x[i] == 0)) return false;
    return true;
}

static void exp_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)exp((double)x[i]);
}

static void log_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)log((double)x[i]);
}

static void relu_ref(size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) x[i] = x[i] < 0 ? 0 : x[i];
}

static void relu_back_ref(size_t n, const float *h, float *d)
{
    for (size_t i = 0; i < n; i++) d[i] = h[i] <= 0 ? 0 : d[i];
}

static double sparse_dot_ref(size_t n, const uint32_t *col, const float *val, const float *w)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += (double)val[i] * (double)w[col[i]];
    return sum;
}

static void sparse_axpy_ref(size_t n, float a, const uint32_t *col, const float *val, float *y)
{
    for (size_t i = 0; i < n; i++) y[col[i]] += a * val[i];
}

static void sparse_axpy_double_ref(size_t n, double a, const uint32_t *col, const float *val, double *y)
{
    for (size_t i = 0; i < n; i++) y[col[i]] += a * (double)val[i];
}

static void rows_sum_ref(uint32_t rows, uint32_t cols, const double *d, const float *const *row, float *g)
{
    for (uint32_t c = 0; c < cols; c++) {
        double sum = 0;
        for (uint32_t r = 0; r < rows; r++) sum += d[r] * (double)row[r][c];
        g[c] = (float)((double)g[c] + sum);
    }
}

static double logistic_ref(uint32_t rows, const double *z, const float *y, double coef, double *d)
{
    double total = 0;
    for (uint32_t r = 0; r < rows; r++) {
        double s = y[r] > 0.5f ? 1 : -1, t = s * z[r];
        total += (t < 0 ? -t : 0) + log1p(exp(-fabs(t)));
        if (d) d[r] = -coef * s * (t < 0 ? 1 : exp(-t)) / (1 + exp(-fabs(t)));
    }
    return total;
}

/* log sum exp over the classes of row r, and the largest. */
static double log_sum(uint32_t r, uint32_t classes, const float *z, double *most)
{
    double sum = 0;
    *most = (double)z[at(classes, 0, r)];
    for (uint32_t c = 1; c < classes; c++) *most = fmax(*most, (double)z[at(classes, c, r)]);
    for (uint32_t c = 0; c < classes; c++) sum += exp((double)z[at(classes, c, r)] - *most);
    return *most + log(sum);
}

static void softmax_ref(uint32_t rows, uint32_t classes, float *z)
{
    for (uint32_t r = 0; r < rows; r++) {
        double most, log_all = log_sum(r, classes, z, &most);
        for (uint32_t c = 0; c < classes; c++)
            z[at(classes, c, r)] = (float)exp((double)z[at(classes, c, r)] - log_all);
    }
}

static double softmax_loss_ref(
    uint32_t rows, uint32_t classes, float *z, const float *y, float coef, float smoothing, uint32_t *hits)
{
    double total = 0;
    for (uint32_t r = 0; r < mot_panels(rows) * MOT_PANEL; r++) {
        if (r >= rows) {
            for (uint32_t c = 0; c < classes; c++) z[at(classes, c, r)] = 0;
            continue;
        }
        double most, log_all = log_sum(r, classes, z, &most);
        uint32_t label = (uint32_t)y[r], first = 0;
        while ((double)z[at(classes, first, r)] < most) first++;
        if (hits) *hits += first == label;
        for (uint32_t c = 0; c < classes; c++) {
            float *own = &z[at(classes, c, r)];
            double target = (c == label ? 1 - (double)smoothing : 0) + (double)smoothing / classes;
            total += target * (log_all - (double)*own);
            *own = (float)((double)coef * (exp((double)*own - log_all) - target));
        }
    }
    return total;
}

static bool sgd_ref(size_t n, const struct mot_sgd *s, const float *g, const float *x, float *x_out)
{
    for (size_t i = 0; i < n; i++)
        x_out[i] = (float)((double)x[i] -
            (double)s->lr * ((double)s->grad * (double)g[i] + (double)s->decay * (double)x[i]));
    return finite_ref(n, g);
}

static void momentum_ref(size_t n, const struct mot_sgd *s, const float *g, const float *x, float *x_out,
    const float *v, float *v_out)
{
    for (size_t i = 0; i < n; i++) {
        double step = (double)s->grad * (double)g[i] + (double)s->decay * (double)x[i];
        double speed = (double)s->momentum * (double)v[i] + step;
        x_out[i] = (float)((double)x[i] -
            (double)s->lr * (s->nesterov ? step + (double)s->momentum * speed : speed));
        v_out[i] = (float)speed;
    }
}

static void adamw_ref(size_t n, const struct mot_adamw *s, const float *g, const float *x, float *x_out,
    const float *m, float *m_out, const float *v, float *v_out)
{
    for (size_t i = 0; i < n; i++) {
        double slope = (double)s->grad * (double)g[i];
        double mean = (double)s->beta1 * (double)m[i] + (double)s->new1 * slope;
        double square = (double)s->beta2 * (double)v[i] + (double)s->new2 * slope * slope;
        x_out[i] = (float)((double)x[i] - (double)s->decay * (double)x[i] -
            (double)s->rate * mean / ((double)s->root * sqrt(square) + (double)s->epsilon));
        m_out[i] = (float)mean;
        v_out[i] = (float)square;
    }
}

static void gauss_ref(uint32_t rows, uint32_t panels, const float *dot, const float *a2, const float *b2,
    float gamma, uint16_t *out, size_t out_row)
{
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t j = 0; j < panels * MOT_PANEL; j++) {
            double at = (double)dot[((size_t)(j / MOT_PANEL) * rows + i) * MOT_PANEL + j % MOT_PANEL];
            double square = (double)a2[i] + (double)b2[j] - 2 * at;
            out[i * out_row + j] = (uint16_t)(exp(-(double)gamma * (square > 0 ? square : 0)) * 65535 + 0.5);
        }
}

static uint64_t uncovered_ref(size_t n, const uint16_t *s, const uint16_t *cover)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        if (s[i] > cover[i]) sum += (uint64_t)(s[i] - cover[i]);
    return sum;
}

static void cover_ref(size_t n, const uint16_t *s, uint16_t *cover)
{
    for (size_t i = 0; i < n; i++)
        if (s[i] > cover[i]) cover[i] = s[i];
}

static void add_short_ref(size_t n, const uint16_t *s, uint64_t *sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += s[i];
}

static size_t herd_ref(size_t n, double next, const double *mean, const uint16_t *s, double *lead)
{
    size_t best = 0;
    for (size_t i = 0; i < n; i++) {
        if (s) lead[i] -= s[i];
        if (next * mean[i] + lead[i] > next * mean[best] + lead[best]) best = i;
    }
    return best;
}

static void to_bytes_ref(size_t n, const float *x, int8_t *y)
{
    for (size_t i = 0; i < n; i++) y[i] = (int8_t)rintf(x[i] * 127.0f);
}

static void add_bytes_ref(size_t n, const int8_t *x, int32_t *sum)
{
    for (size_t i = 0; i < n; i++) sum[i] += x[i];
}

static void cosine_ref(size_t n, const float *x, float *y)
{
    for (size_t i = 0; i < n; i++) y[i] = (float)cos((double)x[i]);
}

/* ---- Compressors ---------------------------------------------------------------------- */

static size_t above_ref(
    size_t n, const float *x, uint32_t least, uint32_t first, uint32_t *index, uint32_t *bits)
{
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t one;
        memcpy(&one, &x[i], sizeof one);
        if ((one & 0x7fffffff) < least) continue;
        index[found] = first + (uint32_t)i;
        bits[found++] = one;
    }
    return found;
}

static double norm1_ref(size_t n, const float *x)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += fabs((double)x[i]);
    return sum;
}

static uint32_t mixed_ref(uint32_t h)
{
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return h ^ h >> 16;
}

static void levels_ref(size_t n, const float *x, float steps, int32_t most, uint64_t key, int8_t *level)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t draw = mixed_ref(((uint32_t)key + (uint32_t)i) ^ (uint32_t)(key >> 32)) >> 8;
        int32_t l = (int32_t)(fabsf(x[i]) * steps + (float)draw * 0x1p-24f);
        if (l > most) l = most;
        level[i] = (int8_t)(signbit(x[i]) ? -l : l);
    }
}

static void signs_ref(size_t n, const float *x, unsigned char *bit)
{
    memset(bit, 0, (n + 7) / 8);
    for (size_t i = 0; i < n; i++) bit[i / 8] |= (unsigned char)((signbit(x[i]) != 0) << i % 8);
}

const struct mot_kernels mot_kernels_ref = {
    .name = "ref",
    .gemm = gemm_ref,
    .turn_rows = turn_rows_ref,
    .narrow_forward = narrow_forward_ref,
    .transpose = transpose_ref,
    .row_sums = row_sums_ref,
    .few_forward = few_forward_ref,
    .few_back = few_back_ref,
    .few_weights = few_weights_ref,
    .few_sums = few_sums_ref,
    .axpy = axpy_ref,
    .sum = sum_ref,
    .add = add_ref,
    .blend = blend_ref,
    .dot = dot_ref,
    .norm2 = norm2_ref,
    .finite = finite_ref,
    .exp = exp_ref,
    .log = log_ref,
    .relu = relu_ref,
    .relu_back = relu_back_ref,
    .sparse_dot = sparse_dot_ref,
    .sparse_axpy = sparse_axpy_ref,
    .sparse_axpy_double = sparse_axpy_double_ref,
    .rows_sum = rows_sum_ref,
    .logistic = logistic_ref,
    .softmax = softmax_ref,
    .softmax_loss = softmax_loss_ref,
    .gauss = gauss_ref,
    .uncovered = uncovered_ref,
    .cover = cover_ref,
    .add_short = add_short_ref,
    .herd = herd_ref,
    .cosine = cosine_ref,
    .to_bytes = to_bytes_ref,
    .add_bytes = add_bytes_ref,
    .above = above_ref,
    .norm1 = norm1_ref,
    .levels = levels_ref,
    .signs = signs_ref,
    .sgd = sgd_ref,
    .momentum = momentum_ref,
    .adamw = adamw_ref,
};
