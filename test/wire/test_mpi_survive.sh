#!/bin/bash
# Methods with a server go on without a worker that dies or falls silent, and are not confused when it wakes.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --workers 4 --stop-updates none --stop-time 120s --evaluate-train end --checkpoint-every '20 updates' --quiet)
recovery=("${mpirun[@]}" --enable-recovery)

# They run until they have gone on for long enough, however busy the machine is, and are then asked to end.
goes_on() { # RUN
    await_more_checkpoints "$1" 3
    kill -INT "$(rank_pid "$1" 0)"
    wait $pid || true # a launcher's code
    want "$1" status interrupted
    grep -q '"workers_lost"' "$folder/$1/summary.json" || fail "$1: the lost worker is not noted"
    none_left "$1"
    clean
    echo "$1 survived, $(value "$1" updates) updates"
}

dies() { # METHOD FLAGS
    "${recovery[@]}" -n 4 "$motley" train "${flags[@]}" --method "$@" --out "$folder/$1" 2>"$folder/err" &
    pid=$!
    await_checkpoint "$1"
    kill -KILL "$(rank_pid "$1" 2)"
    goes_on "$1"
}

stalls() { # METHOD FLAGS
    "$motley" train "${flags[@]}" --method "$@" --ranks 4 --out "$folder/$1" 2>"$folder/err" &
    pid=$!
    await_checkpoint "$1"
    sleeper=$(rank_pid "$1" 3)
    kill -STOP "$sleeper"
    sleep 9 # silence is taken for loss after 8 s at the most, however busy the machine is
    kill -CONT "$sleeper"
    for i in $(seq 1 1000); do
        [ -d "/proc/$sleeper" ] || break
        sleep 0.02
    done
    [ ! -d "/proc/$sleeper" ] || fail "a rank that was given up and woke does not leave"
    goes_on "$1"
}

dies server # which waits for all, and so has noticed
stalls async --optimizer-lr 0.01
if [ -n "${MOTLEY_LONG:-}" ]; then
    dies fedavg --method-steps 3
    rm -r "$folder/fedavg"
    stalls fedavg --method-steps 3
fi
