/* kernels_loss.h -- losses over the rows of a slice; a part of kernels_body.h. */

/* Sixteen columns at a time, their sums in registers while the rows pass. */
INLINE void columns_sum(uint32_t rows, const double *d, const float *const *row, uint32_t j,
    const uint32_t cols, double sum[MOT_PANEL])
{
    vd lane[MOT_PANEL / DLANES] = { 0 };
    for (uint32_t r = 0; r < rows; r++) {
        float part[MOT_PANEL] = { 0 };
        const float *x = row[r] + j;
        if (cols < MOT_PANEL) x = memcpy(part, x, cols * sizeof *part);
        UNROLL for (uint32_t v = 0; v < MOT_PANEL / DLANES; v++) lane[v] =
            fma_d(all_d(d[r]), widen(x + v * DLANES), lane[v]);
    }
    memcpy(sum, lane, sizeof lane);
}

static void rows_sum(uint32_t rows, uint32_t cols, const double *d, const float *const *row, float *g)
{
    for (uint32_t j = 0; j < cols; j += MOT_PANEL) {
        double sum[MOT_PANEL];
        uint32_t left = cols - j < MOT_PANEL ? cols - j : MOT_PANEL;
        if (left == MOT_PANEL) columns_sum(rows, d, row, j, MOT_PANEL, sum);
        else columns_sum(rows, d, row, j, left, sum);
        for (uint32_t k = 0; k < left; k++) g[j + k] = (float)((double)g[j + k] + sum[k]);
    }
}

/* With the margin t = s z: log(1 + exp(-t)) = max(-t, 0) + log(1 + exp(-|t|)), and the slope in z is
 * -s / (1 + exp(t)). Only exp of numbers <= 0 is taken, so nothing overflows. */
static double logistic(uint32_t rows, const double *z, const float *y, double coef, double *d)
{
    double total = 0;
    for (uint32_t r = 0; r < rows; r += DLANES) {
        uint32_t left = rows - r < DLANES ? rows - r : DLANES;
        double at[DLANES] = { 0 }, side[DLANES] = { 0 }, loss[DLANES], slope[DLANES];
        for (uint32_t i = 0; i < left; i++) {
            at[i] = z[r + i];
            side[i] = y[r + i] > 0.5f ? 1.0 : -1.0;
        }
        vd s = load_d(side), t = s * load_d(at);
        vd e = exp_d(choose_d(t < 0.0, t, -t));
        store_d(loss, choose_d(t < 0.0, -t, (vd){ 0 }) + log1p_d(e));
        store_d(slope, -coef * s * (choose_d(t < 0.0, all_d(1.0), e) / (e + 1.0)));
        for (uint32_t i = 0; i < left; i++) total += loss[i];
        if (d) memcpy(d + r, slope, left * sizeof *d);
    }
    return total;
}

/* ---- Softmax: sixteen rows of the batch side by side, class after class ------ */

#define ROW_VECTORS ((int)MOT_PANEL / LANES)

/* z becomes exp(z - most); most is the largest of each row, sum the row's sum. Vectors beyond the `left`
 * rows stay as they are. */
INLINE void softmax_panel(
    uint32_t left, uint32_t classes, float *z, vf most[ROW_VECTORS], vf sum[ROW_VECTORS])
{
    UNROLL for (int v = 0; v < ROW_VECTORS; v++)
    {
        if ((uint32_t)v * LANES >= left) {
            most[v] = (vf){ 0 };
            sum[v] = all(1);
            continue;
        }
        vf top = load(z + v * LANES), total = { 0 };
        for (uint32_t c = 1; c < classes; c++) {
            vf at = load(z + (size_t)c * MOT_PANEL + v * LANES);
            top = choose(at > top, at, top);
        }
        for (uint32_t c = 0; c < classes; c++) {
            float *at = z + (size_t)c * MOT_PANEL + v * LANES;
            vf e = exp_f(load(at) - top);
            total += e;
            store(at, e);
        }
        most[v] = top;
        sum[v] = total;
    }
}

static void softmax(uint32_t rows, uint32_t classes, float *z)
{
    for (uint32_t p = 0; p < mot_panels(rows); p++, z += (size_t)classes * MOT_PANEL) {
        vf most[ROW_VECTORS], sum[ROW_VECTORS];
        softmax_panel(rows - p * MOT_PANEL, classes, z, most, sum);
        for (uint32_t c = 0; c < classes; c++) UNROLL for (int v = 0; v < ROW_VECTORS; v++)
            {
                float *at = z + (size_t)c * MOT_PANEL + v * LANES;
                store(at, load(at) / sum[v]);
            }
    }
}

/* Counts those of the `left` rows whose `own` number is the largest of all classes, with the label the first
 * class that has it. */
INLINE uint32_t first_greatest(
    uint32_t left, uint32_t classes, const float *z, const float label[MOT_PANEL], const float own[MOT_PANEL])
{
    static const float number[MOT_PANEL] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
    uint32_t found = 0;
    UNROLL for (int v = 0; v < ROW_VECTORS; v++)
    {
        vf mine = load(own + v * LANES), at = load(label + v * LANES);
        vi first = (load(number + v * LANES) < (float)left) & (mine == mine);
        for (uint32_t c = 0; c < classes; c++) {
            vf other = load(z + (size_t)c * MOT_PANEL + v * LANES);
            first &= (other < mine) | ((other == mine) & (at <= (float)c));
        }
        for (int lane = 0; lane < LANES; lane++) found += first[lane] != 0;
    }
    return found;
}

/* With p the probabilities and t = (1 - smoothing) onehot + smoothing / classes the target:
 * loss = -sum t log p = log sum exp(z - most) - sum t (z - most), slope = p - t. */
static double softmax_loss(
    uint32_t rows, uint32_t classes, float *z, const float *y, float coef, float smoothing, uint32_t *hits)
{
    double total = 0;
    const float even = smoothing / (float)classes;
    for (uint32_t p = 0; p < mot_panels(rows); p++, z += (size_t)classes * MOT_PANEL, y += MOT_PANEL) {
        uint32_t left = rows - p * MOT_PANEL < MOT_PANEL ? rows - p * MOT_PANEL : MOT_PANEL;
        float own[MOT_PANEL] = { 0 }, label[MOT_PANEL] = { 0 }, mean[MOT_PANEL] = { 0 };
        float top[MOT_PANEL], all_log[MOT_PANEL];
        for (uint32_t r = 0; r < left; r++) {
            label[r] = y[r];
            own[r] = z[(size_t)y[r] * MOT_PANEL + r];
        }
        if (hits) *hits += first_greatest(left, classes, z, label, own);
        if (smoothing > 0)
            for (uint32_t c = 0; c < classes; c++)
                for (uint32_t r = 0; r < MOT_PANEL; r++) mean[r] += z[(size_t)c * MOT_PANEL + r];

        vf most[ROW_VECTORS], sum[ROW_VECTORS];
        softmax_panel(left, classes, z, most, sum);
        UNROLL for (int v = 0; v < ROW_VECTORS; v++)
        {
            store(top + v * LANES, most[v]);
            store(all_log + v * LANES, log_f(sum[v]));
        }
        for (uint32_t r = 0; r < left; r++) {
            double at = (double)own[r] - (double)top[r], more = 0;
            if (smoothing > 0) more = (double)smoothing * (at - ((double)mean[r] / classes - (double)top[r]));
            total += (double)all_log[r] - at + more;
        }

        float weight[MOT_PANEL] = { 0 };
        for (uint32_t r = 0; r < left; r++) weight[r] = coef;
        for (uint32_t c = 0; c < classes; c++) UNROLL for (int v = 0; v < ROW_VECTORS; v++)
            {
                float *at = z + (size_t)c * MOT_PANEL + v * LANES;
                vf w = load(weight + v * LANES);
                if ((uint32_t)v * LANES >= left) store(at, (vf){ 0 });
                else store(at, choose(w == 0.0f, (vf){ 0 }, w * (load(at) / sum[v] - even)));
            }
        for (uint32_t r = 0; r < left; r++) z[(size_t)y[r] * MOT_PANEL + r] -= coef * (1.0f - smoothing);
    }
    return total;
}
