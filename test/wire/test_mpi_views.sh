#!/bin/bash
# Over MPI the model of several nodes (workers that differ, servers with a range each) is that of the simulator and of threads,
# wherever the nodes are.
. "$(dirname "$0")/mpi.sh"
probe=${MOTLEY_BUILD:?names the build}/test_decentralised
flags=(data=digits model=mlp 'model.hidden=[16]' workers=4 stop.updates=60 'evaluate.every=20 updates' optimizer.momentum=0.9 optimizer.lr=0.02)
losses() { sed 's/.*"updates":\([0-9]*\).*"test_loss":\([-0-9.e]*\).*/\1 \2/' "$folder/$1/metrics.jsonl"; } # RUN
ranks() { timeout 400 "${mpirun[@]}" -n "$1" "$probe" run mpi "${@:2}" 2>"$folder/err" || fail "mpirun -n $*"; clean; } # N SETTINGS...

for method in ring shards; do
    want=$("$probe" run sim "${flags[@]}" method=$method "output=$folder/$method-sim")
    [ "$("$probe" run threads "${flags[@]}" method=$method)" = "$want" ] || fail "$method on threads is not '$want'"
    have=$(ranks 4 "${flags[@]}" method=$method "output=$folder/$method-mpi" "checkpoint.every=30 updates")
    [ "$have" = "$want" ] || fail "$method over MPI gives '$have', not '$want'"
    while read -r line; do
        losses $method-sim | grep -xF "$line" >/dev/null || fail "$method over MPI was evaluated to '$line', which the simulator never saw"
    done < <(losses $method-mpi)
    [ "$(losses $method-mpi | wc -l)" -ge 2 ] || fail "$method over MPI was not evaluated"
done
echo "one mean of a ring, and one model of two servers: simulated, on threads and over MPI; evaluated alike"

for place in "4 method.shards=3" "4 method.shards=6" "6 method.shards=2 mpi.place=own" "5 method.shards=1 mpi.place=own mpi.checksum=all"; do
    # shellcheck disable=SC2086
    set -- $place
    have=$(ranks "$1" "${flags[@]}" method=shards "${@:2}")
    [ "$have" = "$want" ] || fail "servers placed as '$place' give '$have', not '$want'"
done
echo "servers on the workers' ranks, more than there are ranks, and on ranks of their own"

for method in ring shards; do
    have=$(ranks 4 "${flags[@]}" method=$method stop.updates=23 "output=$folder/$method-on")
    [[ $have == *' 23 updates '* ]] || fail "$method ended with '$have'"
    export RESUME=1
    have=$(ranks 4 "${flags[@]}" method=$method "output=$folder/$method-on")
    unset RESUME
    [[ $have == *' 60 updates '* ]] || fail "$method went on to '$have'"
    [ $method = ring ] || [ "$have" = "$want" ] || fail "servers with a range each go on to '$have', not '$want'"
    have=$(ranks 4 "${flags[@]}" method=$method stop.updates=none stop.time=300ms evaluate.every=50ms)
    [[ $have == *' time '* ]] || fail "$method ended with '$have', not by its clock"
done
echo "they go on from a checkpoint, and end by the clock"
