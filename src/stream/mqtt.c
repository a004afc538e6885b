#include "stream/mqtt.h"

#ifndef MOTLEY_MQTT

enum mot_status mot_mqtt_library(void)
{
    return mot_fail(MOT_EUSAGE, "this motley was built without MQTT; install libmosquitto-dev and rebuild");
}

enum mot_status mot_mqtt_open(const struct mot_mqtt_conf *c, struct mot_mqtt **out)
{
    (void)c;
    (void)out;
    return mot_mqtt_library();
}

/* There is never a connection to pass to these. */
void mot_mqtt_close(struct mot_mqtt *m) { (void)m; }

enum mot_mqtt_is mot_mqtt_state(struct mot_mqtt *m, char words[MOT_INTAKE_WORDS])
{
    (void)m;
    words[0] = 0;
    return MOT_MQTT_REFUSED;
}

enum mot_status mot_mqtt_publish(struct mot_mqtt *m, const void *bytes, size_t n, bool *taken)
{
    (void)m, (void)bytes, (void)n;
    *taken = false;
    return mot_mqtt_library();
}

#else

#include "base/memory.h"
#include "base/ondemand.h"
#include "base/stopwatch.h"
#include "stream/inlet.h"
#include <errno.h>
#include <fcntl.h>
#include <mosquitto.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define KEEPALIVE_S 30
#define LOOP_MS 50
#define PAUSE_MS 100u /* between two attempts; doubled each time, up to */
#define PAUSE_MOST_MS 5000u
#define ANSWER_MS 5000 /* how long a host may take to answer */
#define STEP_MS 20     /* the longest that a wait outlasts the wish to stop */

/* MOTLEY_MQTT is the library's name. */
#define MOSQUITTO_CALLS(CALL)                                                                                \
    CALL(mosquitto_, connack_string)                                                                         \
    CALL(mosquitto_, connect)                                                                                \
    CALL(mosquitto_, connect_callback_set)                                                                   \
    CALL(mosquitto_, destroy)                                                                                \
    CALL(mosquitto_, disconnect)                                                                             \
    CALL(mosquitto_, int_option)                                                                             \
    CALL(mosquitto_, lib_init)                                                                               \
    CALL(mosquitto_, log_callback_set)                                                                       \
    CALL(mosquitto_, loop_misc)                                                                              \
    CALL(mosquitto_, loop_read)                                                                              \
    CALL(mosquitto_, loop_write)                                                                             \
    CALL(mosquitto_, message_callback_set)                                                                   \
    CALL(mosquitto_, new)                                                                                    \
    CALL(mosquitto_, publish)                                                                                \
    CALL(mosquitto_, publish_callback_set)                                                                   \
    CALL(mosquitto_, socket)                                                                                 \
    CALL(mosquitto_, strerror)                                                                               \
    CALL(mosquitto_, subscribe)                                                                              \
    CALL(mosquitto_, subscribe_callback_set)                                                                 \
    CALL(mosquitto_, threaded_set)                                                                           \
    CALL(mosquitto_, tls_set)                                                                                \
    CALL(mosquitto_, username_pw_set)                                                                        \
    CALL(mosquitto_, want_write)
static struct {
    MOSQUITTO_CALLS(MOT_ONDEMAND_POINTER)
} mosq;
static const char *const mosq_names[] = { MOSQUITTO_CALLS(MOT_ONDEMAND_NAME) };

enum mot_status mot_mqtt_library(void)
{
    static struct mot_ondemand library = {
        .file = MOTLEY_MQTT, .wanted_by = "mqtt://", MOT_ONDEMAND_TABLE(mosq, mosq_names)
    };
    return mot_ondemand(&library);
}

struct mot_mqtt {
    struct mot_mqtt_conf c;
    struct mosquitto *client;
    char *host, *topic, *password;
    char port[8];
    char shown[MOT_ADDRESS_SHOWN];
    pthread_t thread;
    int wake;         /* an eventfd: there is something to send */
    bool running, up; /* up: connected, though perhaps not accepted yet */
    bool tls;
    bool said;    /* `words` says what is wrong with this connection */
    bool reached; /* the broker has accepted us before */
    uint32_t pause_ms;
    char logged[MOT_INTAKE_WORDS]; /* the library's last complaint */
    _Atomic bool stop;
    _Atomic int is;
    pthread_mutex_t lock; /* guards what follows */
    char words[MOT_INTAKE_WORDS];
};

/* ---- What is wrong --------------------------------------------------------------------------- */

/* final: trying again would not help. */
static void say(struct mot_mqtt *m, bool final, const char *what, const char *check)
{
    int n = (int)strcspn(what, "\n");
    final &= !m->reached;
    m->said = true;
    if (n && what[n - 1] == '.') n--; /* the library's words are sentences */
    if (n > 72) n = 72;
    pthread_mutex_lock(&m->lock);
    snprintf(m->words, sizeof(m->words), "%.100s: %.*s; %s", m->shown, n, what, check);
    pthread_mutex_unlock(&m->lock);
    if (atomic_load(&m->is) != MOT_MQTT_REFUSED)
        atomic_store(&m->is, final ? MOT_MQTT_REFUSED : MOT_MQTT_AWAY);
}

static void on_log(struct mosquitto *client, void *self, int level, const char *text)
{
    struct mot_mqtt *m = self;
    (void)client;
    if (level == MOSQ_LOG_ERR) snprintf(m->logged, sizeof(m->logged), "%s", text);
}

/* The library only returns that TLS failed; the reason is in its log. */
static void say_lost(struct mot_mqtt *m, int error)
{
    bool certificate = strstr(m->logged, "certificate verify failed") || strstr(m->logged, "host name");
    if (certificate)
        say(m, true, "the broker's certificate is not trusted",
            "check source.ca, and that the certificate is for this host name");
    else if (error == MOSQ_ERR_TLS)
        say(m, false, m->logged[0] ? m->logged : "TLS failed",
            "check the port, source.ca, source.cert and source.key");
    else if (!m->said)
        say(m, false, error == MOSQ_ERR_ERRNO ? strerror(errno) : mosq.strerror(error),
            "check that the broker runs, and its log");
}

static void on_connect(struct mosquitto *client, void *self, int code)
{
    struct mot_mqtt *m = self;
    if (code == 0) {
        int error = m->c.subscribes ? mosq.subscribe(client, NULL, m->topic, 1) : 0;
        m->reached |= !m->c.subscribes;
        m->pause_ms = PAUSE_MS;
        if (error) say_lost(m, error);
        else if (!m->c.subscribes) atomic_store(&m->is, MOT_MQTT_READY);
        return;
    }
    bool whom = code == 4 || code == 5;
    say(m, whom || code == 2, mosq.connack_string(code),
        whom ? "check the user in the address, and source.password_file or MOTLEY_PASSWORD"
             : "check the broker's log");
}

static void on_subscribe(struct mosquitto *client, void *self, int number, int topics, const int *granted)
{
    struct mot_mqtt *m = self;
    (void)client;
    (void)number;
    if (topics == 1 && granted[0] <= 2) {
        m->reached = true;
        atomic_store(&m->is, MOT_MQTT_READY);
    } else say(m, true, "the broker refuses the topic", "check it, and what the user may read");
}

static void on_message(struct mosquitto *client, void *self, const struct mosquitto_message *message)
{
    struct mot_mqtt *m = self;
    (void)client;
    if (message->retain) return; /* the broker repeats it with every subscription */
    m->c.message(m->c.self, message->payload, (size_t)message->payloadlen);
}

static void on_publish(struct mosquitto *client, void *self, int number)
{
    struct mot_mqtt *m = self;
    (void)client;
    if (m->c.acked) m->c.acked(m->c.self, number);
}

/* ---- Connecting ------------------------------------------------------------------------------ */

static void pause_for(struct mot_mqtt *m, uint32_t ms)
{
    for (uint32_t slept = 0; slept < ms && !atomic_load(&m->stop); slept += STEP_MS)
        nanosleep(&(struct timespec){ .tv_nsec = STEP_MS * 1000000 }, NULL);
}

/* 0 if the host answers, else an errno. */
static int answers(struct mot_mqtt *m, const struct addrinfo *a)
{
    int error = 0;
    socklen_t size = sizeof(error);
    int fd = socket(a->ai_family, a->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
    if (fd < 0) return errno;
    if (connect(fd, a->ai_addr, a->ai_addrlen) != 0 && errno != EINPROGRESS) error = errno;
    struct pollfd wait = { .fd = fd, .events = POLLOUT };
    int ready = 0;
    for (int ms = 0; !error && !ready && ms < ANSWER_MS && !atomic_load(&m->stop); ms += STEP_MS)
        ready = poll(&wait, 1, STEP_MS);
    if (!error && ready <= 0) error = ETIMEDOUT;
    if (!error && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
    close(fd);
    return error;
}

/* Looking up an address can take half a minute and cannot be interrupted, so a thread of its own does it. The
 * last to leave, that thread or the one waiting for it, cleans up. */
struct lookup {
    char *host, port[8];
    struct addrinfo *found;
    int error;
    _Atomic bool left; /* one of the two has left */
};

static void lookup_free(struct lookup *l)
{
    if (l->found) freeaddrinfo(l->found);
    free(l->host);
    free(l);
}

static void *lookup_main(void *p)
{
    struct lookup *l = p;
    struct addrinfo want = { .ai_socktype = SOCK_STREAM };
    l->error = getaddrinfo(l->host, l->port, &want, &l->found);
    if (atomic_exchange(&l->left, true)) lookup_free(l);
    return NULL;
}

/* 0, or an error of getaddrinfo. *stopped: we are to stop, and there is no result. */
static int look_up(struct mot_mqtt *m, struct addrinfo **found, bool *stopped)
{
    struct addrinfo numeric = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST };
    pthread_t thread;
    *stopped = false;
    if (getaddrinfo(m->host, m->port, &numeric, found) == 0) return 0; /* an address needs no lookup */
    struct lookup *l = mot_new(1, sizeof(*l));
    l->host = mot_text(m->host);
    memcpy(l->port, m->port, sizeof(l->port));
    if (pthread_create(&thread, NULL, lookup_main, l) != 0) {
        lookup_free(l);
        return EAI_AGAIN;
    }
    pthread_detach(thread);
    while (!atomic_load(&l->left) && !atomic_load(&m->stop)) pause_for(m, 1);
    *stopped = !atomic_exchange(&l->left, true);
    if (*stopped) return 0;
    int error = l->error;
    *found = l->found;
    l->found = NULL;
    lookup_free(l);
    return error;
}

/* Whether the host answers; `at`: the address that does. The library itself would wait for minutes, and could
 * not be interrupted. */
static bool is_there(struct mot_mqtt *m, char at[NI_MAXHOST])
{
    struct addrinfo *found = NULL;
    bool stopped;
    int error = look_up(m, &found, &stopped);
    if (stopped) return false;
    if (error) {
        say(m, false, gai_strerror(error), "check the name of the host, and the network");
        return false;
    }
    error = ECONNREFUSED;
    for (const struct addrinfo *a = found; a && error; a = a->ai_next) {
        error = answers(m, a);
        if (!error && getnameinfo(a->ai_addr, a->ai_addrlen, at, NI_MAXHOST, NULL, 0, NI_NUMERICHOST) != 0)
            snprintf(at, NI_MAXHOST, "%s", m->host);
    }
    freeaddrinfo(found);
    if (error) say(m, false, strerror(error), "check host and port, and that the broker runs");
    return !error;
}

/* TLS needs the host's name, to compare with the certificate; otherwise connect to the address just found. */
static void connect_once(struct mot_mqtt *m)
{
    char at[NI_MAXHOST];
    m->logged[0] = 0;
    m->said = false;
    if (is_there(m, at)) {
        int port = (int)strtol(m->port, NULL, 10);
        int error = mosq.connect(m->client, m->tls ? m->host : at, port, KEEPALIVE_S);
        m->up = error == MOSQ_ERR_SUCCESS;
        if (!m->up) say_lost(m, error);
    }
    if (m->up) return;
    pause_for(m, m->pause_ms);
    m->pause_ms = 2 * m->pause_ms < PAUSE_MOST_MS ? 2 * m->pause_ms : PAUSE_MOST_MS;
}

/* Replaces mosquitto_loop, which uses select and so writes past its table if a process has more than 1024
 * files open. */
static int serve(struct mot_mqtt *m)
{
    struct pollfd wait[] = { { .fd = mosq.socket(m->client), .events = POLLIN },
        { .fd = m->wake, .events = POLLIN } };
    uint64_t times;
    int error = MOSQ_ERR_SUCCESS;
    if (wait[0].fd < 0) return MOSQ_ERR_NO_CONN;
    if (mosq.want_write(m->client)) wait[0].events |= POLLOUT;
    if (poll(wait, 2, LOOP_MS) < 0 && errno != EINTR) return MOSQ_ERR_ERRNO;
    bool writes = wait[0].revents & POLLOUT;
    if (wait[1].revents) writes |= read(m->wake, &times, sizeof(times)) > 0;
    if (writes) error = mosq.loop_write(m->client, 1);
    if (!error && wait[0].revents & ~POLLOUT) error = mosq.loop_read(m->client, 1);
    return error ? error : mosq.loop_misc(m->client);
}

static void *mqtt_main(void *p)
{
    struct mot_mqtt *m = p;
    while (!atomic_load(&m->stop) && atomic_load(&m->is) != MOT_MQTT_REFUSED) {
        if (!m->up) {
            connect_once(m);
            continue;
        }
        int error = serve(m);
        if (error != MOSQ_ERR_SUCCESS) say_lost(m, error);
        if (m->c.turn) m->c.turn(m->c.self);
        if (error == MOSQ_ERR_SUCCESS) continue;
        m->up = false;
        pause_for(m, m->pause_ms);
    }
    return NULL;
}

/* ---- Opening and closing ---------------------------------------------------------------------- */

static enum mot_status failed(const struct mot_mqtt *m, const char *what, int error)
{
    return mot_fail(error == MOSQ_ERR_NOMEM ? MOT_ESYSTEM : MOT_EUSAGE, "%s: %s: %s", m->shown, what,
        error == MOSQ_ERR_ERRNO ? strerror(errno) : mosq.strerror(error));
}

static enum mot_status secure(struct mot_mqtt *m)
{
    const struct mot_intake_conf *c = m->c.conf;
    const char *file[] = { c->ca, c->cert, c->key };
    for (size_t i = 0; i < MOT_COUNT(file); i++)
        if (file[i] && access(file[i], R_OK) != 0)
            return mot_fail(MOT_EUSAGE, "%s: %s", file[i], strerror(errno));
    int error = c->ca ? mosq.tls_set(m->client, c->ca, NULL, c->cert, c->key, NULL)
                      : mosq.tls_set(m->client, NULL, "/etc/ssl/certs", c->cert, c->key, NULL);
    if (!error && !c->ca) error = mosq.int_option(m->client, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
    return error ? failed(m, "cannot use TLS", error) : MOT_OK;
}

static void start_library(void) { mosq.lib_init(); }

static enum mot_status prepare(struct mot_mqtt *m)
{
    const struct mot_address *a = m->c.address;
    m->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (m->wake < 0) return mot_fail(MOT_ESYSTEM, "%s: %s", m->shown, strerror(errno));
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_library);
    m->client = mosq.new(m->c.id, !m->c.remembered, m);
    if (!m->client) return mot_fail(MOT_ESYSTEM, "cannot open an MQTT client: %s", strerror(errno));
    mosq.threaded_set(m->client, true);
    mosq.log_callback_set(m->client, on_log);
    mosq.connect_callback_set(m->client, on_connect);
    mosq.subscribe_callback_set(m->client, on_subscribe);
    mosq.message_callback_set(m->client, on_message);
    mosq.publish_callback_set(m->client, on_publish);
    enum mot_status status = a->user ? mot_inlet_password(m->c.conf, &m->password) : MOT_OK;
    if (status == MOT_OK && a->user) {
        int error = mosq.username_pw_set(m->client, a->user, m->password);
        if (error) status = failed(m, "cannot log in", error);
    }
    if (status == MOT_OK && a->tls) status = secure(m);
    return status;
}

/* "host:1883", "[::1]:1883" */
static void set_host(struct mot_mqtt *m, const char *hosts)
{
    const char *colon = strrchr(hosts, ':');
    bool brackets = *hosts == '[';
    m->host = mot_format("%.*s", (int)(colon - hosts) - 2 * brackets, hosts + brackets);
    snprintf(m->port, sizeof(m->port), "%s", colon + 1);
}

enum mot_status mot_mqtt_open(const struct mot_mqtt_conf *c, struct mot_mqtt **out)
{
    enum mot_status status = mot_mqtt_library();
    if (status != MOT_OK) return status;
    struct mot_mqtt *m = mot_new(1, sizeof(*m));
    m->c = *c;
    m->pause_ms = PAUSE_MS;
    m->wake = -1;
    m->tls = c->address->tls;
    m->topic = mot_text(c->address->topic);
    set_host(m, c->address->hosts);
    mot_address_show(c->address, m->shown);
    pthread_mutex_init(&m->lock, NULL);
    snprintf(m->words, sizeof(m->words), "%s: not connected yet", m->shown);
    status = prepare(m);
    m->c.address = NULL;
    m->c.conf = NULL;
    if (status == MOT_OK) {
        m->running = pthread_create(&m->thread, NULL, mqtt_main, m) == 0;
        if (!m->running) status = mot_fail(MOT_ESYSTEM, "cannot start a thread for %s", m->shown);
    }
    if (status == MOT_OK) *out = m;
    else mot_mqtt_close(m);
    return status;
}

void mot_mqtt_close(struct mot_mqtt *m)
{
    if (!m) return;
    atomic_store(&m->stop, true);
    if (m->running) pthread_join(m->thread, NULL);
    if (m->up) {
        mosq.disconnect(m->client);
        mosq.loop_write(m->client, 1); /* what is queued: acknowledgements and the disconnect */
    }
    if (m->client) mosq.destroy(m->client);
    if (m->wake >= 0) close(m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m->host);
    free(m->topic);
    free(m->password);
    free(m);
}

enum mot_mqtt_is mot_mqtt_state(struct mot_mqtt *m, char words[MOT_INTAKE_WORDS])
{
    enum mot_mqtt_is is = (enum mot_mqtt_is)atomic_load(&m->is);
    pthread_mutex_lock(&m->lock);
    memcpy(words, m->words, MOT_INTAKE_WORDS);
    pthread_mutex_unlock(&m->lock);
    return is;
}

enum mot_status mot_mqtt_publish(struct mot_mqtt *m, const void *bytes, size_t n, bool *taken)
{
    *taken = false;
    if (atomic_load(&m->is) != MOT_MQTT_READY) return MOT_OK;
    int error = mosq.publish(m->client, NULL, m->topic, (int)n, bytes, 1, false);
    /* If the connection has just broken, the library has queued the message for the next one. */
    if (write(m->wake, &(uint64_t){ 1 }, sizeof(uint64_t)) < 0) {} /* it has been woken often enough */
    *taken = error == MOSQ_ERR_SUCCESS || error == MOSQ_ERR_NO_CONN || error == MOSQ_ERR_CONN_LOST;
    return *taken ? MOT_OK : failed(m, "cannot publish", error);
}

#endif
