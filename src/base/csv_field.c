#include "base/csv_field.h"
#include "base/memory.h"
#include <stdbool.h>
#include <string.h>

static bool needs_quotes(const char *text, size_t n, const char *separators)
{
    return strpbrk(text, "\"\r\n") || strpbrk(text, separators) ||
        (n && (text[0] == ' ' || text[n - 1] == ' '));
}

char *mot_csv_field(const char *text, const char *separators)
{
    size_t n = strlen(text), used = 0;
    if (!needs_quotes(text, n, separators)) return mot_text(text);
    char *field = mot_new(2 * n + 3, 1);
    field[used++] = '"';
    for (; *text; text++) {
        if (*text == '"') field[used++] = '"';
        field[used++] = *text;
    }
    field[used] = '"';
    return field;
}
