/* fuzz_record.c -- any bytes through the reader of records; and the
 * same bytes as a tape, past the checksum. */
#include "live/record.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

/* What the reader lets through must be there to be read, to the last event. */
static void walk(const struct mot_tape *t, bool whole)
{
    struct mot_tape_reader r;
    struct mot_taped e;
    uint64_t events = 0;
    mot_time last = 0;
    mot_tape_rewind(t, &r);
    while (mot_tape_next(&r, &e)) {
        if (e.now < last || e.kind > MOT_EV_PIECE) abort();
        last = e.now;
        events++;
    }
    if (r.at > r.end || (whole && events != t->events)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct mot_record record = { 0 };
    if (mot_record_parse("x", bytes, n, &record) == MOT_OK)
        for (uint32_t i = 0; i < record.nodes; i++) walk(&record.tape[i], true);
    mot_record_close(&record);
    struct mot_tape tape = { .at = (unsigned char *)(uintptr_t)bytes, .n = n };
    walk(&tape, false);
    return 0;
}
