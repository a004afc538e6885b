#!/bin/bash
# Methods and models of one's own for the program: a plugin, built with what is installed, for every command.
set -euo pipefail
. "$MOTLEY_SOURCE/test/built.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL $*"; exit 1; }
prefix=$folder/prefix
"$CMAKE" --install "$MOTLEY_BUILD" --prefix "$prefix" >"$folder/log" || { cat "$folder/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name motley.pc)")
export PKG_CONFIG_PATH
unset MOTLEY_STORE
motley=$prefix/bin/motley
sanitize=$(grep '^CMAKE_C_FLAGS:' "$MOTLEY_BUILD/CMakeCache.txt" | grep -o -- '-fsanitize=[a-z,]*' || true)
cp "$MOTLEY_SOURCE"/examples/method/{plugin,local_sgd,clipped}.c "$MOTLEY_SOURCE/test/api/outside/model.c" "$folder"
cd "$folder"
so() { # OUT ARGUMENTS...
    local out=$1
    shift
    # shellcheck disable=SC2046,SC2086
    "$MOTLEY_CC" -std=c17 -Wall -Wextra -Wpedantic -Werror -shared -fPIC $sanitize "$@" $(pkg-config --cflags motley) -o "$out" || fail "building $out"
}
number() { sed -n "s/^ *\"$2\": \([-0-9.e+]*\),*$/\1/p" "$1" | head -n 1; }
so methods.so plugin.c local_sgd.c clipped.c
cat >models.c <<'C'
#include <motley/plugin.h>
extern const struct mot_model line;
static const struct mot_model *const models[] = { &line, NULL };
MOT_PLUGIN(.models = models)
C
so models.so models.c model.c

# The same bits as through the library.
flags=(--workers 4 --stop-updates 50 --optimizer-momentum 0 --optimizer-lr 0.1 --model softmax)
"$MOTLEY_BUILD/example_method" workers=4 stop.updates=50 optimizer.momentum=0 optimizer.lr=0.1 model=softmax method.period=4 >library.json
"$motley" sim --plugin methods.so --method local-sgd --method-period 4 "${flags[@]}" --json --quiet >plugin.json
[ -n "$(number plugin.json test_loss)" ] && [ "$(number plugin.json test_loss)" = "$(number library.json test_loss)" ] ||
    fail "a plugin's run differs from the library's"
echo "ok   a method from a plugin learns as it does through the library"

"$motley" train --plugin=methods.so --method clipped --method-clip 0.5 "${flags[@]}" --quiet >said || fail "threads: $(cat said)"
"$motley" help clipped --plugin methods.so | grep 'the longest a mean gradient may be' >/dev/null || fail "help does not know its options"
"$motley" sim --method clipped --dry-run 2>said && fail "the method is there without the plugin"
grep -q "method" said || fail "unclear: $(cat said)"
if command -v mpirun >/dev/null && MOTLEY=$motley built_with mpi; then
    "$motley" train --plugin methods.so --method clipped "${flags[@]}" --workers 2 --ranks 2 --quiet >said 2>&1 || fail "ranks: $(cat said)"
fi
echo "ok   threads, ranks and help know it"

# A study keeps runs by what the plugin is: a changed one makes them again, the same one does not.
study() { "$motley" compare --plugin methods.so --methods 'clipped, allreduce' --seeds 2 --data digits "${flags[@]}" --store runs --out report --quiet >said 2>&1 || fail "a study: $(cat said)"; find runs -name summary.json | wc -l; }
[ "$(study)" = 4 ] && [ "$(study)" = 4 ] || fail "a study does not keep its runs"
so methods.so plugin.c local_sgd.c clipped.c -DCHANGED -g
[ "$(study)" = 8 ] || fail "runs of another plugin were taken for this one's"
echo "ok   a study makes runs again when the plugin has changed"

printf 'x,y\n' >line.csv
for i in $(seq 1 60); do echo "$i.5,$((2 * i))" >>line.csv; done
"$motley" sim --plugin models.so --data '{name: line.csv, task: regression}' --model line --workers 2 --stop-updates 100 --out run --quiet >said
"$motley" eval run --plugin models.so >said || fail "eval: $(cat said)"
"$motley" predict run --plugin models.so >said || fail "predict: $(cat said)"
[ "$(wc -l <said)" = 12 ] || fail "predict: $(cat said)"
"$motley" eval run 2>said && fail "its model is known without the plugin"
grep -q -- '--plugin' said || fail "unclear: $(cat said)"
echo "ok   a model from a plugin, trained, evaluated, predicted with"

refused() { # CLAIM TEXT ARGUMENTS...
    local claim=$1 text=$2 code=0
    shift 2
    "$motley" sim --dry-run "$@" >said 2>&1 || code=$?
    [ $code = 2 ] && grep -qF -- "$text" said || fail "$claim: code $code: $(cat said)"
    echo "ok   $claim"
}
refused "a plugin that is not there" "none.so: there is no such file" --plugin none.so
refused "a file that is no shared object" "cannot load it" --plugin line.csv
echo 'int nothing;' >empty.c
so empty.so empty.c
refused "a shared object without the symbol" "has no symbol motley_plugin" --plugin empty.so
sed 's/^MOT_PLUGIN/#undef MOT_PLUGIN_VERSION\n#define MOT_PLUGIN_VERSION 7\nMOT_PLUGIN/' models.c >later.c
so later.so later.c model.c
refused "a plugin for another version" "for version 7 of the plugin interface, and this program has version 4" --plugin later.so
printf '#include <motley/plugin.h>\nMOT_PLUGIN(.methods = 0)\n' >none.c
so brings.so none.c
refused "a plugin that brings nothing" "neither a method nor a model" --plugin brings.so
sed 's/"local-sgd"/"async"/' local_sgd.c >taken.c
so taken.so plugin.c taken.c clipped.c
refused "a name that is taken" "method 'async': there is one of that name already" --plugin taken.so
printf '#include <motley/plugin.h>\nextern int mot_never_there(void);\nstatic const struct mot_method *const m[] = { 0 };\nMOT_PLUGIN(.methods = m)\nint f(void);\nint f(void) { return mot_never_there(); }\n' >hole.c
so hole.so hole.c
refused "a function that this motley lacks" "mot_never_there" --plugin hole.so
refused "a flag without its file" "expected FILE.so" --plugin
