#include "serve/address.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define HOST_BYTES 64

/* Splits HOST:PORT or [HOST]:PORT; false if it is neither. Without a port, *port is "". */
static bool split(const char *text, char host[HOST_BYTES], const char **port, bool *bracketed)
{
    *bracketed = *text == '[';
    const char *from = text + *bracketed, *end = *bracketed ? strchr(from, ']') : from + strcspn(from, ":");
    if (!end || end == from || (size_t)(end - from) >= HOST_BYTES) return false;
    memcpy(host, from, (size_t)(end - from));
    host[end - from] = 0;
    const char *rest = end + *bracketed;
    if (*rest && *rest != ':') return false;
    *port = *rest ? rest + 1 : rest;
    return !*rest || rest[1];
}

static bool read_port(const char *text, uint16_t *out)
{
    uint32_t port = 0;
    if (!*text || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text)) return false;
    for (; *text; text++) port = 10 * port + (uint32_t)(*text - '0');
    *out = (uint16_t)port;
    return port <= 65535;
}

/* Whether the host is localhost or a numeric address; fills in all but the port. */
static bool read_host(const char *host, bool bracketed, struct mot_web_address *a)
{
    *a = (struct mot_web_address){ .bytes = 0 };
    if (!bracketed && strcasecmp(host, "localhost") == 0) host = "127.0.0.1";
    if (bracketed && inet_pton(AF_INET6, host, &a->at.six.sin6_addr) == 1) {
        a->at.six.sin6_family = AF_INET6;
        a->bytes = sizeof a->at.six;
        a->loopback = IN6_IS_ADDR_LOOPBACK(&a->at.six.sin6_addr);
        return true;
    }
    if (bracketed || inet_pton(AF_INET, host, &a->at.four.sin_addr) != 1) return false;
    a->at.four.sin_family = AF_INET;
    a->bytes = sizeof a->at.four;
    a->loopback = ntohl(a->at.four.sin_addr.s_addr) >> 24 == 127;
    return true;
}

enum mot_status mot_web_address_read(const char *text, bool anyone, struct mot_web_address *out)
{
    char host[HOST_BYTES];
    const char *port_text;
    bool bracketed;
    uint16_t port;
    struct mot_web_address a;
    if (!split(text, host, &port_text, &bracketed) || !read_port(port_text, &port) ||
        !read_host(host, bracketed, &a))
        return mot_fail(MOT_EUSAGE,
            "--serve: expected an address and a port, such as 127.0.0.1:8080 or [::1]:0; found '%.80s'",
            text);
    if (!a.loopback && !anyone)
        return mot_fail(MOT_EUSAGE,
            "--serve: %.80s can be reached by other machines, and whoever reaches it sees the run; "
            "--serve-anyone allows that",
            text);
    if (a.at.any.sa_family == AF_INET6) a.at.six.sin6_port = htons(port);
    else a.at.four.sin_port = htons(port);
    *out = a;
    return MOT_OK;
}

char *mot_web_address_show(const struct mot_web_address *a, char *into, size_t size)
{
    char host[INET6_ADDRSTRLEN] = "";
    bool six = a->at.any.sa_family == AF_INET6;
    if (six) inet_ntop(AF_INET6, &a->at.six.sin6_addr, host, sizeof host);
    else inet_ntop(AF_INET, &a->at.four.sin_addr, host, sizeof host);
    snprintf(into, size, six ? "http://[%s]:%u/" : "http://%s:%u/", host,
        ntohs(six ? a->at.six.sin6_port : a->at.four.sin_port));
    return into;
}

bool mot_web_address_admits(const struct mot_web_address *a, const char *host)
{
    char name[HOST_BYTES];
    const char *port_text;
    bool bracketed;
    uint16_t port;
    struct mot_web_address named;
    if (!a->loopback) return true;
    return split(host, name, &port_text, &bracketed) && (!*port_text || read_port(port_text, &port)) &&
        read_host(name, bracketed, &named) && named.loopback;
}
