/* fuzz_address.c -- any bytes as the address of a source; the first says of which worker, among how many. */
#include "fuzz.h"
#include "stream/intake.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0 || n > 1 << 16) return 0;
    uint32_t workers = 1 + (bytes[0] & 7), worker = (bytes[0] >> 3) % workers;
    char *text = malloc(n), shown[MOT_ADDRESS_SHOWN];
    struct mot_address a;
    memcpy(text, bytes + 1, n - 1);
    text[n - 1] = '\0';
    char *wrong = mot_address_of(text, worker, workers, &a);
    if (!wrong) {
        bool broker = a.kind == MOT_INLET_MQTT || a.kind == MOT_INLET_KAFKA;
        MOT_ASSERT(a.kind < MOT_INLET_KINDS && (a.kind != MOT_INLET_FILE || (a.path && *a.path)));
        MOT_ASSERT(broker == (a.hosts && a.topic) && (!broker || (strchr(a.hosts, ':') && *a.topic)));
        MOT_ASSERT(!a.user || (*a.user && !strchr(a.user, ':')));
        MOT_ASSERT(strlen(mot_address_show(&a, shown)) < MOT_ADDRESS_SHOWN);
        mot_address_free(&a);
    }
    free(wrong);
    free(text);
    return 0;
}
