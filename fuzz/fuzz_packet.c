/* fuzz_packet.c -- bytes that may be a packet: refused, or decoded to floats that are in order. The first two
 * say of how many floats. */
#include "compress/packet.h"
#include "fuzz.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static float x[4096], sum[4096];
    if (n < 2) return 0;
    uint32_t len = (uint32_t)((bytes[0] | bytes[1] << 8) % 4096) + 1;
    if (!mot_packet_check(bytes + 2, n - 2, len)) return 0;
    MOT_ASSERT(n - 2 <= mot_packet_most(len) && mot_packet_entries(bytes + 2, len) <= len);
    mot_packet_expand(bytes + 2, len, x);
    memset(sum, 0, len * sizeof(*sum));
    mot_packet_add(bytes + 2, len, sum);
    MOT_ASSERT(memcmp(x, sum, len * sizeof(*x)) == 0 || !mot_packet_finite(bytes + 2, len));
    mot_packet_subtract(bytes + 2, len, sum);
    (void)mot_packet_norm2(bytes + 2, len);
    return 0;
}
