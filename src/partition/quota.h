/* quota.h -- how many rows of each class every worker gets. */
#ifndef MOT_PARTITION_QUOTA_H
#define MOT_PARTITION_QUOTA_H

#include "partition/partition.h"

/* Each worker's exact share of the rows: r_j / sum r; speed NULL: all equal. */
void mot_shares_of(uint32_t parts, const double *speed, double *share_out);

/* Whole quotas [classes][parts], malloc'd: every class is given away exactly; each quota, and
 * each worker's total, is its exact value rounded up or down; no worker is left empty. Only if workers are
 * so slow that the last two cannot both hold does a worker get its one row at the cost of
 * the others' shares. */
enum mot_status mot_quota_of(
    const struct mot_strata *, uint32_t parts, const double *speed, uint32_t **quota_out);

/* The block filled least, size / quota, among those that are not full; the first of equal ones. */
#define MOT_NOBODY UINT32_MAX
uint32_t mot_quota_least_filled(uint32_t blocks, const uint32_t *size, const uint32_t *quota);

#endif
