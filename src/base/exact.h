/* exact.h -- exp and log in double with only + - * / and bit operations, so that
 * every machine and libm version gives the same bits. Error under 2 ulp. */
#ifndef MOT_BASE_EXACT_H
#define MOT_BASE_EXACT_H

double mot_exp(double x);
double mot_log(double x); /* x > 0 */

#endif
