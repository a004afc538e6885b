#!/bin/bash
# kill -9 and SIGSTOP of a rank of the methods that go at their own pace, which go on without it, and of those that average together, which end
# and name it: one of each kind; MOTLEY_LONG=1 takes all of them (crossover and push-sum: test_mpi_crossover, test_mpi_sgp; fedavg: test_mpi_survive).
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' "${unhurried[@]}" --topology ring --evaluate-train end --quiet
    --stop-updates none --stop-time 120s --checkpoint-every '20 updates')

begin() { # RUN METHOD: as mpirun lets the others live
    "${mpirun[@]}" --enable-recovery -n 4 "$motley" train "${flags[@]}" --method "$2" --out "$folder/$1" 2>"$folder/err" &
    pid=$!
    await_checkpoint "$1"
}
goes_on() { # METHOD SIGNAL
    local run=$1-$2
    begin "$run" "$1"
    kill -"$2" "$(rank_pid "$run" 3)"
    if [ "$2" = STOP ]; then
        await_more_checkpoints "$run" 3 # nobody waits for it
        sleep 9                         # silence is taken for loss after 8 s at the most
    fi
    await_more_checkpoints "$run" 3
    kill -INT "$(rank_pid "$run" 0)"
    wait $pid || true # mpirun's code
    want "$run" status interrupted
    grep -q '"neighbours_lost"' "$folder/$run/summary.json" || fail "$run: the lost worker is not noted"
    none_left "$run"
    clean
    echo "$run: the others went on, $(value "$run" updates) updates"
}
ends() { # METHOD SIGNAL LOST_BY
    local run=$1-$2
    begin "$run" "$1"
    kill -"$2" "$(rank_pid "$run" 2)"
    wait $pid || true # mpirun's code
    want "$run" status peer_lost
    want_peer "$run" 2 "$3"
    none_left "$run"
    clean
    echo "$run: ended, and named whom it lost"
}
goes_on adpsgd KILL
ends localsgd KILL death
if [ $asan = no ]; then
    goes_on adpsgd STOP
    ends localsgd STOP silence
fi
if [ -n "${MOTLEY_LONG:-}" ]; then
    goes_on gosgd KILL
    goes_on gosgd STOP
    for method in slowmo diloco; do
        ends $method KILL death
        ends $method STOP silence
    done
fi
