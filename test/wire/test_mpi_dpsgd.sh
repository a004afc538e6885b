#!/bin/bash
# Decentralised methods over MPI: the simulator's bits, a lost neighbour that is named, and workers that go on without it.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' --workers 4 --topology exponential --evaluate-train end --quiet)
# differ NAME: how far models, parts and rows differ at the end
differ() { tail -n 1 "$folder/$1/metrics.jsonl" | grep -oE '"(consensus|zeta2|sigma2)":[^,}]*'; }
for method in dpsgd matcha; do
    "$motley" sim "${flags[@]}" --method $method --method-period 2 --stop-updates 150 --out "$folder/$method-sim"
    "$motley" train "${flags[@]}" --method $method --method-period 2 --stop-updates 150 --ranks 4 --out "$folder/$method" 2>"$folder/err" || fail "$method"
    want $method model_hash "$(value $method-sim model_hash)"
    want $method updates 150
    figures=$(differ $method-sim)
    [[ $figures == *consensus*zeta2*sigma2* && $figures != *null* ]] || fail "$method: found $figures"
    [ "$(differ $method)" = "$figures" ] || fail "$method: found $(differ $method), simulated $figures"
    clean
done
echo "one model simulated and with --ranks: dpsgd, matcha"

"$motley" train "${flags[@]}" --method dpsgd --stop-updates none --stop-time 60s --checkpoint-every '20 updates' --ranks 4 --out "$folder/killed" 2>"$folder/err" &
pid=$!
await_checkpoint killed
kill -KILL "$(rank_pid killed 2)"
code=0
wait $pid || code=$?
[ $code = 4 ] || fail "a lost neighbour ended the run with $code, not 4"
want killed status peer_lost
want_peer killed 2 death
none_left killed
clean
echo "a lost neighbour ends the run and is named"

"${mpirun[@]}" --enable-recovery -n 4 "$motley" train "${flags[@]}" --method dpsgd --method-on_loss continue --stop-updates none --stop-time 120s \
    --checkpoint-every '20 updates' --out "$folder/goes-on" 2>"$folder/err" &
pid=$!
await_checkpoint goes-on
kill -KILL "$(rank_pid goes-on 3)"
await_more_checkpoints goes-on 3 # its neighbours wait for it, and so have noticed
kill -INT "$(rank_pid goes-on 0)"
wait $pid || true # mpirun's code
want goes-on status interrupted
grep -q '"neighbours_lost"' "$folder/goes-on/summary.json" || fail "the lost neighbour is not noted"
none_left goes-on
clean
echo "the others went on: $(value goes-on updates) updates"
