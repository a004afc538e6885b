#include "base/csv_field.h"
#include "test.h"
#include <stdlib.h>

TEST(text_is_quoted_only_where_it_would_be_taken_apart)
{
    static const struct {
        const char *text, *separators, *field;
    } fields[] = {
        { "", ",", "" },
        { "plain", ",", "plain" },
        { "two words", ",", "two words" },
        { "two words", ", ", "\"two words\"" },
        { "a,b", ",", "\"a,b\"" },
        { "a;b", ",", "a;b" },
        { "a;b", ",;", "\"a;b\"" },
        { "say \"no\"", ",", "\"say \"\"no\"\"\"" },
        { "two\nlines", ",", "\"two\nlines\"" },
        { "\r", ",", "\"\r\"" },
        { " a", ",", "\" a\"" },
        { "a ", ",", "\"a \"" },
        { "\"", ",", "\"\"\"\"" },
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        char *field = mot_csv_field(fields[i].text, fields[i].separators);
        CHECK_TEXT(field, fields[i].field);
        free(field);
    }
}

TEST_MAIN()
