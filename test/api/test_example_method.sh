#!/bin/bash
# The method that docs/writing-a-method.md walks through: short, complete, and it works.
set -euo pipefail
program=${MOTLEY_BUILD:?names the build}/example_method
motley=${MOTLEY:?names the program}
fail() { echo "FAIL: $*"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
number() { sed -n "s/^ *\"$2\": \([-0-9.e+]*\),*$/\1/p" "$1" | head -n 1; }
near() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= t) }'; }

lines=$(wc -l <examples/method/local_sgd.c)
[ "$lines" -lt 150 ] || fail "the example has $lines lines, expected fewer than 150"

flags=(workers=4 stop.updates=200 optimizer.momentum=0 optimizer.lr=0.1 model=softmax)
"$program" "${flags[@]}" method.period=1 >"$folder/one"
"$program" "${flags[@]}" method.period=8 >"$folder/eight"
"$motley" sim --workers 4 --stop-updates 200 --optimizer-momentum 0 --optimizer-lr 0.1 --model softmax --json --quiet >"$folder/allreduce"

# With a period of 1 and plain SGD, the mean of the models is the model of the mean gradient.
near "$(number "$folder/one" train_loss)" "$(number "$folder/allreduce" train_loss)" 1e-5 || fail "a period of 1 is not allreduce"
echo "ok   a period of 1 is allreduce"
# With a period of 8 an eighth is sent (but for the last averaging, which the end cuts short), and it learns.
near "$(awk -v a="$(number "$folder/one" bytes_sent)" -v b="$(number "$folder/eight" bytes_sent)" 'BEGIN { print a / b }')" 8 0.4 ||
    fail "a period of 8 does not send an eighth"
awk -v a="$(number "$folder/eight" test_accuracy)" 'BEGIN { exit !(a > 0.85) }' || fail "it does not learn"
echo "ok   a period of 8 sends an eighth and learns"

# Its options are checked like any method's.
code=0; message=$("$program" method.perod=3 2>&1) || code=$?
[ $code -eq 2 ] && [[ $message == *perod*period* ]] || fail "a misspelt option gives $code: $message"
# Data that runs out ends it.
"$program" "${flags[@]}" stop.updates=100000 sampler.passes=1 >"$folder/end"
grep -q '"ended_by": "data"' "$folder/end" || fail "it does not end when its data does"
echo "ok   options and the end of the data"
