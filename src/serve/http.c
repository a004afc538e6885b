#include "serve/http.h"
#include "base/memory.h"
#include <stdlib.h>
#include <string.h>

struct mot_body *mot_body_new(const char *type, const char *text, size_t n)
{
    struct mot_body *b = mot_new_large(1, sizeof *b + n + 1);
    if (!b) return NULL;
    *b = (struct mot_body){ .users = 1, .n = n, .type = type };
    memcpy(b->text, text, n);
    return b;
}

void mot_body_hold(struct mot_body *b) { b->users++; }

void mot_body_drop(struct mot_body *b)
{
    if (b && --b->users == 0) free(b);
}

#ifndef MOTLEY_SERVE

enum mot_status mot_http_open(
    const struct mot_web_address *a, const struct mot_site *site, struct mot_http **out)
{
    (void)a, (void)site, (void)out;
    return mot_fail(MOT_EUSAGE,
        "--serve: this motley was built without libmicrohttpd; install libmicrohttpd-dev and build it again");
}
const struct mot_web_address *mot_http_address(const struct mot_http *h)
{
    (void)h;
    return NULL;
}
void mot_http_close(struct mot_http *h) { (void)h; }

#else

#include "base/ondemand.h"
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* MOTLEY_SERVE is the library's name. */
#define MHD_CALLS(CALL)                                                                                      \
    CALL(MHD_, add_response_header)                                                                          \
    CALL(MHD_, create_response_from_buffer_with_free_callback)                                               \
    CALL(MHD_, destroy_response)                                                                             \
    CALL(MHD_, get_connection_info)                                                                          \
    CALL(MHD_, get_daemon_info)                                                                              \
    CALL(MHD_, get_timeout)                                                                                  \
    CALL(MHD_, lookup_connection_value)                                                                      \
    CALL(MHD_, queue_response)                                                                               \
    CALL(MHD_, run)                                                                                          \
    CALL(MHD_, start_daemon)                                                                                 \
    CALL(MHD_, stop_daemon)
static struct {
    MHD_CALLS(MOT_ONDEMAND_POINTER)
} mhd;
static const char *const mhd_names[] = { MHD_CALLS(MOT_ONDEMAND_NAME) };
static struct mot_ondemand mhd_library = {
    .file = MOTLEY_SERVE, .wanted_by = "--serve", MOT_ONDEMAND_TABLE(mhd, mhd_names)
};

#define CONNECTIONS_MOST 32u
#define SILENCE_S 10u
#define REQUEST_BYTES ((size_t)16 << 10) /* for its first line, its headers and ours */
#define BACKLOG 16
#define NICE 10

struct mot_http {
    struct mot_web_address address;
    const struct mot_site *site;
    struct MHD_Daemon *daemon;
    pthread_t thread;
    int listening, ready, end;  /* ready: the daemon has something to do; end: it is to stop */
    int open[CONNECTIONS_MOST]; /* sockets of connections */
};

/* One for the process, since a study may fork workers while visitors are there. A worker inherits all locks
 * held at that moment, such as the memory allocator's, but no thread to release them. So the server holds
 * this lock whenever it works, and forks wait for it. */
static pthread_mutex_t at_work = PTHREAD_MUTEX_INITIALIZER;
static struct mot_http *served; /* changed by the main thread only */

static void wait_for_the_server(void) { pthread_mutex_lock(&at_work); }
static void go_on(void) { pthread_mutex_unlock(&at_work); }

/* Runs in a forked worker, which must not keep visitors' connections open. */
static void leave_to_the_parent(void)
{
    go_on();
    struct mot_http *h = served;
    if (!h) return;
    close(h->listening);
    close(h->ready);
    close(h->end);
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        if (h->open[i] >= 0) close(h->open[i]);
    served = NULL;
}

/* ---- Answering ---------------------------------------------------------------------------------------- */

static void drop_text(void *text)
{
    mot_body_drop((struct mot_body *)((char *)text - offsetof(struct mot_body, text)));
}

static enum MHD_Result answer(struct MHD_Connection *c, unsigned code, struct mot_body *b)
{
    static const char *const headers[][2] = {
        { "Cache-Control", "no-store" },
        { "X-Content-Type-Options", "nosniff" },
        { "X-Frame-Options", "DENY" },
        { "Referrer-Policy", "no-referrer" },
        { "Cross-Origin-Resource-Policy", "same-origin" },
        { "Content-Security-Policy", "frame-ancestors 'none'" },
    };
    if (!b) return MHD_NO;
    struct MHD_Response *r = mhd.create_response_from_buffer_with_free_callback(b->n, b->text, drop_text);
    if (!r) {
        mot_body_drop(b);
        return MHD_NO;
    }
    mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, b->type);
    for (size_t i = 0; i < MOT_COUNT(headers); i++) mhd.add_response_header(r, headers[i][0], headers[i][1]);
    if (code == MHD_HTTP_METHOD_NOT_ALLOWED) mhd.add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
    if (code == MHD_HTTP_SERVICE_UNAVAILABLE) mhd.add_response_header(r, MHD_HTTP_HEADER_RETRY_AFTER, "1");
    enum MHD_Result queued = mhd.queue_response(c, code, r);
    mhd.destroy_response(r);
    return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *c, unsigned code, const char *why)
{
    return answer(c, code, mot_body_new("text/plain; charset=utf-8", why, strlen(why)));
}

/* Answers as soon as the headers are there; a request's body is never read. */
static enum MHD_Result on_request(void *self, struct MHD_Connection *c, const char *path, const char *method,
    const char *version, const char *upload, size_t *upload_bytes, void **request)
{
    const struct mot_http *h = self;
    (void)version, (void)upload, (void)upload_bytes;
    const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
    if (!host || !mot_web_address_admits(&h->address, host))
        return refuse(
            c, MHD_HTTP_FORBIDDEN, "Only requests for localhost, 127.0.0.1 or [::1] are answered.\n");
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET and HEAD are allowed.\n");
    bool busy = false;
    struct mot_body *b = h->site->show(h->site->self, path, &busy);
    if (!b && busy)
        return refuse(c, MHD_HTTP_SERVICE_UNAVAILABLE, "Not available at the moment; try again.\n");
    if (!b) return refuse(c, MHD_HTTP_NOT_FOUND, "There are /, /metrics, /state and /healthz.\n");
    *request = b;
    return answer(c, MHD_HTTP_OK, b);
}

/* Unless somebody else holds it, the body may be freed by now: use the pointer only to tell which it was. */
static void on_completed(
    void *self, struct MHD_Connection *c, void **request, enum MHD_RequestTerminationCode how)
{
    const struct mot_http *h = self;
    (void)c;
    if (*request && how == MHD_REQUEST_TERMINATED_COMPLETED_OK) h->site->shown(h->site->self, *request);
    *request = NULL;
}

static void on_connection(
    void *self, struct MHD_Connection *c, void **socket_context, enum MHD_ConnectionNotificationCode what)
{
    struct mot_http *h = self;
    const union MHD_ConnectionInfo *info = mhd.get_connection_info(c, MHD_CONNECTION_INFO_CONNECTION_FD);
    (void)socket_context;
    if (!info) return;
    int was = what == MHD_CONNECTION_NOTIFY_STARTED ? -1 : info->connect_fd,
        is = what == MHD_CONNECTION_NOTIFY_STARTED ? info->connect_fd : -1;
    for (size_t i = 0; i < CONNECTIONS_MOST; i++)
        if (h->open[i] == was) {
            h->open[i] = is;
            return;
        }
}

/* ---- The thread -------------------------------------------------------------------------------------- */

static void *serve(void *self)
{
    struct mot_http *h = self;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* best effort */
    for (struct pollfd fd[] = { { h->ready, POLLIN, 0 }, { h->end, POLLIN, 0 } }; !fd[1].revents;) {
        pthread_mutex_lock(&at_work);
        mhd.run(h->daemon);
        MHD_UNSIGNED_LONG_LONG silent_ms;
        bool limited = mhd.get_timeout(h->daemon, &silent_ms) == MHD_YES;
        pthread_mutex_unlock(&at_work);
        poll(fd, MOT_COUNT(fd),
            limited ? (int)(silent_ms < SILENCE_S * 1000 ? silent_ms : SILENCE_S * 1000) : -1);
    }
    return NULL;
}

/* ---- From the beginning to the end ----------------------------------------------------------------- */

static enum mot_status listen_at(struct mot_web_address *a, int *out)
{
    char shown[80];
    int one = 1, fd = socket(a->at.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0) setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    socklen_t bytes = a->bytes;
    if (fd >= 0 && bind(fd, &a->at.any, a->bytes) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, &a->at.any, &bytes) == 0) {
        *out = fd;
        return MOT_OK;
    }
    int error = errno;
    if (fd >= 0) close(fd);
    mot_web_address_show(a, shown, sizeof shown);
    return mot_fail(MOT_ESYSTEM, "--serve: cannot listen at %s: %s%s", shown, strerror(error),
        error == EADDRINUSE ? "; port 0 takes a free one" : "");
}

/* Starts the daemon and its thread; if that fails, closes the socket. */
static bool begin(struct mot_http *h)
{
    h->daemon = mhd.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, h, MHD_OPTION_LISTEN_SOCKET,
        h->listening, MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MOST, MHD_OPTION_CONNECTION_TIMEOUT, SILENCE_S,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, REQUEST_BYTES, MHD_OPTION_NOTIFY_COMPLETED, on_completed, h,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, h, MHD_OPTION_END);
    if (!h->daemon) {
        close(h->listening);
        return false;
    }
    h->ready = mhd.get_daemon_info(h->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    h->end = eventfd(0, EFD_CLOEXEC);
    /* Leave signals to the run's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool begun = h->end >= 0 && pthread_create(&h->thread, NULL, serve, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (begun) return true;
    if (h->end >= 0) close(h->end);
    mhd.stop_daemon(h->daemon); /* closes the socket too */
    return false;
}

enum mot_status mot_http_open(
    const struct mot_web_address *where, const struct mot_site *site, struct mot_http **out)
{
    static bool told; /* a process has one view, opened by its main thread */
    enum mot_status status = mot_ondemand(&mhd_library);
    if (status != MOT_OK) return status;
    struct mot_http *h = mot_new(1, sizeof *h);
    h->address = *where;
    h->site = site;
    for (size_t i = 0; i < CONNECTIONS_MOST; i++) h->open[i] = -1;
    status = listen_at(&h->address, &h->listening);
    if (status != MOT_OK) {
        free(h);
        return status;
    }
    if (!begin(h)) {
        free(h);
        return mot_fail(MOT_ESYSTEM, "--serve: cannot start a thread for it");
    }
    if (!told) told = pthread_atfork(wait_for_the_server, go_on, leave_to_the_parent) == 0;
    served = h;
    *out = h;
    return MOT_OK;
}

const struct mot_web_address *mot_http_address(const struct mot_http *h) { return &h->address; }

void mot_http_close(struct mot_http *h)
{
    if (!h) return;
    served = NULL;
    eventfd_write(h->end, 1);
    pthread_join(h->thread, NULL);
    mhd.stop_daemon(h->daemon);
    close(h->end);
    free(h);
}

#endif
