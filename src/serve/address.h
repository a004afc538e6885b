/* address.h -- where the live view listens, and whom it believes. */
#ifndef MOT_SERVE_ADDRESS_H
#define MOT_SERVE_ADDRESS_H

#include <motley/status.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct mot_web_address {
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } at;
    socklen_t bytes;
    bool loopback; /* only this machine reaches it */
};

/* "127.0.0.1:8080", "[::1]:0", "localhost:0": numbers and no other names, so that no resolver is asked. An
 * address that other machines reach is refused unless `anyone` may look. */
enum mot_status mot_web_address_read(const char *text, bool anyone, struct mot_web_address *out);
/* "http://127.0.0.1:8080/". Returns `into`. */
char *mot_web_address_show(const struct mot_web_address *, char *into, size_t size);

/* Whether a request that names this host is for us. A page of somebody else's can have its own name lead to
 * 127.0.0.1, and would then read what this server says: on a loopback address only the names of this machine
 * count. Any port does: it may be the end of a tunnel. */
bool mot_web_address_admits(const struct mot_web_address *, const char *host);

#endif
