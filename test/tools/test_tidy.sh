#!/bin/bash
# Every rule of tools/tidy catches a breach planted in a copy of the tree.
set -uo pipefail
tidy=$MOTLEY_BUILD/tidy
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
failures=0

(cd "$MOTLEY_SOURCE" && cp -r include src cli test tools "$copy")
mkdir -p "$copy"/src/{base,math,data,method,driver,report,config,cluster} "$copy/cli"
fresh() { find "$copy" -name '*planted*' -delete; }

# catches CLAIM FILE TEXT EXPECTED: with TEXT at the end of FILE, tidy fails and says EXPECTED.
catches() {
    fresh
    printf '%s\n' "$3" >>"$copy/$2"
    local said
    said=$("$tidy" "$copy" 2>&1)
    local status=$?
    if [ $status -ne 1 ] || ! grep -qF -- "$4" <<<"$said" || ! grep -qF "$2:" <<<"$said"; then
        echo "FAIL $1: exit $status, expected 1 and '$4' for $2"
        echo "$said" | head -n 20
        failures=$((failures + 1))
    else
        echo "ok   $1"
    fi
}

# passes CLAIM FILE TEXT: with it, tidy is content.
passes() {
    fresh
    [ -z "$2" ] || printf '%s\n' "$3" >>"$copy/$2"
    local said
    if ! said=$("$tidy" "$copy" 2>&1); then
        echo "FAIL $1: should pass"
        echo "$said" | head -n 20
        failures=$((failures + 1))
    else
        echo "ok   $1"
    fi
}

passes "the tree as it is" "" ""
# With pipefail, a writer that `grep -q` leaves alone fails the pipe: now and then, by its last breath.
if grep -rn --include='*.sh' '| grep -[a-zA-Z]*q' "$copy/test"; then
    echo "FAIL no script asks grep -q at the end of a pipe: it takes >/dev/null"
    failures=$((failures + 1))
fi
# The rest needs no tree of 900 files, which take a third of a second each time.
find "$copy"/src/*/ "$copy"/test/*/ -name '*.c' -size +2k -delete
catches "base includes math" src/base/planted.c '#include "math/optim.h"' 'base may not include "math/optim.h"'
catches "math includes data" src/math/planted.c '#include "data/data.h"' 'edges point downward'
catches "data includes driver" src/data/planted.h '  #  include "run/outcome.h"' 'edges point downward'
catches "a method includes a driver" src/method/planted.c '#include "run/outcome.h"' 'method may not include'
catches "a method includes the cluster" src/method/planted.c '#include "cluster/cluster.h"' 'method may not include'
catches "a method includes the public library" src/method/planted.c '#include <motley/motley.h>' 'it may include only motley/method.h'
catches "config includes driver" src/config/planted.c '#include "run/outcome.h"' 'config may not include'
catches "a driver includes report" src/live/planted.c '#include "report/report.h"' 'live may not include'
catches "report includes cli" src/report/planted.c '#include "cli/cli.h"' 'report may not include'
catches "a wait by the wall clock" src/data/planted.c 'int f(void *t) { return clock_gettime(CLOCK_REALTIME, t); }' 'see base/stopwatch.h'
catches "an include without its room" src/data/planted.c '#include "data.h"' 'write the room'
catches "a public header includes the inside" include/motley/planted.h '#include "base/rng.h"' 'a public header includes'
catches "the web server outside of its file" src/live/planted.c '#include <microhttpd.h>' 'only src/serve/http.c'
catches "mpi.h outside of its driver" src/live/planted.c '#include <mpi.h>' 'only src/wire/mpi.c'
passes "downward edges" src/live/planted.c '#include "config/experiment.h"'
passes "an include in a comment" src/base/planted.c '/* #include "math/optim.h" */'

for call in strcpy strcat sprintf atoi rand strtok gets; do
    catches "$call()" src/data/planted.c "void f(void) { $call (0); }" "$call() is banned"
done
catches "a banned call in a test" test/base/test_planted.c 'int g(const char *t) { return atoi(t); }' 'atoi() is banned'
catches "a banned call after a comment and a string" cli/planted.c 'int g(void) { /* it"s */ return f("\"", atoi("1")); }' 'atoi() is banned'
catches "sscanf() in the library" src/data/planted.c 'int f(void) { return sscanf(0, 0); }' 'sscanf() is banned here'
passes "a banned name in a comment, a string, a member, a longer name" src/data/planted.c \
    '/* atoi(x) */ const char *t = "atoi(x)"; void f(void) { s.rand(1); p->rand(1); my_atoi(2); }'
catches "libm in a room of numbers" src/cluster/planted.c 'double f(double x) { return exp(x); }' 'exp() gives different bits'
passes "libm where it is said to be fine" src/cluster/planted.c 'double f(double x) { return exp(x); } /* libm is fine: for people */'
catches "libm on the line after" src/cluster/planted.c 'double g(double x) { return exp(x); }
int a; /* libm is fine: for people */' 'exp() gives different bits'
passes "libm in the report" src/report/planted.c 'double f(double x) { return log10(x); }'
catches "a method that allocates" src/method/planted.c 'void *f(void) { return malloc(3); }' 'a method calls malloc()'
catches "a method that reads a clock" src/method/planted.c 'void f(void) { clock_gettime(0, 0); }' 'a method calls clock_gettime()'
catches "a mark" src/base/planted.c "/* TO""DO: later */" "a mark"
catches "another mark" test/base/planted.txt "FIX""ME" "a mark"
passes "a word that contains one" src/base/planted.c '/* PHOTODOX */'
catches "a path of one machine" test/base/planted.txt "see /ho""me/someone/x" 'a path of one machine'
catches "another" src/base/planted.c "const char *p = \"/wo""rk/main\";" 'a path of one machine'
passes "a path that only looks like one" src/base/planted.c "/* ../wo""rk/x and a/ro""ot/y */"
catches "a line of 111 columns" src/base/planted.c "/* $(printf '%0105d' 0) */" '111 columns'
catches "a line of 111 columns of the page" src/page/template/planted.js "// $(printf '%0108d' 0)" '111 columns'
passes "a line of 110 columns" src/base/planted.c "/* $(printf '%0104d' 0) */"

fresh
{ for i in $(seq 120); do echo "int planted_$i;"; done; echo 'void long_one(void)'; echo '{'; for i in $(seq 90); do echo "    f($i);"; done; echo '}'; for i in $(seq 600); do echo; done; } >"$copy/src/base/planted.c"
said=$("$tidy" "$copy")
status=$?
if [ $status -eq 0 ] && grep -q 'note: src/base/planted.c has 813 lines' <<<"$said" && grep -q 'long_one() has 91 lines' <<<"$said"; then
    echo "ok   sizes are noted and do not fail"
else
    echo "FAIL sizes: exit $status: $said"
    failures=$((failures + 1))
fi

# A library that exports what no header declares; and one that exports only what is declared.
fresh
echo '__attribute__((visibility("default"))) int mot_planted(void) { return 1; } __attribute__((visibility("default"))) const char *mot_error(void) { return ""; }' >"$copy/../planted-$$.c"
"${MOTLEY_CC:-cc}" -shared -fPIC -o "$copy/planted.so" "$copy/../planted-$$.c"
rm -f "$copy/../planted-$$.c"
said=$("$tidy" "$copy" "$copy/planted.so")
status=$?
if [ $status -eq 1 ] && grep -q 'exports mot_planted' <<<"$said" && ! grep -q 'exports mot_error' <<<"$said"; then
    echo "ok   an undeclared export is caught, a declared one is not"
else
    echo "FAIL exports: exit $status: $said"
    failures=$((failures + 1))
fi

echo "$failures failed"
[ $failures -eq 0 ]
