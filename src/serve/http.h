/* http.h -- a small, read-only web server in a thread of its own.
 *
 * It serves GET and HEAD on a few paths, opens no files, and never echoes any part of a request. Everything
 * is bounded: the connections, how much each may send, and how long it may be silent. Its thread runs at a
 * lower priority than those of the run. */
#ifndef MOT_SERVE_HTTP_H
#define MOT_SERVE_HTTP_H

#include "serve/address.h"

/* The body of an answer, shared by all requests for it and freed with the last. */
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
    /* Returns what is at this path, for the caller to drop; NULL if there is nothing, or with *busy, if it
     * cannot be made just now. Called only by the server's thread. */
    struct mot_body *(*show)(void *self, const char *path, bool *busy);
    void (*shown)(void *self, const struct mot_body *); /* called when all of it was sent */
};

struct mot_http;
/* MOT_ESYSTEM: the port is taken or not allowed, for instance. The site must outlive the server. */
enum mot_status mot_http_open(const struct mot_web_address *, const struct mot_site *, struct mot_http **out);
const struct mot_web_address *mot_http_address(const struct mot_http *); /* with the port that was found */
void mot_http_close(struct mot_http *);

#endif
