#!/bin/bash
# Shells complete motley's command lines: the words come from the tables that the program parses with, and bash,
# zsh and fish, where they are installed, put them into the line.
. "$(dirname "$0")/../says.sh"

next() { "$MOTLEY" completion --words -- "$@"; }
# offers CLAIM WORDS -- TYPED...: the words, and no others, could stand for the last one typed
offers() {
    local claim=$1 expected=$2 said
    shift 2
    said=$(next "$@" | cut -f1 | tr '\n' ' ')
    if [ "$said" = "$expected " ] || [ "$said$expected" = "" ]; then echo "ok   $claim"
    else
        echo "FAIL $claim: '$said', expected '$expected'"
        failures=$((failures + 1))
    fi
}
# all_of CLAIM WORDS TYPED...: at least these words are offered
all_of() {
    local claim=$1 words=$2 word lacking='' said
    shift 2
    said=$(next "$@" | cut -f1)
    for word in $words; do grep -qxF -e "$word" <<<"$said" || lacking+=" $word"; done
    if [ -n "$words" ] && [ -z "$lacking" ]; then echo "ok   $claim"
    else
        echo "FAIL $claim: not offered:$lacking"
        failures=$((failures + 1))
    fi
}

pages=$("$MOTLEY" help --man-list | sed -n 's/^motley-\(.*\)\.1$/\1/p')
all_of "every command" "$(sed 's/-.*//' <<<"$pages")" ''
all_of "every command of a group" "list info convert" data ''
for command in sim train compare plan predict 'data info' 'cluster show'; do
    flags=$("$MOTLEY" $command --help | sed -n "1,/^Flags/d; s/^  \(--[a-z][a-z-]*\).*/\1/p")
    all_of "every flag in the help of $command" "$flags" $command --
done
methods=$("$MOTLEY" help method | sed -n '/^Details/q; s/^  \([a-z0-9]*\) .*/\1/p')
all_of "every method" "$methods" sim --method ''
all_of "every method, as a topic" "$methods" help method ''
offers "a command that is begun" "train trace" tr
offers "a subcommand that is begun" convert data con
offers "a value in the flag's own word" --method=async sim --method=asy
offers "a value of --set" method=async sim --set method=asy
offers "a value of --set in its own word" --set=method=async sim --set=method=asy
offers "the last of several methods" allreduce,async compare --methods allreduce,asy
offers "a method after a comma and a blank" "allreduce, async" compare --methods "allreduce, asy"
offers "choices of a key" "equal proportional" sim --sizing ''
offers "choices of a flag" "test train valid all" eval --part ''
offers "clusters by name, and files" "phones :files" sim --cluster ph
offers "data sets by name, and files" "fashion-mnist :files" data info fa
offers "files, after a switch, too" :files predict --probabilities ''
offers "folders, for a run" ":folders none" sim --out ''
offers "nothing, where there are enough words" "" trace fit one.csv ''
offers "nothing of an unknown command" "" nonsense ''
offers "no flags after two dashes" :files sim -- --meth
offers "shells" "bash zsh fish" completion ''
says "an unknown shell is refused" 2 "bash, zsh or fish; found 'tcsh'" "$MOTLEY" completion tcsh
says "no shell is refused" 2 "found nothing" "$MOTLEY" completion

# In the shells themselves. The line is typed and a tab pressed.
mkdir "$box/here"
cd "$box/here" || exit 1
touch unlike.yaml
mkdir results
PATH=$(dirname "$MOTLEY"):$PATH
lines=('motley predi' 'motley data inf' 'motley sim --method ringm' 'motley sim --method=ringm' 'motley sim --sizing prop'
    'motley sim unl' 'motley sim --out resu' 'motley compare --methods allreduce,ringm' 'motley sim --set optimizer.lr')
completed='motley predict
motley data info
motley sim --method ringmaster
motley sim --method=ringmaster
motley sim --sizing proportional
motley sim unlike.yaml
motley sim --out results
motley compare --methods allreduce,ringmaster
motley sim --set optimizer.lr='
shown() { # SHELL OUTPUT
    if [ "$(sed 's,/* *$,,' <<<"$2")" = "$completed" ]; then echo "ok   $1 completes what is typed"
    else
        echo "FAIL $1: it makes"
        echo "$2"
        failures=$((failures + 1))
    fi
}
if ! command -v python3 >/dev/null; then echo "skip: no python3, which types into bash and zsh"
else
    typed=$MOTLEY_SOURCE/test/cli/typed.py
    shown bash "$(python3 "$typed" bash "source <(motley completion bash)" "${lines[@]}")"
    if ! command -v zsh >/dev/null; then echo "skip: no zsh"
    else
        load="bindkey -e; autoload -U compinit; compinit -u -d '$box/dump'; source <(motley completion zsh)"
        shown zsh "$(python3 "$typed" zsh "$load" "${lines[@]}")"
        mkdir "$box/functions" # as an installed one is found
        motley completion zsh >"$box/functions/_motley"
        load="bindkey -e; fpath=('$box/functions' \$fpath); autoload -U compinit; compinit -u -d '$box/dump2'"
        shown "zsh with an installed script" "$(python3 "$typed" zsh "$load" "${lines[@]}")"
    fi
fi
if ! command -v fish >/dev/null; then echo "skip: no fish"
else
    export HOME=$box XDG_CONFIG_HOME=$box XDG_DATA_HOME=$box
    shown fish "$(for line in "${lines[@]}"; do
        # complete -C prints what could stand for the last word
        words=$(fish -N -c "motley completion fish | source; complete -C '$line'" | cut -f1)
        echo "${line% *} $words"
    done)"
fi

echo "$failures failed"
[ $failures -eq 0 ]
