#!/bin/bash
# Benchmarks that a run or a program disappoints say so, and do not do the same again.
. "$(dirname "$0")/../says.sh"
bench=$PWD/bench
cd "$box" || exit 1
# claim WORDS COMMAND...: the command succeeds
claim() {
    local words=$1
    shift
    if "$@"; then echo "ok   $words"
    else
        echo "FAIL $words"
        failures=$((failures + 1))
    fi
}

# A motley that recommends nothing, and counts how often it was asked.
cat >motley <<'SH'
#!/bin/bash
[ "$1" = plan ] || exit 1
echo >>asked
while [ $# -gt 0 ]; do
    case $1 in
    --out) out=$2 ;;
    --store) store=$2 ;;
    esac
    shift
done
mkdir -p "$out" "$store"
echo '{"method": null, "methods": []}' >"$out/plan.json"
exit 5
SH
chmod +x motley
for round in 1 2; do MOTLEY=./motley "$bench/plan" 1 1 kept >"table$round" 2>err || cat err; done
claim "a plan that recommends nothing has no best" grep -q '| `nothing` | – | – | nothing recommended' table1
claim "it is a result that the next call takes" cmp -s table1 table2
claim "and is not planned again" test "$(wc -l <asked)" = 1
claim "its store is removed" test ! -e kept/1-1/store

# compare-torch ends with $ENDS after the lines in `lines`.
mkdir -p copy/bench
cp "$bench/compilers" copy/bench
printf '#!/bin/sh\ncat lines\nexit $ENDS\n' >copy/bench/compare-torch
for tool in cmake gcc clang; do printf '#!/bin/sh\n' >copy/$tool; done
chmod +x copy/bench/compare-torch copy/cmake copy/gcc copy/clang
# ends WITH AFTER: the exit code of bench/compilers if compare-torch ends with AFTER
ends() { [ "$(ENDS=$2 PATH=$PWD/copy:$PATH copy/bench/compilers >out 2>err; echo $?)" = "$1" ]; }
echo >copy/lines
claim "without PyTorch there is nothing to miss" ends 0 0
claim "a comparison that fails is not taken for that" ends 1 3
claim "it is named" grep -q 'compare-torch failed with 3' err
echo 'resnet20 1 2 3 4 1.2' >copy/lines
claim "goals that are met are no error" ends 0 0
claim "goals that are missed are" ends 1 1
claim "and errors go to standard error" grep -q 'a goal was missed' err
exit $((failures > 0))
