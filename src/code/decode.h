/* decode.h -- what the decoders share: each finds the weights of one set of answers. */
#ifndef MOT_CODE_DECODE_H
#define MOT_CODE_DECODE_H

#include <motley/code.h>

/* weight[workers] starts zeroed; `room` has as many doubles as the decoder's _room function says. */
size_t mot_optimal_room(const struct mot_code *);
void mot_decode_optimal(const struct mot_code *, const uint64_t *answered, double *weight, double *room);
size_t mot_component_room(const struct mot_code *);
void mot_decode_component(const struct mot_code *, const uint64_t *answered, double *weight, double *room);

uint32_t mot_answers(const struct mot_code *, const uint64_t *answered); /* how many there are */

#endif
