/* kernels_body.h -- all kernels of one set. A file kernels_<set>.c
 * defines KERNELS_TABLE, KERNELS_NAME and includes this. */
#include "math/kernels.h"
#include "math/simd.h"
#include <motley/model.h>

#include "math/kernels_gemm.h"
#include "math/kernels_panels.h"
#include "math/kernels_narrow.h"
#include "math/kernels_vector.h"
#include "math/kernels_few.h"
#include "math/kernels_loss.h"
#include "math/kernels_similar.h"
#include "math/kernels_compress.h"

const struct mot_kernels KERNELS_TABLE = {
    .name = KERNELS_NAME,
    .gemm = gemm,
    .turn_rows = turn_rows,
    .narrow_forward = narrow_forward,
    .transpose = transpose,
    .row_sums = row_sums,
    .few_forward = few_forward,
    .few_back = few_back,
    .few_weights = few_weights,
    .few_sums = few_sums,
    .axpy = axpy,
    .sum = sum_of,
    .add = add_all,
    .blend = blend,
    .dot = dot,
    .norm2 = norm2,
    .finite = all_finite,
    .exp = exp_all,
    .log = log_all,
    .relu = relu,
    .relu_back = relu_back,
    .sparse_dot = sparse_dot,
    .sparse_axpy = sparse_axpy,
    .sparse_axpy_double = sparse_axpy_double,
    .rows_sum = rows_sum,
    .logistic = logistic,
    .softmax = softmax,
    .softmax_loss = softmax_loss,
    .gauss = gauss,
    .uncovered = uncovered,
    .cover = cover,
    .add_short = add_short,
    .herd = herd,
    .cosine = cosine,
    .to_bytes = to_bytes,
    .add_bytes = add_bytes,
    .above = places_above,
    .norm1 = norm1,
    .levels = levels,
    .signs = signs,
    .sgd = sgd,
    .momentum = momentum,
    .adamw = adamw,
};
