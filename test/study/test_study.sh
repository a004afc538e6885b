#!/bin/bash
# A study as a user has it: killed in the middle it goes on to the same table, byte for byte; twins are not told apart, a
# tenth slower is; what diverges is said; two studies share a store.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
unset MOTLEY_STORE
cd "$folder"

cat >study.yaml <<'YAML'
data: digits
model: softmax
workers: 6
evaluate: {every: 10 updates}
stop: {updates: 150, target: {test_accuracy: 0.9}}
cluster: {workers: [{count: 6, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.2}}]}
sweep:
  method: [allreduce, async]
  cluster.slow: [1, 4]
  seed: 1..15
YAML
total=60
made() { sed -n 's/^\([0-9]*\) runs\{0,1\} made, \([0-9]*\) reused.*/\1 \2/p' "$1"; }
# What a killed study had nearly finished lies in tmp still.
finished() { find "$1" -path '*/store/tmp' -prune -o -name sums -print | wc -l; }

mkdir whole killed stopped both
(cd whole && "$motley" compare ../study.yaml >table.out 2>err) || fail "the study fails: $(cat whole/err)"
[ "$(made whole/err)" = "$total 0" ] || fail "expected $total runs made, 0 reused: $(tail -1 whole/err)"
cmp whole/table.out whole/runs/compare-study/table.txt || fail "the table on the terminal is not table.txt"

# begin FOLDER: starts a study there and returns when it has made some runs.
begin() {
    cd "$folder/$1"
    "$motley" compare ../study.yaml --jobs 2 >table.out 2>err &
    pid=$!
    for _ in $(seq 1 4000); do
        [ "$(finished runs 2>/dev/null)" -ge 5 ] && break
        kill -0 $pid 2>/dev/null || fail "$1: ended before it could be stopped"
        sleep 0.002
    done
    children=$(cat /proc/$pid/task/$pid/children)
    cd "$folder"
}
go_on() {
    there=$(finished "$1/runs")
    [ "$there" -lt $total ] || fail "$1: nothing was left to do"
    (cd "$1" && "$motley" compare ../study.yaml >table.out 2>err) || fail "$1: does not go on: $(cat "$1/err")"
    [ "$(made "$1/err")" = "$((total - there)) $there" ] || fail "$1: $there runs were there; $(tail -1 "$1/err")"
    for file in study.json table.txt report.html; do
        cmp "whole/runs/compare-study/$file" "$1/runs/compare-study/$file" || fail "$1: another $file"
    done
    [ -z "$(ls "$1/runs/store/tmp")" ] || fail "$1: something is left half made"
}

begin killed
kill -9 $pid || fail "it had ended"
wait $pid 2>/dev/null && fail "a killed study says 0"
for _ in $(seq 1 1000); do
    alive=0
    for child in $children; do [ -d "/proc/$child" ] && ! grep -q '^State:.*[ZX]' "/proc/$child/status" 2>/dev/null && alive=1; done
    [ $alive -eq 0 ] && break
    sleep 0.01
done
[ $alive -eq 0 ] || fail "children outlive their parent"
[ ! -e killed/runs/compare-study/table.txt ] || fail "a killed study has a table"
go_on killed
echo "ok   kill -9 in the middle: only what was missing runs, and the table is the same"

begin stopped
kill -INT $pid || fail "it had ended"
code=0; wait $pid || code=$?
[ $code -eq 130 ] || fail "Ctrl-C gives exit code $code, expected 130"
grep -q "the same command continues" stopped/err || fail "Ctrl-C does not say how to go on: $(cat stopped/err)"
[ -z "$(ls stopped/runs/store/tmp)" ] || fail "Ctrl-C leaves something half made"
go_on stopped
echo "ok   Ctrl-C in the middle: the same"

cd both
"$motley" compare ../study.yaml --out one >/dev/null 2>one.err & first=$!
"$motley" compare ../study.yaml --out two >/dev/null 2>two.err & second=$!
wait $first || fail "of two studies on one store the first fails: $(cat one.err)"
wait $second || fail "of two studies on one store the second fails: $(cat two.err)"
cd ..
cmp both/one/table.txt whole/runs/compare-study/table.txt && cmp both/two/table.txt both/one/table.txt || fail "two studies on one store differ"
[ "$(finished both/runs)" -eq $total ] || fail "two studies on one store leave other runs"
echo "ok   two studies on one store at once"

cat >slower.yaml <<'YAML'
data: digits
model: softmax
evaluate: {every: 10 updates}
stop: {updates: 300, target: {test_accuracy: 0.88}}
compare:
  - {label: base, method: allreduce, cluster: {workers: [{count: 8, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.1}}]}}
  - {label: twin, method: allreduce, cluster: {workers: [{count: 8, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.1}}]}}
  - {label: a tenth slower, method: allreduce, cluster: {workers: [{count: 8, speed: 909 samples/s, jitter: {name: lognormal, sigma: 0.1}}]}}
YAML
"$motley" compare slower.yaml --quiet >slower.txt
grep -q "^  twin .*not distinguishable" slower.txt || fail "twins are told apart: $(cat slower.txt)"
grep -q "^  a tenth slower .* slower$" slower.txt || fail "a tenth slower is not found out: $(cat slower.txt)"
echo "ok   twins are not told apart, and a tenth slower is found out with ten seeds"

"$motley" compare slower.yaml --quiet --seeds 4 >few.txt
grep -q "not comparable: 4 pairs of runs; a verdict needs 6" few.txt || fail "four seeds are judged: $(cat few.txt)"
echo "ok   four seeds are too few for a verdict"

# 0.1 is too large a rate for gradients that are 15 updates old.
"$motley" compare --methods allreduce,async --workers 16 --seeds 6 --optimizer-lr 0.1 --quiet --out early >early.txt
grep -q "^  async .* worse$" early.txt || fail "an arm that ends at 14 % is not worse: $(cat early.txt)"
grep -q "allreduce wins" early.txt && grep -q "allreduce</b> wins" early/report.html || fail "table and page do not agree: $(cat early.txt)"
! grep -q "faster" early.txt || fail "an arm that learned little is called faster: $(cat early.txt)"
"$motley" compare --methods allreduce,async --workers 16 --seeds 6 --quiet --out suited >suited.txt
grep -q "^  async .* better and faster$" suited.txt || fail "async does not learn with its own rate: $(cat suited.txt)"
echo "ok   without a target arms are judged by what they learned, on the terminal and on the page"

cat >wild.yaml <<'YAML'
data: {name: synthetic, kind: regression, size: 400}
model: least-squares
stop: {updates: 100, target: {train_loss: 0.1}}
compare: [allreduce, {label: wild, method: allreduce, optimizer.lr: 50}]
YAML
"$motley" compare wild.yaml --seeds 6 --quiet >wild.txt || fail "a study with a diverging arm fails"
grep -q "wild: 6 of 6 runs diverged" wild.txt || fail "divergence is not said: $(cat wild.txt)"
grep -q "^  wild .*never.*0 of 6.* slower$" wild.txt || fail "a diverging arm is not slower: $(cat wild.txt)"
echo "ok   what diverges is shown as such"

"$motley" tune wild.yaml --methods allreduce --over optimizer.lr=2^-3..2^-7 --by train_loss --quiet --out tuned >tuned.txt || fail "tune fails"
grep -q "optimizer.lr=2^-[0-9] is the best of 5" tuned.txt || fail "no best: $(cat tuned.txt)"
"$motley" sim tuned/best-allreduce.yaml --quiet || fail "the best experiment does not run"
echo "ok   the best experiment of a tuning runs"
