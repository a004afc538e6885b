/* completion.c -- `motley completion`: scripts for bash, zsh and fish, which ask the program itself. */
#include "base/words.h"
#include "cli.h"
#include "complete.h"
#include <stdio.h>
#include <string.h>

/* Bash splits words at = and :, so the pieces are joined again, and the first is cut from the answers. */
static const char bash[] =
    "# Completion of motley's command line for bash, written by `motley completion bash`.\n"
    "_motley() {\n"
    "    local -a typed=()\n"
    "    local i word line last kept='' joins=''\n"
    "    for ((i = 1; i <= COMP_CWORD; i++)); do\n"
    "        word=${COMP_WORDS[i]}\n"
    "        if [[ (-n $joins || $word == [=:]*) && ${#typed[@]} -gt 0 ]]; then\n"
    "            typed[${#typed[@]}-1]+=$word\n"
    "        else\n"
    "            typed+=(\"$word\")\n"
    "        fi\n"
    "        joins=''\n"
    "        if [[ $word == *[=:] ]]; then joins=yes; fi\n"
    "    done\n"
    "    last=${typed[${#typed[@]}-1]}\n"
    "    if [[ $COMP_WORDBREAKS == *=* ]]; then kept=${last%\"${last##*[=:]}\"}; fi\n"
    "    last=${last#\"$kept\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS= read -r line; do\n"
    "        case $line in\n"
    "        :files)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -f -- \"$last\")\n"
    "            ;;\n"
    "        :folders)\n"
    "            compopt -o filenames 2>/dev/null\n"
    "            while IFS= read -r line; do COMPREPLY+=(\"$line\"); done < <(compgen -d -- \"$last\")\n"
    "            ;;\n"
    "        *)\n"
    "            line=${line%%$'\\t'*}\n"
    "            COMPREPLY+=(\"${line#\"$kept\"}\")\n"
    "            ;;\n"
    "        esac\n"
    "    done < <(\"${COMP_WORDS[0]}\" completion --words -- \"${typed[@]}\" 2>/dev/null)\n"
    "    if [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi\n"
    "    return 0\n"
    "}\n"
    "complete -F _motley motley\n";

static const char zsh[] =
    "#compdef motley\n"
    "# Completion of motley's command line for zsh, written by `motley completion zsh`.\n"
    "_motley() {\n"
    "    local line word files=''\n"
    "    local -a found shown open\n"
    "    for line in \"${(@f)$(\"${words[1]}\" completion --words -- \"${(@)words[2,CURRENT]}\" "
    "2>/dev/null)}\"; do\n"
    "        word=${line%%$'\\t'*}\n"
    "        case $line in\n"
    "        '') ;;\n"
    "        :files) files=files ;;\n"
    "        :folders) files=folders ;;\n"
    "        *=$'\\t'*) open+=(\"$word\") ;;\n"
    "        *) found+=(\"$word\"); shown+=(\"$word  -- ${line#*$'\\t'}\") ;;\n"
    "        esac\n"
    "    done\n"
    "    (( ${#open} )) && compadd -S '' -a open\n"
    "    (( ${#found} )) && compadd -l -d shown -a found\n"
    "    if [[ -n $files ]]; then\n"
    "        [[ ${words[CURRENT]} == --*=* ]] && compset -P '*='\n"
    "        if [[ $files == folders ]]; then _files -/; else _files; fi\n"
    "    fi\n"
    "}\n"
    "if [[ ${funcstack[1]} == _motley ]]; then _motley \"$@\"; else compdef _motley motley; fi\n";

static const char fish[] =
    "# Completion of motley's command line for fish, written by `motley completion fish`.\n"
    "function __motley_words\n"
    "    set -l typed (commandline -opc) (commandline -ct)\n"
    "    set -l kept (string match -r '^--[^=]*=' -- $typed[-1])\n"
    "    set -l begun (string replace -r '^--[^=]*=' '' -- $typed[-1])\n"
    "    for line in ($typed[1] completion --words -- $typed[2..-1] 2>/dev/null)\n"
    "        switch $line\n"
    "            case ':files'\n"
    "                for path in (__fish_complete_path \"$begun\")\n"
    "                    echo \"$kept$path\"\n"
    "                end\n"
    "            case ':folders'\n"
    "                for path in (__fish_complete_directories \"$begun\" '')\n"
    "                    echo \"$kept$path\"\n"
    "                end\n"
    "            case '*'\n"
    "                echo $line\n"
    "        end\n"
    "    end\n"
    "end\n"
    "complete -c motley -f -a '(__motley_words)'\n";

static enum mot_status run(const struct cli_args *args)
{
    static const struct {
        const char *name, *script;
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    if (cli_given(args, "words")) {
        cli_complete(args->word, args->words, stdout);
        return MOT_OK;
    }
    const char *wanted = args->words == 1 ? args->word[0] : "";
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, wanted) != 0) continue;
        fputs(shells[i].script, stdout);
        return MOT_OK;
    }
    if (args->words == 0) return mot_fail(MOT_EUSAGE, "expected a shell: bash, zsh or fish; found nothing");
    return mot_fail(MOT_EUSAGE, "expected a shell: bash, zsh or fish; found '%.60s'",
        args->word[args->words > 1 ? 1 : 0]);
}

static const struct cli_flag flags[] = {
    { "words", NULL, "print completions of the last of the words after --; the scripts call this" },
    { NULL, NULL, NULL },
};

const struct cli_command cli_completion = {
    .name = "completion",
    .synopsis = "bash|zsh|fish",
    .summary = "complete command lines in bash, zsh or fish",
    .about = "The script completes commands, flags, experiment keys as flags, and their values: methods, "
             "models, data sets, clusters, choices, files. It asks the program itself, from the same tables "
             "as the help. make install puts it where each shell looks for it; without that, load it in the "
             "shell's start-up file as below.",
    .examples = "source <(motley completion bash)        # in ~/.bashrc\n"
                "source <(motley completion zsh)         # in ~/.zshrc, after compinit\n"
                "motley completion fish | source         # in ~/.config/fish/config.fish\n",
    .flags = flags,
    .words = "bash|zsh|fish",
    .words_max = 10000,
    .run = run,
};
