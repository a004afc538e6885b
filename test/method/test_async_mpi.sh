#!/bin/bash
# Asynchronous SGD over MPI: queues, waiting, cancelled jobs and several servers.
. "$(dirname "$0")/../wire/mpi.sh"
flags=(--data digits --model softmax --workers 3 --method async --batch 16 --optimizer-lr 0.05 --evaluate-train end --quiet)
train() { # RUN FLAGS...
    timeout 400 "$motley" train --ranks 3 "${flags[@]}" "${@:2}" --out "$folder/$1" 2>"$folder/err" || fail "train --ranks 3 ${*:2}"
    clean
}

"$motley" sim "${flags[@]}" --method-wait all --stop-updates 60 --out "$folder/sim" 2>"$folder/err" || fail "sim"
train all --method-wait all --stop-updates 60
want all model_hash "$(value sim model_hash)"
train shards --method-wait all --method-shards 2 --stop-updates 60
want shards model_hash "$(value sim model_hash)"
echo "where all are waited for: the simulator's model, with one server and with two"

many=600
[ $asan = no ] || many=150
for assign in pure random shuffled; do
    train $assign --method-assign $assign --stop-updates $many --record
    want $assign updates $many
    timeout 400 "$motley" sim --arrivals "$folder/$assign" --quiet --out "$folder/$assign-again" 2>"$folder/err" || fail "replay of $assign"
    want $assign-again model_hash "$(value $assign model_hash)"
    train $assign-2 --method-assign $assign --method-shards 2 --stop-updates $many
done
echo "pure, random and shuffled, with two servers too; replayed to the same model"

# What a cancelled job had cost is known when its worker says so: on a busy machine the run may be over by then.
for updates in 200 2000 20000; do
    train cancel --method-max-staleness 10 --method-on-stale cancel --batch '[8, 8, 40000]' --model '{name: mlp, hidden: [256]}' --stop-updates $updates --replace
    want cancel updates $updates
    if grep -q '"wasted_samples"' "$folder/cancel/summary.json"; then break; fi
done
python3 - "$folder/cancel/summary.json" <<'END' || fail "cancelled jobs do not stop"
import json, sys
run = json.load(open(sys.argv[1]))
wasted, samples = run["notes"]["wasted"]["sum"], run["notes"]["wasted_samples"]["sum"]
print(f"{wasted:.0f} jobs of 40000 samples were given up after {samples / wasted:.0f} on average")
sys.exit(not (wasted >= 1 and samples < 40000 * wasted and run["staleness"]["max"] <= 10))
END
