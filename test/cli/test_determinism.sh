#!/bin/bash
# One seed, 1 and 2 threads: equal model_hash and byte-equal metrics.jsonl. Another seed: different.
# And the written experiment.yaml, run again, repeats the run.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }

for method in allreduce server async; do
    flags=(--method $method --stop-epochs 1 --evaluate-every '0.1 epochs' --evaluate-grad-norm true --quiet)
    "$motley" sim "${flags[@]}" --sim-threads 1 --out "$folder/$method-1"
    "$motley" sim "${flags[@]}" --sim-threads 2 --out "$folder/$method-2"
    "$motley" sim "${flags[@]}" --seed 2 --out "$folder/$method-other"
    [ "$(hash_of "$folder/$method-1")" = "$(hash_of "$folder/$method-2")" ] || fail "$method: 1 and 2 threads differ"
    cmp "$folder/$method-1/metrics.jsonl" "$folder/$method-2/metrics.jsonl" || fail "$method: metrics differ"
    [ "$(hash_of "$folder/$method-1")" != "$(hash_of "$folder/$method-other")" ] || fail "$method: another seed, the same model"
    "$motley" sim "$folder/$method-1/experiment.yaml" --out "$folder/$method-again" --quiet
    cmp "$folder/$method-1/metrics.jsonl" "$folder/$method-again/metrics.jsonl" || fail "$method: experiment.yaml does not repeat it"
    echo "ok   $method"
done
