/* plain.h -- numbers from text as the C locale spells them: the host program's may write 0.5 as 0,5. */
#ifndef MOT_BASE_PLAIN_H
#define MOT_BASE_PLAIN_H

double mot_plain_double(const char *text); /* as strtod and strtof; 0 if there is none */
float mot_plain_float(const char *text);

#endif
