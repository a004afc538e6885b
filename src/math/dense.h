/* dense.h -- the three products of a dense layer over panels (kernels.h), for the models made of layers.
 *
 *     output  [out][rows]  =  W [out][in]    . A by feature [in][rows]   + bias
 *     dA      [in][rows]   =  W' [in][out]   . D [out][rows]
 *     dW      [out][in]   +=  D [out][rows]  . A by row [rows][in]          */
#ifndef MOT_MATH_DENSE_H
#define MOT_MATH_DENSE_H

#include "math/kernels.h"

/* Weights times inputs first .. first + k - 1 of `in`, which are given by feature; later inputs add to the
 * result of earlier ones. */
static inline void mot_dense_forward(uint32_t out, uint32_t in, uint32_t rows, uint32_t first, uint32_t k,
    const float *w, const float *bias, const float *a, float *y)
{
    mot_kernels()->gemm(&(struct mot_gemm){
        .m = out,
        .n = mot_panels(rows) * MOT_PANEL,
        .k = k,
        .a = w + first,
        .a_row = in,
        .a_col = 1,
        .a_block = MOT_PANEL,
        .b = a,
        .b_panel = (size_t)k * MOT_PANEL,
        .c = y,
        .c_row = MOT_PANEL,
        .c_panel = (size_t)out * MOT_PANEL,
        .bias = first == 0 ? bias : NULL,
        .add = first > 0,
    });
}

/* add: dx += instead of dx = */
static inline void mot_dense_back(
    uint32_t out, uint32_t in, uint32_t rows, const float *w, const float *slope, bool add, float *dx)
{
    mot_kernels()->gemm(&(struct mot_gemm){
        .m = in,
        .n = mot_panels(rows) * MOT_PANEL,
        .k = out,
        .a = w,
        .a_row = 1,
        .a_col = in,
        .a_block = (size_t)in * MOT_PANEL,
        .b = slope,
        .b_panel = (size_t)out * MOT_PANEL,
        .c = dx,
        .c_row = MOT_PANEL,
        .c_panel = (size_t)in * MOT_PANEL,
        .add = add,
    });
}

/* The input is by row: in panels, or where the rows lie. fresh: g counts as zeros. */
static inline void mot_dense_weights(uint32_t out, uint32_t in, uint32_t rows, const float *slope,
    const float *by_row, const float *const *row, bool fresh, float *g)
{
    mot_kernels()->gemm(&(struct mot_gemm){
        .m = out,
        .n = in,
        .k = rows,
        .a = slope,
        .a_row = MOT_PANEL,
        .a_col = 1,
        .a_block = (size_t)out * MOT_PANEL,
        .b = by_row,
        .b_row = row,
        .b_panel = (size_t)rows * MOT_PANEL,
        .c = g,
        .c_row = in,
        .c_panel = MOT_PANEL,
        .add = true,
        .fresh = fresh,
    });
}

#endif
