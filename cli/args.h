/* args.h -- parses a command line into struct cli_args. */
#ifndef MOT_CLI_ARGS_H
#define MOT_CLI_ARGS_H

#include "base/memory.h"
#include "cli.h"

/* The flags that every command takes; ended by a NULL name. */
extern const struct cli_flag cli_common_flags[];

/* Finds the command that the first words name. `used` is how many of them; an
 * error names the nearest command. */
enum mot_status cli_find_command(
    const char *const *word, size_t words, const struct cli_command **command_out, size_t *used_out);

/* Parses what follows the command. The arena owns the result. */
enum mot_status cli_parse(const struct cli_command *, const char *const *word, size_t words,
    struct mot_arena *, struct cli_args *out);

/* Whether a and the first `b_length` bytes of b name the same flag, as "stop.target.test_accuracy" and
 * "stop-target-test-accuracy" do. */
bool cli_same_flag(const char *a, const char *b, size_t b_length);
/* The flag of that name, or NULL. `flags` may be NULL. */
const struct cli_flag *cli_find_flag(const struct cli_flag *flags, const char *name, size_t length);

/* Whether `flag` or its `letter`, such as "--help" or "-h", occurs anywhere before "--". */
bool cli_asks(const char *const *word, size_t words, const char *flag, const char *letter);

#endif
