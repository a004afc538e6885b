/* inlet_password.c -- the password of a broker's user, kept apart from addresses and experiments, which are
 * stored. */
#include "base/file.h"
#include "base/memory.h"
#include "stream/inlet.h"
#include <stdlib.h>
#include <string.h>

#define PASSWORD_MOST 4096u

enum mot_status mot_inlet_password(const struct mot_intake_conf *c, char **out)
{
    const char *given = getenv("MOTLEY_PASSWORD");
    unsigned char *bytes;
    size_t n;
    if (!c->password_file) {
        *out = given && *given ? mot_text(given) : NULL;
        return MOT_OK;
    }
    enum mot_status status = mot_file_read(c->password_file, PASSWORD_MOST, &bytes, &n);
    if (status != MOT_OK) return status;
    char *line = (char *)bytes;
    line[strcspn(line, "\r\n")] = 0;
    if (*line) *out = line;
    else {
        free(line);
        return mot_fail(
            MOT_EUSAGE, "%s: expected a password in the first line; it is empty", c->password_file);
    }
    return MOT_OK;
}
