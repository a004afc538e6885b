/* status.h -- how motley's functions report success and failure.
 *
 * A function that can fail returns enum mot_status. Whoever detects a failure writes a message with
 * mot_fail(); its callers pass the status on. The values are the program's exit codes. */
#ifndef MOTLEY_STATUS_H
#define MOTLEY_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MOT_API __attribute__((visibility("default")))
#define MOT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define MOT_NORETURN __attribute__((noreturn))
#else
#define MOT_API
#define MOT_PRINTF(f, a)
#define MOT_NORETURN
#endif

enum mot_status {
    MOT_OK = 0,
    MOT_ESYSTEM = 1,        /* the machine refused: disk, memory, permissions */
    MOT_EUSAGE = 2,         /* bad usage or configuration */
    MOT_EDATA = 3,          /* bad data */
    MOT_EPEER = 4,          /* a peer was lost */
    MOT_EDEADLINE = 5,      /* a deadline passed */
    MOT_EDIVERGED = 6,      /* the loss became NaN or infinite */
    MOT_EREPRODUCE = 7,     /* a run that should have repeated did not */
    MOT_EINTERRUPTED = 130, /* Ctrl-C */
};

/* Records the message for this thread (printf-style) and returns `status`. */
MOT_API enum mot_status mot_fail(enum mot_status status, const char *format, ...) MOT_PRINTF(2, 3);

/* The last message recorded by this thread; never NULL. */
MOT_API const char *mot_error(void);

/* "ok", "diverged", ...: the word that summary.json uses. */
MOT_API const char *mot_status_name(enum mot_status status);

#ifdef __cplusplus
}
#endif
#endif
