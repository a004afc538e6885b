#!/bin/bash
# Emulated over MPI, a run takes at least the simulated time and gives the same model; Ctrl-C ends a run of ranks cleanly.
. "$(dirname "$0")/mpi.sh"

cluster='{network: {bandwidth: 1Gbit, latency: 1ms}, workers: [{count: 3, speed: 4000 samples/s}, {speed: 1000 samples/s}]}'
for method in allreduce server; do
    flags=(--data digits --model mlp --cluster "$cluster" --method $method --stop-updates 20 --evaluate-train end --quiet)
    "$motley" sim "${flags[@]}" --out "$folder/$method-sim"
    "$motley" train "${flags[@]}" --emulate --ranks 4 --out "$folder/$method-mpi" 2>"$folder/err" || fail "$method"
    want $method-mpi model_hash "$(value $method-sim model_hash)"
    simulated=$(value $method-sim time_s) emulated=$(value $method-mpi time_s)
    awk "BEGIN { exit !($emulated >= $simulated * 0.99) }" || fail "$method: emulated $emulated s, simulated $simulated s"
    echo "$method: simulated $simulated s, emulated $emulated s"
done

"$motley" train --data digits --model mlp --workers 2 --stop-updates none --stop-time 60s --checkpoint-every '50 updates' --quiet --ranks 2 \
    --out "$folder/long" 2>"$folder/err" &
pid=$!
await_checkpoint long
kill -INT $pid
code=0; wait $pid || code=$?
[ $code = 130 ] || fail "an interrupted run of ranks ended with $code"
want long status interrupted
none_left long
clean
echo "Ctrl-C reaches rank 0, and the code is motley's"
