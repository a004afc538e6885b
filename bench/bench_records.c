/* bench_records.c -- how fast records become rows, on one core.
 *
 *   bench_records [REPEATS]
 *
 * Rows of 784 numbers of up to four digits and a class, as they come from a camera or a sensor; CPU time, the
 * median with the least and the most. `memcpy` moves the same bytes of raw floats, for comparison. */
#include "base/memory.h"
#include "data/number.h"
#include "rig.h"
#include "stream/records.h"
#include <motley/random.h>

#define COLS 784u
#define ROWS 2000u
#define MOST_REPEATS 101u

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float value_of(uint32_t row, uint32_t col) { return (float)(mot_hash3(1, row, col) % 10000) / 1000; }

static size_t write_rows(uint32_t format, unsigned char *into, size_t room)
{
    size_t n = 0;
    if (format == MOT_RECORDS_RAW) {
        mot_raw_header(into, COLS, ROWS);
        n = MOT_RAW_HEADER;
    }
    for (uint32_t r = 0; r < ROWS; r++) {
        float label = (float)(r % 10);
        char text[40];
        if (format == MOT_RECORDS_RAW) memcpy(into + n, &label, 4), n += 4;
        if (format == MOT_RECORDS_LIBSVM) n += (size_t)snprintf((char *)into + n, room - n, "%u", r % 10);
        if (format == MOT_RECORDS_JSON) n += (size_t)snprintf((char *)into + n, room - n, "{\"x\":[");
        for (uint32_t c = 0; c < COLS; c++) {
            float x = value_of(r, c);
            mot_print_float(text, sizeof text, x);
            if (format == MOT_RECORDS_RAW) memcpy(into + n, &x, 4), n += 4;
            if (format == MOT_RECORDS_CSV) n += (size_t)snprintf((char *)into + n, room - n, "%s,", text);
            if (format == MOT_RECORDS_LIBSVM)
                n += (size_t)snprintf((char *)into + n, room - n, " %u:%s", c + 1, text);
            if (format == MOT_RECORDS_JSON)
                n += (size_t)snprintf((char *)into + n, room - n, "%s%s", c ? "," : "", text);
        }
        if (format == MOT_RECORDS_CSV) n += (size_t)snprintf((char *)into + n, room - n, "%u\n", r % 10);
        if (format == MOT_RECORDS_LIBSVM) n += (size_t)snprintf((char *)into + n, room - n, "\n");
        if (format == MOT_RECORDS_JSON)
            n += (size_t)snprintf((char *)into + n, room - n, "],\"y\":%u}\n", r % 10);
    }
    return n;
}

static void print(const char *what, size_t bytes, unsigned n, double *each)
{
    qsort(each, n, sizeof(*each), rig_by_size);
    printf("%-8s %8.0f MB/s (%.0f to %.0f)\n", what, (double)bytes / each[n / 2] * 1e-6,
        (double)bytes / each[n - 1] * 1e-6, (double)bytes / each[0] * 1e-6);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const format_name[] = { "CSV", "LIBSVM", "JSON", "raw" };
    static char digit[10][2], *classes[10];
    unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 9;
    size_t room = (size_t)ROWS * COLS * 16;
    unsigned char *bytes = mot_new(room, 1);
    float *x = mot_new((size_t)COLS * 64, sizeof(*x)), y;
    double each[MOST_REPEATS];
    if (repeats < 1 || repeats > MOST_REPEATS) repeats = 9;
    for (int i = 0; i < 10; i++) {
        digit[i][0] = (char)('0' + i);
        classes[i] = digit[i];
    }
    for (uint32_t format = MOT_RECORDS_CSV; format <= MOT_RECORDS_RAW; format++) {
        struct mot_record_form form = { .format = format,
            .label = UINT32_MAX,
            .separator = ',',
            .label_key = "y",
            .feature_key = "x",
            .schema = { .cols = COLS, .classes = 10, .class_names = classes, .scale = MOT_SCALE_NONE } };
        size_t n = write_rows(format, bytes, room);
        for (unsigned k = 0; k < repeats; k++) {
            struct mot_records *r = mot_records_open(&form);
            uint32_t rows = 0;
            double began = cpu_now();
            for (size_t at = 0, took; at < n; at += took)
                rows += mot_records_next(r, bytes + at, n - at, &took, x + rows % 64 * COLS, &y) ==
                    MOT_RECORD_ROW;
            each[k] = cpu_now() - began;
            mot_records_close(r);
            if (rows != ROWS) return fprintf(stderr, "bench_records: %u rows of %u\n", rows, ROWS), 1;
        }
        print(format_name[format], n, repeats, each);
        if (format != MOT_RECORDS_RAW) continue;
        for (unsigned k = 0; k < repeats; k++) {
            double began = cpu_now();
            for (uint32_t r = 0; r < ROWS; r++)
                memcpy(x + r % 64 * COLS, bytes + MOT_RAW_HEADER + r * MOT_RAW_ROW(COLS), COLS * sizeof(*x));
            each[k] = cpu_now() - began;
        }
        print("memcpy", n, repeats, each);
    }
    free(bytes);
    free(x);
    return 0;
}
