#!/bin/bash
# Over MPI a synchronous run gives the simulator's bits, whoever starts it; and what does not fit is refused.
. "$(dirname "$0")/mpi.sh"
unset HWLOC_PLUGINS_PATH # here mpirun starts as it does for users

updates=200
[ $asan = no ] || updates=60
flags=(--data digits --model mlp --workers 4 --stop-updates $updates --evaluate-train end --quiet)
for method in allreduce server; do
    "$motley" sim "${flags[@]}" --method $method --out "$folder/$method-sim"
    hash=$(value $method-sim model_hash)
    "$motley" train "${flags[@]}" --method $method --out "$folder/$method-threads"
    want $method-threads model_hash "$hash"
    "${mpirun[@]}" -n 4 "$motley" train "${flags[@]}" --method $method --out "$folder/$method-mpirun" 2>"$folder/err" || fail "mpirun, $method"
    want $method-mpirun model_hash "$hash"
    want $method-mpirun driver mpi
    want $method-mpirun samples "$(value $method-sim samples)"
    "$motley" train "${flags[@]}" --method $method --ranks 4 --out "$folder/$method-ranks" 2>"$folder/err" || fail "--ranks, $method"
    want $method-ranks model_hash "$hash"
    clean
done
echo "one model simulated, on threads, under mpirun and with --ranks: allreduce, server"

if [ $asan = no ]; then # batch norm: statistics go along with what is trained
    for method in allreduce server dpsgd crossover; do
        net=(--data digits --model resnet8 --workers 2 --batch 8 --method $method --topology ring --stop-updates 6 --evaluate-train end --quiet)
        "$motley" sim "${net[@]}" --out "$folder/net-$method-sim"
        "$motley" train "${net[@]}" --out "$folder/net-$method-threads"
        "$motley" train "${net[@]}" --ranks 2 --out "$folder/net-$method-ranks" 2>"$folder/err" || fail "ResNet-8 over ranks, $method"
        want net-$method-threads model_hash "$(value net-$method-sim model_hash)"
        want net-$method-ranks model_hash "$(value net-$method-sim model_hash)"
        clean
    done
    echo "one ResNet-8 with batch norm simulated, on threads and over ranks: allreduce, server, dpsgd, crossover"
fi

"$motley" train "${flags[@]}" --method server --mpi-place own --ranks 5 --mpi-checksum all --out "$folder/own" 2>"$folder/err" || fail "own"
want own model_hash "$(value server-sim model_hash)"
"$motley" train "${flags[@]}" --mpi-reduction fast --ranks 4 --out "$folder/fast" 2>"$folder/err" || fail "fast"
want fast updates $updates
"$motley" train "${flags[@]}" --method async --ranks 4 --out "$folder/async" 2>"$folder/err" || fail "async"
want async updates $updates
"$motley" train "${flags[@]}" --method async --record --ranks 4 --out "$folder/taped" 2>"$folder/err" || fail "record"
"$motley" sim --arrivals "$folder/taped" --out "$folder/replayed" --quiet || fail "a run of ranks cannot be replayed"
want replayed model_hash "$(value taped model_hash)"
for method in 'ringmaster --method-r 2' 'fedbuff --method-steps 3'; do   # jobs that are cancelled, and steps at the workers
    name=${method%% *}
    "$motley" train "${flags[@]}" --method $method --record --ranks 4 --out "$folder/$name" 2>"$folder/err" || fail "$method"
    "$motley" sim --arrivals "$folder/$name" --out "$folder/$name-replayed" --quiet || fail "$method cannot be replayed"
    want $name-replayed model_hash "$(value $name model_hash)"
done
clean
if [ $asan = yes ]; then
    for method in allreduce server; do
        look_for_leaks "$motley" train --data digits --model mlp --workers 2 --stop-updates 20 --method $method --ranks 2 --out "$folder/leak-$method" \
            --quiet 2>"$folder/err" || fail "leaks"
        clean
    done
    echo "no leaks of our own"
fi
echo "a server with a rank of its own, sums by MPI itself, async, recorded and replayed"

code=0; "$motley" train "${flags[@]}" --ranks 3 2>"$folder/err" || code=$?
[ $code = 2 ] || fail "--ranks 3 for 4 workers ended with $code"
grep -q '3 ranks for 4 workers; expected 4' "$folder/err" || fail "what is wrong with 3 ranks is not said"
code=0; "${mpirun[@]}" -n 3 "$motley" train "${flags[@]}" 2>"$folder/err" || code=$?
[ $code = 2 ] || fail "mpirun -n 3 for 4 workers ended with $code"
[ "$(grep -c '3 ranks for 4 workers' "$folder/err")" = 1 ] || fail "not one rank complains, but $(grep -c '3 ranks' "$folder/err")"
for other in '--seed 9' '--stop-epochs 2'; do # every rank knows itself when it ends
    code=0
    # shellcheck disable=SC2086
    timeout 60 "${mpirun[@]}" -n 1 "$motley" train --workers 2 --stop-epochs 1 --quiet : -n 1 "$motley" train --workers 2 --stop-epochs 1 $other --quiet \
        2>"$folder/err" || code=$?
    [ $code = 7 ] || fail "ranks that read different experiments ($other) ended with $code"
    grep -q 'rank 1 has read a different experiment' "$folder/err" || fail "the rank that differs ($other) is not named"
done
echo "ranks that do not fit or do not agree are refused"

# Kernel sets differ in the last bits: where ranks have different ones, all compute with the plain one.
MOTLEY_KERNELS=generic "$motley" sim "${flags[@]}" --workers 2 --out "$folder/plain"
for poor in 0 1; do
    rank0=(); rank1=()
    [ $poor = 1 ] || rank0=(env MOTLEY_KERNELS=generic)
    [ $poor = 0 ] || rank1=(env MOTLEY_KERNELS=generic)
    "${mpirun[@]}" -n 1 "${rank0[@]}" "$motley" train "${flags[@]}" --workers 2 --out "$folder/poor-$poor" : \
        -n 1 "${rank1[@]}" "$motley" train "${flags[@]}" --workers 2 --out "$folder/poor-$poor" 2>"$folder/err" || fail "rank $poor with plain kernels"
    want poor-$poor kernels generic
    want poor-$poor model_hash "$(value plain model_hash)"
done
clean
echo "ranks with different kernels all use the plain ones"
