#!/bin/bash
# kill -9 and SIGSTOP of ranks: the summary says who was lost, the checkpoint is good, nobody is left behind;
# server and async go on without a worker; --resume goes on with the whole. How long it takes is printed, not
# asserted: a busy machine takes its time, but a run that did not notice would end by its stop.time, with `ok`.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --workers 4 --evaluate-every '500 updates' --evaluate-train end --quiet)
forever=(--stop-updates none --stop-time 60s --checkpoint-every '20 updates')

begin() { # RUN COMMAND...
    local run=$1
    shift
    "$@" --out "$folder/$run" 2>"$folder/err" &
    pid=$!
    await_checkpoint "$run"
}
hit() { # RUN SIGNAL RANK
    local target
    target=$(rank_pid "$1" "$3")
    [ -n "$target" ] || fail "$1 has no rank $3"
    hit_at=$(date +%s%N)
    kill "-$2" "$target"
}
ends() { # RUN CODE
    code=0
    wait $pid || code=$?
    took=$((($(date +%s%N) - hit_at) / 1000000))
    [ "$2" = any ] || [ $code = "$2" ] || fail "$1 ended with $code, not $2"
    none_left "$1"
    clean
    echo "$1: $took ms"
}

# A worker's rank, started by motley and by a plain mpirun that kills the rest at once.
begin killed "$motley" train "${flags[@]}" "${forever[@]}" --method allreduce --ranks 4
hit killed KILL 2
ends killed 4
want killed status peer_lost
want_peer killed 2 death
begin plain "${mpirun[@]}" -n 4 "$motley" train "${flags[@]}" "${forever[@]}" --method allreduce
hit plain KILL 3
ends plain any
[ $code != 0 ] || fail "plain: mpirun ended with 0"
want plain status peer_lost
want_peer plain 3 death

# The server's rank: the next one writes the summary.
begin server "$motley" train "${flags[@]}" "${forever[@]}" --method server --ranks 4
hit server KILL 0
ends server 4
want server status peer_lost
want_peer server 4 death

# A rank that is stopped is silent, not dead.
begin stopped "$motley" train "${flags[@]}" "${forever[@]}" --method allreduce --ranks 4
hit stopped STOP 1
ends stopped 4
want stopped status peer_lost
want_peer stopped 1 silence

# All of these go on, with the same end as if nothing had happened.
for run in killed plain server stopped; do
    method=allreduce
    [ $run != server ] || method=server
    updates=$(($(value $run updates) + 300))
    if [ $run = server ]; then updates=2000; fi
    "$motley" train "${flags[@]}" --method $method --stop-updates $updates --ranks 4 --out "$folder/$run" --resume 2>"$folder/err" ||
        fail "$run cannot be resumed"
    want $run status ok
    "$motley" sim "${flags[@]}" --method $method --stop-updates "$(value $run updates)" --out "$folder/$run-whole"
    want $run model_hash "$(value $run-whole model_hash)"
done
echo "resumed to the model of an undisturbed run"
