/* address.h -- where the live view listens, and which requests it accepts. */
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

/* Reads "127.0.0.1:8080", "[::1]:0", "localhost:0": only numeric addresses and localhost, so no resolver is
 * needed. Refuses an address that other machines can reach unless `anyone` may look. */
enum mot_status mot_web_address_read(const char *text, bool anyone, struct mot_web_address *out);
/* "http://127.0.0.1:8080/". Returns `into`. */
char *mot_web_address_show(const struct mot_web_address *, char *into, size_t size);

/* Whether to answer a request for this host. A foreign web page can make its own name resolve to 127.0.0.1,
 * and could then read what this server says; so on a loopback address only this machine's own names are
 * accepted. The port may differ, as through a tunnel. */
bool mot_web_address_admits(const struct mot_web_address *, const char *host);

#endif
