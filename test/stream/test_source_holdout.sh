#!/bin/bash
# Records of a stream that are held out (source.holdout): a run that is killed and resumed, on threads and over ranks, ends with the
# model, the counts and the figures of one that nobody disturbed, so the same records were held out and none of them was trained on;
# without records to judge by there are no figures; and what cannot be is said.
source "$(dirname "$0")/../says.sh"
source "$(dirname "$0")/../built.sh"
MOTLEY=$(realpath "$MOTLEY")
cd "$box" || exit 1
trap 'kill -9 $(pgrep -f -- "--out $box/" || true) 2>/dev/null; rm -rf "$box"' EXIT
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
claim() { local what=$1; shift; if "$@"; then echo "ok   $what"; else fail "$what"; fi; }
# figures RUN: the model, and how the records judge it that were held out; counts are those since a run was resumed
figures() { python3 -c 'import json, sys
s = json.load(open(sys.argv[1] + "/summary.json"))
print(s["model_hash"], s["test_loss"], s["test_accuracy"], s["stream"]["test_rows"])' "$1"; }
figure() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["stream"][sys.argv[2]])' "$@"; }
adds_up() {
    local sum=$(($(figure "$1" used) + $(figure "$1" dropped) + $(figure "$1" malformed) + $(figure "$1" waiting) + $(figure "$1" held_out)))
    [ "$(figure "$1" arrived)" = $sum ]
}

rows() { # SEED COUNT: rows of three classes, every 50th no row
    awk -v s="$1" -v n="$2" 'BEGIN { srand(s); for (i = 1; i <= n; i++) { c = int(rand() * 3);
        if (i % 50 == 0) print "broken,1,2"; else printf "%.3f,%.3f,%.3f,c%d\n", c + rand(), 1 - c + rand(), rand(), c } }'
}
(echo "a,b,d,class"; rows 1 60 | grep -v broken) >schema.csv
for w in 0 1 2; do rows $((w + 2)) $((1200 + 300 * w)) >whole-$w.csv; done
flags=(--data schema.csv --data-test 0 --model softmax --workers 3 --batch 8 --checkpoint-every "10 updates" --evaluate-every "20 updates"
    --source-from 'whole-{worker}.csv' --source-ends true --source-holdout 10% --source-reservoir 300 --stop-updates 100000 --quiet)
slowly=(--emulate --cluster '{workers: [{count: 3, speed: 400 samples/s}]}') # so that there is time to kill it
train() { timeout -k 5 60 "$MOTLEY" train "${flags[@]}" "$@"; }
stamp() { stat -c %i.%y "$1/checkpoint.bin" 2>/dev/null; }

# disturbed NAME FLAG...: killed when it has a new checkpoint, twice, and resumed.
disturbed() {
    local name=$1 resume= was pid
    shift
    for _ in 1 2; do
        was=$(stamp "$name")
        train "${slowly[@]}" --out "$box/$name" "$@" $resume 2>"$name.log" &
        pid=$!
        for _ in $(seq 1 2000); do [ "$(stamp "$name")" != "$was" ] && break; sleep 0.01; done
        kill -9 $(pgrep -f -- "--out $box/$name( |\$)") 2>/dev/null
        wait $pid 2>/dev/null
        while pgrep -f -- "--out $box/$name( |\$)" >/dev/null; do sleep 0.01; done # it dies when it is its turn
        resume=--resume
    done
    [ ! -e "$name/summary.json" ] || fail "$name ended before it could be killed"
    train "${slowly[@]}" --out "$box/$name" "$@" --resume || fail "$name: a resumed run: $(cat "$name.log")"
    claim "$name: every record is used, dropped, malformed, waiting or held out" adds_up "$name"
}
train "${slowly[@]}" --out "$box/whole" || fail "an undisturbed run"
claim "every record is used, dropped, malformed, waiting or held out" adds_up whole
claim "a tenth of the records is held out" [ "$(figure whole held_out)" -gt 380 -a "$(figure whole held_out)" -lt 510 ]
claim "as many of them as the reservoir has room for evaluate the model" [ "$(figure whole test_rows)" = 300 ]
python3 -c 'import json; assert json.load(open("whole/summary.json"))["test_accuracy"] > 0.7' || fail "the accuracy of an undisturbed run"
disturbed threads
claim "killed twice on threads, a run has the model and the figures of an undisturbed one" [ "$(figures threads)" = "$(figures whole)" ]
disturbed async --method async
if built_with mpi && [[ $(ldd "$MOTLEY") != *libtsan* ]] && command -v mpirun >/dev/null; then
    train --ranks 3 "${slowly[@]}" --out "$box/ranks-whole" || fail "an undisturbed run over ranks"
    claim "ranks send rank 0 what evaluates: the figures are those of threads" [ "$(figures ranks-whole)" = "$(figures whole)" ]
    grep -q '"ended_by": "data"' ranks-whole/summary.json || fail "ranks whose sources end: $(grep ended_by ranks-whole/summary.json)"
    disturbed ranks --ranks 3
    claim "killed twice over ranks, a run has the figures of an undisturbed one" [ "$(figures ranks)" = "$(figures whole)" ]
    # Slowed down, so that no worker is out of data, which ends the run, before the others have read theirs.
    train --ranks 3 "${slowly[@]}" --method async --out "$box/ranks-async" || fail "a run over ranks with a server"
    claim "a run over ranks with a server holds out the same records" [ "$(figure ranks-async held_out) $(figure ranks-async test_rows)" = "$(figure whole held_out) 300" ]
    claim "and counts every record" adds_up ranks-async
    says "over ranks records would leave their worker" 2 "no_raw_data" train --ranks 3 --no-raw-data
else echo "skip ranks: no MPI"; fi

# Too few to judge by: no figures, and no target that is met by chance.
head -n 300 whole-0.csv >short.csv
says "fewer than 100 records held out evaluate nothing" 0 "too few to evaluate with" timeout 60 "$MOTLEY" train --data schema.csv --workers 1 \
    --model softmax --batch 8 --source-from short.csv --source-holdout 10% --stop-updates 20 --stop-target-test_accuracy 0.1
says "it is said that a simulation holds nothing out" 0 "source.holdout is not simulated" "$MOTLEY" sim --data schema.csv --workers 1 --source-from 'whole-0.csv' --source-holdout 10% --stop-updates 2
says "rows that come again cannot be held out" 2 "source.holdout" "$MOTLEY" train --workers 1 --source-from rate: --source-holdout 10% --stop-updates 2 --set 'cluster.stream={name: list, rates: [12]}'
says "one judge is enough" 2 "only one of data.test_path and source.holdout" "$MOTLEY" train --data schema.csv --data-test_path schema.csv --workers 1 --source-from whole-0.csv --source-holdout 10% --stop-updates 2
[ $failures -eq 0 ]
