/* intake.h -- a worker's stream from outside: a thread that reads records and puts rows into a ring.
 *
 *   inlet (file, standard input, broker) --bytes--> records --rows--> ring --> the model
 *
 * The thread parses alongside training, so a slow record delays no gradient that already has its rows.
 * Records that cannot be rows are counted and logged, and never end a run. An inlet that brings nothing for a
 * while is stalled and says why; it fails only if going on would break its promise (mot_intake_promise). */
#ifndef MOT_STREAM_INTAKE_H
#define MOT_STREAM_INTAKE_H

#include "stream/records.h"
#include "stream/reservoir.h"
#include "stream/ring.h"
#include <motley/option.h>

enum mot_intake_buffer { MOT_INTAKE_PERSIST, MOT_INTAKE_TRUNCATE, MOT_INTAKE_BOUNDED };

enum mot_intake_begin { MOT_BEGIN_OLDEST, MOT_BEGIN_NEWEST }; /* where a new run begins */

/* The `source:` section. */
struct mot_intake_conf {
    const char *from;      /* where records come from; NULL: no stream from outside */
    uint32_t records;      /* 0 auto, else 1 + enum mot_record_format */
    const char *label;     /* CSV: the field of the label; JSON: its key */
    const char *features;  /* JSON: the key of a list of all features */
    const char *sequence;  /* JSON: the key of a record's number; NULL: none */
    const char *separator; /* CSV */
    uint32_t buffer;       /* enum mot_intake_buffer */
    uint64_t bound;        /* samples; MOT_WORD_UINT: as many as memory holds */
    uint64_t memory;       /* bytes of rows that a worker holds */
    uint64_t longest;      /* bytes of the longest record */
    bool ends;             /* files are complete: the run ends with them */
    double holdout;        /* share of the records held out for evaluation; 0: none */
    uint64_t reservoir;    /* how many of these to keep */
    /* For brokers. Secrets and certificates are in files, since run folders keep the experiment. */
    const char *password_file, *ca, *cert, *key; /* NULL: none */
    const char *spool;                           /* MQTT: the folder of spools; NULL: the run folder */
    uint32_t begin;                              /* Kafka: enum mot_intake_begin */
    uint32_t sync;                               /* MQTT: enum mot_spool_sync */
};
extern const struct mot_option mot_intake_options[];

/* What `from` means for one worker. */
enum mot_inlet_kind {
    MOT_INLET_FILE,
    MOT_INLET_INPUT,
    MOT_INLET_MQTT,
    MOT_INLET_KAFKA,
    MOT_INLET_RATE, /* no inlet: rows of `data`, at the rates of the cluster, by the clock */
    MOT_INLET_KINDS
};
struct mot_address {
    enum mot_inlet_kind kind;
    char *path;         /* of a file */
    char *hosts;        /* of a broker: host:port; for Kafka a list with commas */
    char *user, *topic; /* user: NULL if none */
    bool tls;
    uint32_t partition;
};
/* The address without its user, for messages. */
#define MOT_ADDRESS_SHOWN 160
const char *mot_address_show(const struct mot_address *, char into[MOT_ADDRESS_SHOWN]);
/* Returns NULL, or what is wrong with `from`, to be shown after "source.from: "; malloc'd. */
char *mot_address_of(const char *from, uint32_t worker, uint32_t workers, struct mot_address *out);
void mot_address_free(struct mot_address *);
/* Whether samples come from outside the program. */
bool mot_intake_outside(const struct mot_intake_conf *);
/* Loads the broker's client library, if one is needed. Opening would too, but only once the run has begun. */
enum mot_status mot_intake_library(const struct mot_intake_conf *);
enum mot_record_format mot_records_format(const struct mot_intake_conf *);
/* The form of the source's records, for rows of that schema. Returns NULL, or what is wrong. */
const char *mot_intake_form(const struct mot_intake_conf *, const struct mot_schema *,
    char *const *column_names, struct mot_record_form *out);
/* What the source promises even after a crash, in words. kept: there is a run folder. */
const char *mot_intake_promise(const struct mot_intake_conf *, bool kept);

struct mot_intake_setup {
    const struct mot_intake_conf *conf;
    const struct mot_record_form *form;
    uint32_t worker, workers;
    uint32_t rows;              /* of the ring */
    float *x, *y;               /* the ring's rows */
    uint64_t first;             /* the row to go on with, */
    struct mot_mark begin;      /* and the mark before it; after.at may be MOT_CURSOR_UNKNOWN */
    const char *folder;         /* for the log of malformed records and the spool; NULL: none */
    uint64_t seed;              /* decides what is held out, */
    struct mot_reservoir *held; /* and where that goes; NULL: nothing is held out */
};
struct mot_intake;
enum mot_status mot_intake_open(const struct mot_intake_setup *, struct mot_intake **out);
void mot_intake_stop(struct mot_intake *); /* nothing more comes in, and counts stand still */
void mot_intake_close(struct mot_intake *);

struct mot_ring *mot_intake_ring(struct mot_intake *);
double mot_intake_rate(struct mot_intake *); /* rows that came in the last second */

#define MOT_INTAKE_WORDS 256
struct mot_intake_state {
    uint64_t malformed, held;     /* malformed and held-out records, since the stream began */
    uint64_t missing, repeated;   /* by the records' numbers, since the intake was opened */
    uint64_t lag;                 /* bytes or messages that are there but not yet read */
    bool ended;                   /* nothing more will come */
    enum mot_status failed;       /* it cannot go on */
    uint64_t stalled_ns;          /* how long it has been stalled for the reason below; 0: it is not */
    uint32_t stalls;              /* times that it stalled */
    char words[MOT_INTAKE_WORDS]; /* why it stalls or failed, and what to check */
    char note[MOT_INTAKE_WORDS];  /* what else users should know; "": nothing */
};
struct mot_intake_state mot_intake_state(struct mot_intake *);

#endif
