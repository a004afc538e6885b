/* serve.h -- the live view: a run or a study in a browser while it goes on, with figures for Prometheus.
 *
 * It listens to what a run publishes anyway, keeps the latest, and shows it from a thread of its own. The run
 * never waits for a visitor: the lock is held only while copying, which takes some microseconds, and a tick
 * that finds it taken is dropped. The view cannot influence the run. */
#ifndef MOT_SERVE_SERVE_H
#define MOT_SERVE_SERVE_H

#include "run/outcome.h"
#include "study/runner.h"

struct mot_serve;
/* `address` as in serve/address.h; `command` is what was typed. */
enum mot_status mot_serve_open(const char *address, bool anyone, const char *command, struct mot_serve **out);
const char *mot_serve_url(const struct mot_serve *);

/* A run begins. The experiment is read only during this call. */
void mot_serve_run(struct mot_serve *, const struct mot_experiment *, const char *driver, const char *title);
/* Listeners to the run, as in struct mot_job_ways; `serve` is a struct mot_serve. */
void mot_serve_evaluated(void *serve, const struct mot_moment *);
void mot_serve_tick(void *serve, const struct mot_moment *);
void mot_serve_worked(void *serve, mot_node worker, mot_time compute);

/* The listener to a study. */
const struct mot_study_listener *mot_serve_study(struct mot_serve *);

/* The command has ended, with this status and its results in `folder`; NULL: nowhere. */
void mot_serve_ended(struct mot_serve *, enum mot_status, const char *folder);
/* If somebody looked a moment ago, waits until they have seen the end: three seconds, or
 * longer if they look seldom. */
void mot_serve_close(struct mot_serve *);

#endif
