#!/bin/bash
# crossover over MPI: the simulator's bits, a lost worker that is named, and workers that go on without one that dies or sleeps.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' --method crossover --evaluate-train end --quiet)
same() { # NAME RANKS FLAGS...
    "$motley" sim "${flags[@]}" --workers "$2" "${@:3}" --stop-updates 60 --out "$folder/$1-sim"
    "$motley" train "${flags[@]}" --workers "$2" "${@:3}" --stop-updates 60 --ranks "$2" --out "$folder/$1" 2>"$folder/err" || fail "$1"
    want "$1" model_hash "$(value "$1-sim" model_hash)"
    want "$1" updates 60
    clean
}
same two 2
same odd 3 --method-window 1 --method-peers authors
same groups 4 --method-groups 2 --method-micro 2 --optimizer-momentum 0.9
if [ $asan = no ]; then
    same unfair 5 --method-peers unfair --method-segments 7 --method-cut equal --method-mix_state true --optimizer-momentum 0.9
    same seven 7 --method-window 2
    same eight 8 --method-groups 4
fi
echo "one model simulated and with --ranks"

"$motley" train "${flags[@]}" --workers 4 --stop-updates none --stop-time 60s --checkpoint-every '20 updates' --ranks 4 --out "$folder/killed" 2>"$folder/err" &
pid=$!
await_checkpoint killed
kill -KILL "$(rank_pid killed 2)"
code=0
wait $pid || code=$?
[ $code = 4 ] || fail "a lost worker ended strict rounds with $code, not 4"
want killed status peer_lost
want_peer killed 2 death
none_left killed
clean
echo "strict: a lost worker ends the run and is named"

loose=("${flags[@]}" "${unhurried[@]}" --method-mode loose --method-deadline 5ms --stop-updates none --stop-time 120s --checkpoint-every '20 updates')
goes_on() { # RUN
    await_more_checkpoints "$1" 3
    kill -INT "$(rank_pid "$1" 0)"
    wait $pid || true # a launcher's code
    want "$1" status interrupted
    grep -q '"neighbours_lost"' "$folder/$1/summary.json" || fail "$1: the lost worker is not noted"
    none_left "$1"
    clean
    echo "loose: the others went on, $(value "$1" updates) updates"
}
"${mpirun[@]}" --enable-recovery -n 4 "$motley" train "${loose[@]}" --out "$folder/dead" 2>"$folder/err" &
pid=$!
await_checkpoint dead
kill -KILL "$(rank_pid dead 3)"
goes_on dead

"$motley" train "${loose[@]}" --ranks 4 --out "$folder/asleep" 2>"$folder/err" &
pid=$!
await_checkpoint asleep
sleeper=$(rank_pid asleep 2)
kill -STOP "$sleeper"
await_more_checkpoints asleep 3 # long before it is called lost
sleep 9                         # silence is taken for loss after 8 s at the most
kill -CONT "$sleeper"
for i in $(seq 1 1000); do
    [ -d "/proc/$sleeper" ] || break
    sleep 0.02
done
[ ! -d "/proc/$sleeper" ] || fail "a rank that was given up and woke does not leave"
goes_on asleep
