#!/bin/bash
# Compressed runs over MPI: the simulator's bits, and a run in two goes that ends like one in one, residuals included.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' --workers 3 --evaluate-train end --quiet)
for run in 'allreduce topk 5%' 'allreduce topk 1' 'localsgd topk 10%' 'choco topk 10%' 'server topk 5%' 'fedavg topk 5%'; do
    read -r method name ratio <<<"$run"
    what=(--method "$method" --compress "$name" --compress-ratio "$ratio")
    "$motley" sim "${flags[@]}" "${what[@]}" --stop-updates 60 --out "$folder/sim" --replace
    "$motley" train "${flags[@]}" "${what[@]}" --stop-updates 60 --ranks 3 --out "$folder/mpi" --replace 2>"$folder/err" || fail "$run"
    want mpi model_hash "$(value sim model_hash)"
    want mpi updates 60
    clean
    "$motley" train "${flags[@]}" "${what[@]}" --stop-updates 25 --ranks 3 --out "$folder/mpi" --replace 2>"$folder/err" || fail "$run, its beginning"
    "$motley" train "${flags[@]}" "${what[@]}" --stop-updates 60 --ranks 3 --out "$folder/mpi" --resume 2>"$folder/err" || fail "$run, its end"
    want mpi model_hash "$(value sim model_hash)"
    clean
done
"$motley" sim "${flags[@]}" --stop-updates 60 --out "$folder/plain"
"$motley" sim "${flags[@]}" --compress topk --compress-ratio 1 --stop-updates 60 --out "$folder/one"
want one model_hash "$(value plain model_hash)"
want one bytes_sent "$(value plain bytes_sent)"
echo "one model simulated, with --ranks, and in two goes"
