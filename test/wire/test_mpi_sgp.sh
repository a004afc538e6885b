#!/bin/bash
# Push-sum over MPI: the simulator's bits, a lost worker that is named, and workers that go on without one that was killed or stopped.
# MOTLEY_LONG=1 loses a worker of osgp, too.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' --topology star --evaluate-train end --quiet)
figures() { tail -n 1 "$folder/$1/metrics.jsonl" | grep -oE '"(consensus|mass)":[^,}]*'; }
same() { # WORKERS NAME METHOD
    "$motley" sim "${flags[@]}" --workers "$1" --method "$3" --stop-updates 40 --out "$folder/$2-sim"
    "$motley" train "${flags[@]}" --workers "$1" --method "$3" --stop-updates 40 --ranks "$1" --out "$folder/$2" 2>"$folder/err" || fail "$2"
    want "$2" model_hash "$(value "$2-sim" model_hash)"
    [ "$(figures "$2")" = "$(figures "$2-sim")" ] || fail "$2: found $(figures "$2"), simulated $(figures "$2-sim")"
    grep -qE '"mass":(1|1\.0{9}[0-9]*|0\.9{9}[0-9]*)[,}]' <(tail -n 1 "$folder/$2/metrics.jsonl") || fail "$2: $(figures "$2")"
    clean
}
same 4 sgp-4 sgp
same 5 sgp-5 '{name: sgp, graph: topology}'
same 8 sgp-8 '{name: sgp, peers: 2}'
same 4 osgp-4 '{name: osgp, lag: 2}'
echo "one model simulated and with --ranks: sgp, osgp"

# Nobody steps after update 10: 4 workers have agreed by update 11, 8 by update 12, and not before.
still=(--optimizer-momentum 0 --set 'optimizer.schedule={name: polynomial, power: 1, total: 10, end: 0}' --partition sorted --method sgp)
for n in 4 8; do
    for updates in $((n / 4 + 9)) $((n / 4 + 10)); do
        "$motley" train "${flags[@]}" "${still[@]}" --workers $n --stop-updates $updates --ranks $n --out "$folder/still-$updates-$n" >"$folder/err" 2>&1 || fail "still"
        echo "$n workers, $updates updates: $(figures "still-$updates-$n" | head -n 1)"
    done
done >"$folder/agree"
awk -F: '{ apart[NR] = $NF } END { exit !(apart[2] <= 1e-6 * apart[1] && apart[4] <= 1e-6 * apart[3] && apart[1] > 1e-6 && apart[3] > 1e-6) }' "$folder/agree" ||
    fail "$(cat "$folder/agree")"
cat "$folder/agree"

flags+=(--workers 4 --stop-updates none --stop-time 120s --checkpoint-every '20 updates')
"$motley" train "${flags[@]}" --method sgp --ranks 4 --out "$folder/killed" 2>"$folder/err" &
pid=$!
await_checkpoint killed
kill -KILL "$(rank_pid killed 2)"
code=0
wait $pid || code=$?
[ $code = 4 ] || fail "a lost worker ended the run with $code, not 4"
want killed status peer_lost
want_peer killed 2 death
none_left killed
clean
echo "a lost worker ends the run and is named"

survives() { # NAME SIGNAL METHOD
    "${mpirun[@]}" --enable-recovery -n 4 "$motley" train "${flags[@]}" --method "$3" --method-on_loss continue --out "$folder/$1" 2>"$folder/err" &
    pid=$!
    await_checkpoint "$1"
    kill -"$2" "$(rank_pid "$1" 3)"
    await_more_checkpoints "$1" 3 # the others wait for it, and so have noticed
    kill -INT "$(rank_pid "$1" 0)"
    wait $pid || true # mpirun's code
    want "$1" status interrupted
    grep -q '"neighbours_lost"' "$folder/$1/summary.json" || fail "$1: the lost worker is not noted"
    none_left "$1"
    clean
    echo "$1: the others went on, $(value "$1" updates) updates"
}
survives sgp-KILL KILL sgp
survives sgp-STOP STOP sgp
if [ -n "${MOTLEY_LONG:-}" ]; then
    survives osgp-KILL KILL osgp
    survives osgp-STOP STOP osgp
fi
