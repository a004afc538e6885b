#!/bin/bash
# Files that grow while motley trains on them: kill -9 and --resume end in the model of a run that nobody disturbed,
# every record is counted once, and what is wrong is said.
source "$(dirname "$0")/../says.sh"
here=$(dirname "$0")
MOTLEY=$(realpath "$MOTLEY")
cd "$box" || exit 1
writer= run=
trap 'kill $writer $run 2>/dev/null; rm -rf "$box"' EXIT
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }
figure() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["stream"][sys.argv[2]])' "$@"; }

rows() { # SEED COUNT: rows of three classes, every 50th no row
    awk -v s="$1" -v n="$2" 'BEGIN { srand(s); for (i = 1; i <= n; i++) { c = int(rand() * 3);
        if (i % 50 == 0) print "broken,1,2"; else printf "%.3f,%.3f,%.3f,c%d\n", c + rand(), 1 - c + rand(), rand(), c } }'
}
(echo "a,b,d,class"; rows 1 300 | grep -v broken) >held.csv
for w in 0 1; do (echo "a,b,d,class"; rows $((w + 2)) 6000) >whole-$w.csv; done
flags=(--data held.csv --model softmax --workers 2 --batch 8 --checkpoint-every "20 updates" --stop-updates 600 --quiet)

timeout 60 "$MOTLEY" train "${flags[@]}" --source-from 'whole-{worker}.csv' --out whole || fail "a run from whole files"
want=$(hash_of whole)
[ "$(figure whole used)" = 9600 ] || fail "600 updates of 2 batches of 8 used $(figure whole used)"
sum=$(($(figure whole used) + $(figure whole dropped) + $(figure whole waiting) + $(figure whole malformed)))
[ "$(figure whole arrived)" = $sum ] && echo "ok   arrived is used, dropped, waiting and malformed" || fail "$sum of $(figure whole arrived)"
grep -q 'too few columns\|not a number' whole/malformed-0.log || fail "no log of malformed records"

# The files grow; the run is killed when it has a checkpoint, twice, and resumed.
touch grow-0.csv grow-1.csv
(for part in $(seq 0 59); do
    for w in 0 1; do tail -n +$((part * 100 + 1)) whole-$w.csv | head -n 100 >>grow-$w.csv; done
    sleep 0.02
done; for w in 0 1; do tail -n +6001 whole-$w.csv >>grow-$w.csv; done) &
writer=$!
resume=
for _ in 1 2; do
    timeout 60 "$MOTLEY" train "${flags[@]}" --source-from 'grow-{worker}.csv' --out grown $resume &
    run=$!
    for _ in $(seq 1 1000); do [ -s grown/checkpoint.bin ] && break; sleep 0.01; done
    sleep 0.2
    kill -9 $(pgrep -P $run) 2>/dev/null
    wait $run 2>/dev/null
    resume=--resume
done
timeout 60 "$MOTLEY" train "${flags[@]}" --source-from 'grow-{worker}.csv' --out grown --resume || fail "a resumed run"
[ "$(hash_of grown)" = "$want" ] && echo "ok   killed twice while the files grow, it ends in the same model" || fail "another model"
wait $writer
writer=

timeout 60 "$MOTLEY" train "${flags[@]}" --source-from 'whole-{worker}.csv' --source-ends true --stop-updates 100000 --out ends || fail "files that end"
left=$((2 * 5880 - $(figure ends used) - $(figure ends waiting)))
[ $left = 0 ] && [ "$(figure ends malformed)" = 240 ] && echo "ok   of complete files every record is counted" || fail "$left records are missing"
rows 9 2000 | timeout 60 "$MOTLEY" train "${flags[@]}" --source-from - --workers 1 --stop-updates 100000 --out input || fail "standard input"
[ "$(figure input used)" = 1960 ] && echo "ok   standard input is used to its last row" || fail "standard input: $(figure input used)"

# Devices that count their records: what never came and what came again is told, also across a crash.
numbered() { # FIRST LAST: records with these numbers
    awk -v a="$1" -v b="$2" 'BEGIN { srand(a); for (i = a; i <= b; i++) { c = int(rand() * 3); printf "{\"x\": [%.3f, %.3f, %.3f], \"y\": \"c%d\", \"n\": %d}\n", c + rand(), 1 - c + rand(), rand(), c, i } }'
}
(numbered 7 46; numbered 50 79; numbered 78 87) >counted.jsonl # 47 to 49 are missing, 78 and 79 come again
count=(--data held.csv --model softmax --workers 1 --batch 8 --source-from counted.jsonl --source-sequence n --quiet --out counted)
timeout 60 "$MOTLEY" train "${count[@]}" --stop-updates 10 || fail "records with numbers"
[ "$(figure counted missing) $(figure counted repeated) $(figure counted used)" = "3 2 80" ] && echo "ok   gaps in a device's numbers are counted" ||
    fail "3 missing and 2 repeated, not $(figure counted missing) and $(figure counted repeated)"
numbered 90 97 >>counted.jsonl # what was lost while nobody read: 88 and 89
timeout 60 "$MOTLEY" train "${count[@]}" --stop-updates 11 --resume || fail "records with numbers, resumed"
[ "$(figure counted missing) $(figure counted repeated)" = "2 0" ] && echo "ok   also those of a time when nobody read" || fail "resumed: $(figure counted missing) missing"
says "only JSON has keys" 2 "source.sequence" "$MOTLEY" train --workers 1 --source-from x.csv --source-sequence n --stop-updates 1

says "each worker needs a file of its own" 2 "expected {worker} in the path" "$MOTLEY" train --workers 2 --source-from x.csv --stop-updates 1
says "standard input feeds one worker" 2 "standard input can feed one" "$MOTLEY" train --workers 2 --source-from - --stop-updates 1
says "unknown addresses are refused" 2 "source.from" "$MOTLEY" train --workers 1 --source-from ftp://x --stop-updates 1
says "a stream has no epochs" 2 "no epochs" "$MOTLEY" train --workers 1 --source-from x.csv --stop-epochs 3
for ranks in "" "--ranks 2"; do
    says "time ends a run whose streams give nothing${ranks:+, over MPI}" 0 "0 updates" \
        timeout 30 "$MOTLEY" train "${flags[@]}" $ranks --source-from 'none-{worker}.csv' --stop-time 1s
done
timeout 60 "$MOTLEY" train "${flags[@]}" --source-from 'none-{worker}.csv' --out nothing >said 2>&1 &
run=$!
for _ in $(seq 1 1000); do [ -s nothing/metrics.jsonl ] && break; sleep 0.01; done
kill -INT $(pgrep -P $run)
wait $run
[ $? = 130 ] && grep -q "0 updates" said && echo "ok   so does Ctrl-C" || fail "Ctrl-C: $(cat said)"
run=
says "a complete file must be there" 3 "check the path" timeout 20 "$MOTLEY" train "${flags[@]}" --workers 1 --source-from none.csv --source-ends true
cp whole-0.csv shrinks.csv
(sleep 0.7; : >shrinks.csv) &
says "a file that shrinks ends the run" 3 "may only grow" timeout 20 "$MOTLEY" train "${flags[@]}" --workers 1 --source-from shrinks.csv --stop-updates 100000
[ $failures -eq 0 ]
