/* status.c -- the message of the last failure, one for each thread. */
#include "base/holds.h"
#include <motley/method.h>
#include <motley/status.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE_MAX 4096

static _Thread_local char message[MESSAGE_MAX];

enum mot_status mot_fail(enum mot_status status, const char *format, ...)
{
    /* The arguments may include mot_error() itself, to put words before it. */
    char text[MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (n < 0) text[0] = 0;
    memcpy(message, text, strlen(text) + 1);
    return status;
}

const char *mot_error(void) { return message; }

const char *mot_status_name(enum mot_status status)
{
    switch (status) {
    case MOT_OK: return "ok";
    case MOT_ESYSTEM: return "system_error";
    case MOT_EUSAGE: return "bad_usage";
    case MOT_EDATA: return "bad_data";
    case MOT_EPEER: return "peer_lost";
    case MOT_EDEADLINE: return "deadline";
    case MOT_EDIVERGED: return "diverged";
    case MOT_EREPRODUCE: return "not_reproducible";
    case MOT_EINTERRUPTED: return "interrupted";
    }
    return "unknown";
}

static _Thread_local jmp_buf *doubts; /* of a caller that would rather know than abort */

bool mot_holds(void (*facts)(void *self), void *self)
{
    jmp_buf here, *volatile before = doubts;
    volatile bool held = false;
    if (setjmp(here) == 0) {
        doubts = &here;
        facts(self);
        held = true;
    }
    doubts = before;
    return held;
}

void mot_assert_failed(const char *fact, const char *file, int line)
{
    if (doubts) longjmp(*doubts, 1);
    fflush(stdout);
    fprintf(stderr, "motley: bug: %s:%d: assertion failed: %s\n", file, line, fact);
    abort();
}
