/* advice.h -- advice in verdicts, shared by methods of a kind. */
#ifndef MOT_METHOD_ADVICE_H
#define MOT_METHOD_ADVICE_H

#include <motley/method.h>

/* Methods with a server. */
void mot_advise_served(const void *conf, const struct mot_situation *, char *into, size_t size);
/* Synchronous methods without one. */
void mot_advise_unserved(const void *conf, const struct mot_situation *, char *into, size_t size);
/* Methods in which workers go at their own pace, without a server. */
void mot_advise_own_pace(const void *conf, const struct mot_situation *, char *into, size_t size);
/* Those among them that sum over all workers. */
void mot_advise_summing(const void *conf, const struct mot_situation *, char *into, size_t size);

#endif
