/* segments.h -- the model cut into runs of parameters that travel by themselves.
 *
 * Segments are consecutive, cover the model, and none is empty. Cut at layers, a segment is a run of whole
 * tensors, and all have equally many, give or take one. */
#ifndef MOT_METHOD_SEGMENTS_H
#define MOT_METHOD_SEGMENTS_H

#include <motley/method.h>

enum mot_cut { MOT_CUT_LAYERS, MOT_CUT_EQUAL };
#define MOT_CUT_CHOICES "layers|equal"

struct mot_segments {
    enum mot_cut cut;
    uint32_t n;
};

/* `wanted`: how many; MOT_WORD_UINT: as many as the model has tensors. Fails with a message that begins with
 * the option's name if there are more than parameters, or than tensors where these are the places to cut. */
enum mot_status mot_segments_of(
    const struct mot_world *, enum mot_cut, uint64_t wanted, const char *option, struct mot_segments *out);
/* Segment s of a buffer. */
struct mot_slice mot_segment(const struct mot_world *, const struct mot_segments *, uint32_t s, mot_buf);

#endif
