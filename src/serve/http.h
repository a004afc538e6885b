/* http.h -- a small web server in a thread of its own: it shows, and takes nothing.
 *
 * GET and HEAD, a few paths, nothing read from the disk by name and nothing of a request repeated. Everything
 * is bounded: connections, what one may send, how long it may be silent. The thread steps back for those of
 * the run. */
#ifndef MOT_SERVE_HTTP_H
#define MOT_SERVE_HTTP_H

#include "serve/address.h"

/* What is sent: shared by all who ask for it meanwhile, freed when the last has it. */
struct mot_body {
    size_t users, n;
    const char *type; /* "text/html; charset=utf-8" */
    char text[];
};
struct mot_body *mot_body_new(const char *type, const char *text, size_t n); /* with one user */
void mot_body_hold(struct mot_body *);
void mot_body_drop(struct mot_body *);

struct mot_site {
    void *self;
    /* What is at this path, for the caller to drop; NULL: nothing is, or with *busy that it cannot be made
     * just now. Called by the server's thread only. */
    struct mot_body *(*show)(void *self, const char *path, bool *busy);
    void (*shown)(void *self, const struct mot_body *); /* it was sent, to its end */
};

struct mot_http;
/* MOT_ESYSTEM: the port is taken, or not ours. The site must outlive the server. */
enum mot_status mot_http_open(const struct mot_web_address *, const struct mot_site *, struct mot_http **out);
const struct mot_web_address *mot_http_address(const struct mot_http *); /* with the port that was found */
void mot_http_close(struct mot_http *);

#endif
