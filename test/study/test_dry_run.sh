#!/bin/bash
# A dry run of a study says what would run, to the last run, and runs nothing.
. "$(dirname "$0")/../says.sh"
unset MOTLEY_STORE
cd "$box" || exit 1
# prints CLAIM FILE COMMAND...: the command prints what is in the file, and no more.
prints() {
    local claim=$1 file=$2
    shift 2
    if "$@" 2>err >out && cmp -s out "$file"; then echo "ok   $claim"
    else
        echo "FAIL $claim:"
        diff "$file" out
        cat err
        failures=$((failures + 1))
    fi
}

cat >study.yaml <<'YAML'
data: digits
model: softmax
workers: 4
stop: {updates: 3}
sweep:
  method: [allreduce, {name: server, k: 3}]
  cluster.slow: [1, 4]
  seed: 1..3
YAML
cat >plan <<'TEXT'
arms
  allreduce     method: allreduce
  server k=3    method: {name: server, k: 3}
conditions
  cluster.slow=1
  cluster.slow=4
12 runs to compare: 2 arms, 2 conditions, 3 seeds; 0 already in the store
TEXT
prints "arms, conditions and seeds are named" plan "$MOTLEY" compare study.yaml --dry-run
sed -i 's/; 0 already/; 2 already/' plan
"$MOTLEY" compare study.yaml --seeds 1 --methods allreduce --out one --quiet >/dev/null || failures=$((failures + 1))
prints "runs that are there are counted" plan "$MOTLEY" compare study.yaml --dry-run

cat >tuned.yaml <<'YAML'
data: digits
model: softmax
workers: 4
stop: {updates: 3}
compare: [allreduce]
tune: {over: {optimizer.lr: [0.1, 0.2, 0.4], batch: [8, 16]}, seeds: 11..12, by: train_loss}
YAML
cat >plan <<'TEXT'
arms
  allreduce    method: allreduce
tuned
  optimizer.lr: 3 values
  batch: 2 values
12 runs to tune
1 run to compare: 1 arm, 1 seed
TEXT
prints "what is tuned is counted" plan "$MOTLEY" compare tuned.yaml --seeds 1 --dry-run
[ ! -e runs/compare-tuned ] || { echo "FAIL a dry run leaves a folder"; failures=$((failures + 1)); }
cat >alone.yaml <<'YAML'
data: digits
model: softmax
workers: 4
stop: {updates: 20}
YAML
cat >three <<'TEXT'
arms
  allreduce     method: allreduce
  server k=3    method: {name: server, k: 3}
  async         method: async
tuned
  optimizer.lr: 3 values
27 runs to tune, fewer and shorter by halving
30 runs to compare: 3 arms, 10 seeds
TEXT
prints "a comparison without arms tunes the three methods that it compares" three "$MOTLEY" compare alone.yaml --over optimizer.lr=2^0..2^-2 --halving --by test_accuracy --dry-run
exit $((failures > 0))
