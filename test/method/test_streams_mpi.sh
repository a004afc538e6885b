#!/bin/bash
# Emulated streams over MPI: a resumed run goes on where its model's samples end, counts add up, and samples that ranks share are written down.
. "$(dirname "$0")/../wire/mpi.sh"
flags=(--data digits --model softmax --batch 8 --evaluate-train end --evaluate-heterogeneity never --quiet --cluster
    '{workers: [{count: 3, speed: 100000 samples/s}], stream: {name: list, rates: [2000, 5000, 9000]}}')
train() { # RUN FLAGS...
    timeout 400 "$motley" train --emulate --ranks 3 "${flags[@]}" "${@:2}" --out "$folder/$1" 2>"$folder/err" || fail "train --ranks 3 ${*:2}"
    clean
}

# A fixed batch and a buffer that keeps all: arrivals decide when, and nothing else.
for method in allreduce selsync '{name: scadles, variable: false}'; do
    "$motley" sim "${flags[@]}" --method "$method" --stop-updates 25 --out "$folder/sim" --replace 2>"$folder/err" || fail "sim $method"
    train live --method "$method" --stop-updates 11 --replace
    train live --method "$method" --stop-updates 25 --resume
    want live model_hash "$(value sim model_hash)"
done
echo "stopped and resumed: the simulator's model"

train shared --method '{name: scadles, alpha: 0.5, beta: 0.5}' --stop-updates 12
python3 - "$folder/shared" <<'END' || fail "samples of shared streams"
import csv, glob, json, sys
run = json.load(open(sys.argv[1] + "/summary.json"))
for worker in run["worker"]:
    s = worker["stream"]
    assert s["arrived"] == s["used"] + s["dropped"] + s["waiting"] and s["used"] > 0, s
rows = [line for name in glob.glob(sys.argv[1] + "/shared*.csv") for line in csv.DictReader(open(name))]
sent = sum(len(line["rows"].split()) for line in rows)
assert {line["round"] for line in rows} >= {str(k) for k in range(12)}
assert sent * 260 == run["rows_bytes"] and run["samples"] - sum(w["stream"]["used"] for w in run["worker"]) <= sent
print(f"{sent} rows shared in {len(rows)} messages")
END
