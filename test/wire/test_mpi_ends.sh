#!/bin/bash
# Where a run over MPI ends: at the simulator's update and with its model, whatever ends it but the clock;
# and a run that is over stays as it is.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model softmax --optimizer-lr 0.05 --workers 3 --quiet)
epochs=(--stop-epochs 2.3)
target=(--stop-epochs 60 --stop-target-test_accuracy 0.75 --evaluate-every '3 updates')
ends() { # RUN METHOD... : all ends of it, simulated and over ranks
    local run=$1 stop key
    shift
    for stop in epochs target; do
        local -n how=$stop
        "$motley" sim "${flags[@]}" "$@" "${how[@]}" --out "$folder/$run-$stop-sim"
        "$motley" train "${flags[@]}" "$@" "${how[@]}" --ranks 3 --out "$folder/$run-$stop" 2>"$folder/err" || fail "$run, $stop"
        want "$run-$stop" ended_by $stop
        for key in updates samples epochs model_hash; do want "$run-$stop" $key "$(value "$run-$stop-sim" $key)"; done
        clean
        [ $stop = epochs ] || continue
        cp -r "$folder/$run-$stop" "$folder/before"
        "$motley" train "${flags[@]}" "$@" "${how[@]}" --ranks 3 --resume --out "$folder/$run-$stop" 2>"$folder/err" || fail "$run, resumed"
        diff -r "$folder/before" "$folder/$run-$stop" >/dev/null || fail "$run: resuming a finished run changes it"
        rm -rf "$folder/before"
        # killed when all was kept and no result was written
        rm "$folder/$run-$stop/summary.json"
        "$motley" train "${flags[@]}" "$@" "${how[@]}" --ranks 3 --resume --out "$folder/$run-$stop" 2>"$folder/err" || fail "$run, resumed"
        for key in updates samples epochs model_hash ended_by; do want "$run-$stop" $key "$(value "$run-$stop-sim" $key)"; done
        clean
    done
}
ends allreduce --method allreduce
ends server --method server
ends dpsgd --method dpsgd --topology ring --method-period 4
ends matcha --method matcha --topology complete
ends shards --method async --method-wait 3 --method-shards 2
echo "ok   the simulator's end, and a finished run stays as it is: allreduce, server, dpsgd, matcha, several servers"

# A run that goes on from a checkpoint of every worker's own model ends where the undisturbed one does.
goes=("${flags[@]}" --method dpsgd --topology ring --optimizer-momentum 0.9)
"$motley" sim "${goes[@]}" --stop-updates 60 --out "$folder/whole"
"$motley" train "${goes[@]}" --stop-updates 25 --ranks 3 --out "$folder/part" 2>"$folder/err" || fail "part"
"$motley" train "${goes[@]}" --stop-updates 60 --ranks 3 --resume --out "$folder/part" 2>"$folder/err" || fail "part, resumed"
want part model_hash "$(value whole model_hash)"
echo "ok   dpsgd goes on to the same end"
