/* outlet.c -- records into a file that grows, and the choice of an outlet by address. */
#include "stream/outlet.h"
#include "base/memory.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct outlet_file {
    struct mot_outlet outlet;
    FILE *file;
    char *path;
};

static enum mot_status written(const struct outlet_file *f, bool ok)
{
    return ok ? MOT_OK : mot_fail(MOT_ESYSTEM, "%s: cannot write: %s", f->path, strerror(errno));
}

static enum mot_status send_file(struct mot_outlet *outlet, const void *record, size_t n)
{
    struct outlet_file *f = (struct outlet_file *)outlet;
    return written(f, fwrite(record, 1, n, f->file) == n);
}

static enum mot_status flush_file(struct mot_outlet *outlet)
{
    struct outlet_file *f = (struct outlet_file *)outlet;
    return written(f, fflush(f->file) == 0);
}

static void close_file(struct mot_outlet *outlet)
{
    struct outlet_file *f = (struct outlet_file *)outlet;
    fclose(f->file);
    free(f->path);
    free(f);
}

static const struct mot_outlet_ops file_ops = { send_file, flush_file, close_file };

enum mot_status mot_outlet_file(const char *path, struct mot_outlet **out)
{
    FILE *file = fopen(path, "ae");
    if (!file) return mot_fail(MOT_ESYSTEM, "%s: %s", path, strerror(errno));
    struct outlet_file *f = mot_new(1, sizeof(*f));
    *f = (struct outlet_file){ .outlet.ops = &file_ops, .file = file, .path = mot_text(path) };
    *out = &f->outlet;
    return MOT_OK;
}

enum mot_status mot_outlet_send(struct mot_outlet *o, const void *record, size_t n)
{
    enum mot_status status = o->ops->send(o, record, n);
    if (status != MOT_OK) return status;
    atomic_fetch_add_explicit(&o->sent, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&o->bytes, n, memory_order_relaxed);
    return MOT_OK;
}

enum mot_status mot_outlet_open(const struct mot_address *a, const struct mot_intake_conf *conf,
    const volatile sig_atomic_t *stop, struct mot_outlet **out)
{
    enum mot_status status = MOT_EUSAGE;
    struct mot_outlet *made = NULL;
    switch (a->kind) {
    case MOT_INLET_FILE: status = mot_outlet_file(a->path, &made); break;
    case MOT_INLET_MQTT: status = mot_outlet_mqtt(a, conf, &made); break;
    case MOT_INLET_KAFKA: status = mot_outlet_kafka(a, conf, &made); break;
    case MOT_INLET_INPUT:
    case MOT_INLET_RATE:
    case MOT_INLET_KINDS: return mot_fail(MOT_EUSAGE, "expected a file, kafka:// or mqtt:// to write to");
    }
    if (status != MOT_OK) return status;
    made->stop = stop;
    *out = made;
    return MOT_OK;
}
