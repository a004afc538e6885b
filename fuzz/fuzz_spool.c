/* fuzz_spool.c -- any bytes as a spool: it is opened or refused, and gives messages that lie in it. The first
 * byte says where to go on. */
#include "base/memory.h"
#include "fuzz.h"
#include "stream/spool.h"
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static char folder[] = "/tmp/fuzz_spool.XXXXXX", path[64];
    static unsigned char into[4096];
    struct mot_spool *s;
    struct mot_spooled one = { 0 };
    bool damaged;
    if (n == 0 || n > 1 << 16) return 0;
    if (!path[0]) {
        MOT_ASSERT(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/spool-0.bin", folder);
    }
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    MOT_ASSERT(file >= 0 && write(file, bytes + 1, n - 1) == (ssize_t)n - 1);
    close(file);
    if (mot_spool_open(folder, 0, MOT_SPOOL_NONE, bytes[0], &s) == MOT_OK) {
        uint64_t last = 0;
        while (mot_spool_next(s, into, sizeof(into), &one, &damaged)) {
            MOT_ASSERT(one.at > last && one.at + 16 + one.left <= (n > 256 ? n : 256));
            last = one.at;
        }
        MOT_ASSERT(damaged || mot_spool_read(s));
        mot_spool_close(s);
    } else MOT_ASSERT(mot_error()[0] != 0);
    unlink(path);
    rmdir(folder);
    path[0] = 0;
    snprintf(folder, sizeof(folder), "/tmp/fuzz_spool.XXXXXX");
    return 0;
}
