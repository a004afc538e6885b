/* cifar.c -- the binary files of CIFAR-10 and CIFAR-100: a record for each picture, its label (CIFAR-100: a
 * coarse and a fine one; the fine one counts), then 32 x 32 bytes of red, of green and of blue. */
#include "data/formats.h"

#define SIDE 32u
#define PIXELS (3 * SIDE * SIDE)

enum mot_status mot_read_cifar(
    struct mot_source *s, uint32_t classes, const struct mot_read_conf *conf, struct mot_raw *out)
{
    const size_t labels = classes == 100 ? 2 : 1;
    unsigned char record[2 + PIXELS];
    struct mot_raw raw = { .cols = PIXELS,
        .labelled = true,
        .picture = true,
        .geometry = { 3, SIDE, SIDE },
        .format = classes == 100 ? MOT_FORMAT_CIFAR100 : MOT_FORMAT_CIFAR10 };
    enum mot_status status = MOT_OK;
    while (status == MOT_OK && raw.rows < conf->rows) {
        uint64_t offset = mot_source_offset(s);
        size_t got;
        status = mot_source_read(s, record, labels + PIXELS, &got);
        if (status != MOT_OK || got == 0) break;
        unsigned char label = record[labels - 1];
        if (got < labels + PIXELS)
            status = mot_fail_at(s, offset + got,
                "the file ends inside picture %u, expected %zu bytes for each: truncated, or not CIFAR-%u",
                raw.rows, labels + PIXELS, classes);
        else if (label >= classes)
            status = mot_fail_at(s, offset + labels - 1,
                "label %u, expected 0 to %u: damaged, or not CIFAR-%u in its binary version", label,
                classes - 1, classes);
        else if (raw.rows == MOT_ROWS_MAX) status = mot_fail_at(s, offset, "more than %u rows", MOT_ROWS_MAX);
        if (status == MOT_OK)
            status = mot_raw_room(s, (void **)&raw.x, &raw.x_room, ((uint64_t)raw.rows + 1) * PIXELS,
                sizeof *raw.x, conf->memory);
        if (status == MOT_OK) status = mot_labels_add_number(&raw.labels, s, label, raw.rows);
        if (status != MOT_OK) break;
        float *x = raw.x + (size_t)raw.rows++ * PIXELS;
        for (uint32_t i = 0; i < PIXELS; i++) x[i] = (float)record[labels + i];
    }
    if (status == MOT_OK && raw.rows == 0) status = mot_fail_at(s, 0, "no pictures");
    if (status == MOT_OK) *out = raw;
    else mot_raw_free(&raw);
    return status;
}
