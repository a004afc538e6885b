/* cli.h -- a subcommand is a table entry: its help, man page and parsing follow from it. */
#ifndef MOT_CLI_H
#define MOT_CLI_H

#include "config/experiment.h"
#include <motley/status.h>
#include <stdbool.h>

struct cli_flag {
    const char *name;  /* "json": written --json */
    const char *value; /* "FILE", or NULL for a switch */
    const char *doc;
};

/* The parsed command line. Every command also takes --help, --json and --quiet. */
struct cli_args {
    const struct cli_command *command;
    const char **word;
    size_t words; /* arguments that are not flags */
    struct {
        const struct cli_flag *flag;
        const char *value;
    } * given;
    size_t givens;
    /* experiment keys given as flags or by --set, if the command takes them */
    struct mot_setting *setting;
    size_t settings;
    /* the command line as typed, after the program's name */
    const char *const *line;
    size_t lines;
    /* colour: stderr is a terminal and NO_COLOR is not set */
    bool json, quiet, colour;
};

struct cli_command {
    const char *name;             /* "sim", or "data info" for a nested one */
    const char *synopsis;         /* "[EXPERIMENT.yaml] [flags]" */
    const char *summary;          /* one line */
    const char *about;            /* paragraphs; may be NULL */
    const char *examples;         /* lines; may be NULL */
    const struct cli_flag *flags; /* ended by a NULL name; may be NULL */
    const char *words;            /* choices for its words, "bash|zsh"; NULL: files, or by the name */
    size_t words_min, words_max;
    bool experiment_flags; /* takes every experiment key as a flag, and --set */
    bool prints_only;      /* rejects --out */
    /* on failure main prints mot_error() and exits with the status */
    enum mot_status (*run)(const struct cli_args *);
};
extern const struct cli_command *const cli_commands[]; /* ended by NULL; cli/main.c */

size_t cli_columns(void); /* the width of standard output's window, from 80 to 100; 80 if there is none */
int cli_complain(enum mot_status); /* prints mot_error(); returns the status */
bool cli_given(const struct cli_args *, const char *flag);
const char *cli_value(const struct cli_args *, const char *flag); /* the last given, or NULL */

/* One per file: cli/<name>.c */
extern const struct cli_command cli_sim, cli_train, cli_replay, cli_profile;
extern const struct cli_command cli_compare, cli_tune, cli_report, cli_plan;
extern const struct cli_command cli_partition;
extern const struct cli_command cli_data_list, cli_data_info, cli_data_convert, cli_cluster_show,
    cli_cluster_list, cli_cluster_import, cli_trace_fit, cli_topology, cli_code;
extern const struct cli_command cli_stream, cli_eval, cli_predict, cli_features, cli_completion, cli_help;

#endif
