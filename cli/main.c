/* main.c -- the program: finds the command, parses its flags, runs it, reports errors. */
#include "api/plugin.h"
#include "args.h"
#include "base/memory.h"
#include "base/shown.h"
#include "config/version.h"
#include "help.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct cli_command *const cli_commands[] = {
    &cli_sim,
    &cli_train,
    &cli_replay,
    &cli_profile,
    &cli_plan,
    &cli_compare,
    &cli_tune,
    &cli_report,
    &cli_partition,
    &cli_data_list,
    &cli_data_info,
    &cli_data_convert,
    &cli_cluster_show,
    &cli_cluster_list,
    &cli_cluster_import,
    &cli_trace_fit,
    &cli_topology,
    &cli_code,
    &cli_stream,
    &cli_eval,
    &cli_predict,
    &cli_features,
    &cli_completion,
    &cli_help,
    NULL,
};

static bool wants_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    return isatty(STDERR_FILENO) && !(no_color && *no_color);
}

size_t cli_columns(void)
{
    struct winsize window;
    size_t columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
    return columns < 80 ? 80 : columns > 100 ? 100 : columns;
}

int cli_complain(enum mot_status status)
{
    bool colour = wants_colour();
    fflush(stdout);
    fprintf(stderr, "%smotley:%s ", colour ? "\033[31m" : "", colour ? "\033[0m" : "");
    mot_put_shown(mot_error(), stderr); /* it may quote a file's content */
    fputc('\n', stderr);
    return status;
}

/* Before the rest is parsed: flags and keys may belong to a loaded method. */
static enum mot_status load_plugins(const char *const *word, size_t words)
{
    static const char flag[] = "--plugin";
    enum mot_status status = MOT_OK;
    for (size_t i = 0; i < words && status == MOT_OK && strcmp(word[i], "--") != 0; i++) {
        if (strncmp(word[i], flag, sizeof flag - 1) != 0) continue;
        const char *rest = word[i] + sizeof flag - 1;
        if (*rest == '=') status = mot_plugin_load(rest + 1);
        else if (!*rest && i + 1 < words) status = mot_plugin_load(word[++i]);
    }
    return status;
}

static enum mot_status run(const char *const *word, size_t words)
{
    if (words == 0) {
        help_short(stdout);
        return MOT_OK;
    }
    if (cli_asks(word, words, "--version", "-V")) {
        puts("motley " MOT_VERSION);
        return MOT_OK;
    }
    enum mot_status status = load_plugins(word, words);
    if (status != MOT_OK) return status;
    bool asks_help = cli_asks(word, words, "--help", "-h");
    if (word[0][0] == '-' && asks_help) {
        help_all(stdout);
        return MOT_OK;
    }
    if (asks_help && word[1][0] == '-' && help_group(stdout, word[0])) return MOT_OK;
    const struct cli_command *command;
    size_t used;
    status = cli_find_command(word, words, &command, &used);
    if (status != MOT_OK) return status;
    if (asks_help) {
        help_command(stdout, command);
        return MOT_OK;
    }
    struct mot_arena arena = { NULL };
    struct cli_args args = { .colour = wants_colour(), .line = word, .lines = words };
    status = cli_parse(command, word + used, words - used, &arena, &args);
    if (status == MOT_OK) status = command->run(&args);
    mot_arena_free(&arena);
    return status;
}

int main(int count, char **arguments)
{
    size_t words = count > 0 ? (size_t)count - 1 : 0;
    struct mot_spare *spare;
    enum mot_status status = mot_spare_open(&spare);
    if (status != MOT_OK) return cli_complain(status);
    mot_spare_use(spare);
    status = run((const char *const *)(arguments + 1), words);
    if (mot_memory_refused()) status = mot_memory_status();
    if (status != MOT_OK) return cli_complain(status);
    if (fflush(stdout) != 0 || ferror(stdout))
        return cli_complain(mot_fail(MOT_ESYSTEM, "cannot write to standard output"));
    mot_spare_use(NULL);
    mot_spare_close(spare);
    return MOT_OK;
}
