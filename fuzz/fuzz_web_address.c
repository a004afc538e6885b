/* fuzz_web_address.c -- any bytes as an address to listen at, and as the host that a request names. */
#include "fuzz.h"
#include "serve/address.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_web_address loopback, a, again;
    char text[256], url[80];
    if (n >= sizeof text) return 0;
    memcpy(text, bytes, n);
    text[n] = 0;
    MOT_ASSERT(mot_web_address_read("127.0.0.1:80", false, &loopback) == MOT_OK);
    /* Whom a loopback address answers could itself be listened at by this machine alone. */
    bool admitted = mot_web_address_admits(&loopback, text);
    if (mot_web_address_read(text, false, &a) == MOT_OK) MOT_ASSERT(a.loopback && admitted);
    if (mot_web_address_read(text, true, &a) != MOT_OK) return 0;
    MOT_ASSERT(admitted == a.loopback);
    /* What is shown, without its frame, is the address again. */
    mot_web_address_show(&a, url, sizeof url);
    url[strlen(url) - 1] = 0;
    MOT_ASSERT(mot_web_address_read(url + strlen("http://"), true, &again) == MOT_OK);
    MOT_ASSERT(again.bytes == a.bytes && memcmp(&again.at, &a.at, a.bytes) == 0);
    return 0;
}
