#include "stream/record_write.h"
#include "data/number.h"
#include <stdio.h>
#include <string.h>

const char *mot_record_label_unfit(enum mot_record_format format, const struct mot_record_label *l)
{
    switch (format) {
    case MOT_RECORDS_RAW: return NULL;
    case MOT_RECORDS_CSV: return strpbrk(l->text, ",\"\r\n") ? "has a comma, a quote or a line end" : NULL;
    case MOT_RECORDS_LIBSVM:
        return *l->text == 0 || strpbrk(l->text, " \t\r\n#") ? "is not a single word, as LIBSVM needs" : NULL;
    case MOT_RECORDS_JSON: break;
    }
    for (const char *p = l->text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '"' || *p == '\\') return "has a quote or a control character";
    return NULL;
}

size_t mot_record_print_room(uint32_t cols, const struct mot_record_label *l)
{
    return 64 + strlen(l->text) + (size_t)cols * 40;
}

static size_t put_raw(const float *x, uint32_t cols, float label, char *into)
{
    unsigned char header[MOT_RAW_HEADER];
    mot_raw_header(header, cols, 1);
    memcpy(into, header, sizeof(header));
    memcpy(into + sizeof(header), &label, sizeof(label));
    memcpy(into + sizeof(header) + sizeof(label), x, cols * sizeof(*x));
    return MOT_RAW_HEADER + MOT_RAW_ROW(cols);
}

static size_t put_text(char *into, size_t n, const char *text)
{
    size_t bytes = strlen(text);
    memcpy(into + n, text, bytes);
    return n + bytes;
}

size_t mot_record_print(enum mot_record_format format, const float *x, uint32_t cols,
    const struct mot_record_label *l, char *into, size_t room)
{
    size_t n = 0;
    if (format == MOT_RECORDS_RAW) return put_raw(x, cols, l->value, into);
    if (format == MOT_RECORDS_JSON) n = put_text(into, n, "{\"x\":[");
    if (format == MOT_RECORDS_LIBSVM) n = put_text(into, n, l->text);
    for (uint32_t c = 0; c < cols; c++) {
        if (format == MOT_RECORDS_LIBSVM && x[c] == 0) continue;
        if (format == MOT_RECORDS_LIBSVM) n += (size_t)snprintf(into + n, room - n, " %u:", c + 1);
        n += (size_t)mot_print_float(into + n, room - n, x[c]);
        if (format == MOT_RECORDS_CSV || (format == MOT_RECORDS_JSON && c + 1 < cols)) into[n++] = ',';
    }
    if (format == MOT_RECORDS_CSV) n = put_text(into, n, l->text);
    if (format == MOT_RECORDS_JSON) {
        n = put_text(into, n, l->number ? "],\"y\":" : "],\"y\":\"");
        n = put_text(into, n, l->number && *l->text == '+' ? l->text + 1 : l->text);
        n = put_text(into, n, l->number ? "}" : "\"}");
    }
    into[n++] = '\n';
    return n;
}
