#!/bin/bash
# test_same.sh [--record] [PART] -- what fixed experiments give, to the bit: every method in the simulator,
# resumed and not, with faults; the synchronous ones on threads and over ranks, too; studies and partitions.
# A change that is not meant to change results leaves every line of results.txt as it is.
#   --record   writes what comes out into results.txt. Such a change goes into a commit that says why.
#   PART       only experiments whose names contain it
# The results are those of the generic kernels, which are the same on every processor.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../built.sh"
results=$here/results.txt
motley=${MOTLEY:-build/motley}
record=false
[ "${1:-}" = --record ] && { record=true; shift; }
part=${1:-}
[ -x "$motley" ] || { echo "skipped: there is no $motley"; exit 77; }
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
export MOTLEY_KERNELS=generic MOTLEY_STORE=$box/store

# side_by_side COMMAND NAME...: as many at a time as there are cores
side_by_side() {
    [[ $2 == *"$part"* ]] || return 0
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    "$@" &
}
# run NAME KIND COMMAND...: one line of results, or what went wrong. How a run ends is a result, too.
run() {
    local name=$1 kind=$2 file=$box/${1//\//-}
    shift 2
    "$@" --quiet --out "$file" >"$file.out" 2>&1
    echo "$name $kind $file" >"$file.made"
}
# resumed NAME KIND COMMAND...: as run, but made in two goes
resumed() {
    "${@:3}" --stop-updates 25 --quiet --out "$box/${1//\//-}" >/dev/null 2>&1
    run "$@" --stop-updates 60 --resume
}

fast='{count: 3, speed: 1000/s, jitter: {name: lognormal, sigma: 0.3}}'
mixed="{workers: [$fast, {count: 3, speed: 200/s}]}"
faulty='{workers: 6,
    faults: {drop: 2%, duplicate: 2%, reorder: 2%, corrupt: 1%, stall: 0.2/s, slow_link: 0.1/s}}'
every="10 updates"
common=(--data digits --model softmax --batch 16 --evaluate-every "$every" --checkpoint-every "$every")
two_nets=(--model mlp --model-hidden '[16]' --optimizer adamw --data-valid 0.1)
for method in $("$motley" help method | awk '/^  [a-z]/ && !/motley/ { print $1 }'); do
    case $method in
    async | ringmaster | ringleader | ia2sgd | gasync) updates=400 ;;
    *) updates=60 ;;
    esac
    sim=("$motley" sim "${common[@]}" --method "$method")
    side_by_side run "sim/$method" run "${sim[@]}" --cluster "$mixed" --partition dirichlet \
        --stop-updates $updates
    side_by_side resumed "resumed/$method" run "${sim[@]}" --cluster "$mixed" "${two_nets[@]}"
    side_by_side run "faults/$method" run "${sim[@]}" --cluster "$faulty" --stop-updates $updates
done
sim=("$motley" sim "${common[@]}" --stop-updates 200)
for method in async fedbuff; do # a worker that was lost comes back
    side_by_side run "crashes/$method" run "${sim[@]}" --method $method \
        --cluster '{workers: 6, faults: {crash: 0.1/s, restart_after: 2s}}'
done
for assign in random shuffled once; do
    side_by_side run "sim/async-$assign" run "${sim[@]}" --cluster "$mixed" \
        --method "{name: async, assign: $assign}"
done
side_by_side run sim/async-shards run "${sim[@]}" --method '{name: async, shards: 3}' --cluster "$mixed"
# each WHAT FLAG VALUE...: a run for each value of a flag, which has no blanks but in names of keys and values
each() {
    local what=$1 flag=$2 value
    shift 2
    for value; do
        side_by_side run "$what/$(tr -d ' {}[]' <<<"${value//name:/}")" run "$motley" sim "${common[@]}" --workers 6 \
            --cluster "$mixed" --stop-updates 60 "${beside[@]}" "$flag" "$value"
    done
}
beside=()
each option --method '{name: server, k: 3}' '{name: server, deadline: fixed, after: 20ms}' \
    '{name: server, deadline: adaptive, spread: 1}' '{name: async, wait: 3}' '{name: async, jobs: 12}' \
    '{name: async, step: adaptive}' '{name: async, step: cutoff}' '{name: async, step: cutoff, cutoff: 5, beyond: drop}' \
    '{name: async, step: rescaled, times: [1, 1, 1, 3, 3, 3]}' '{name: async, step: clipped, clip: 0.1}' \
    '{name: async, step: compensated, lambda: 0.5}' '{name: async, max_staleness: 6}' \
    '{name: async, max_staleness: 3, on_stale: drop}' '{name: async, max_staleness: 3, on_stale: cancel}' \
    '{name: rennala, s: 40}' '{name: rennala, unfinished: finish}' '{name: malenia, s: 40}' \
    '{name: malenia, unfinished: finish}' '{name: ringmaster, r: 3}' '{name: ringmaster, r: 3, unfinished: finish}' \
    '{name: ia2sgd, start: zero}' '{name: ia2sgd, wait: 2}' '{name: fedbuff, discount: none, k: 2}' \
    '{name: fedbuff, steps: 3, server_rate: 0.5}' '{name: fedbuff, assign: random}' '{name: ca2fl, steps: 3, assign: shuffled}' \
    '{name: fedavg, clients: 2, epochs: 2}' '{name: fedavg, share: 0.5, steps: 3, proximal: 0.5, server_rate: 2}' \
    '{name: fedavg, clients: 4, deadline: fixed, after: 60ms}' \
    '{name: mindflayer, tries: 1, limit: 20ms}' '{name: mindflayer, p: 0.5}' '{name: gasync, jobs: 9}' \
    '{name: gasync, p: uniform}' '{name: dpsgd, period: 2}' '{name: dpsgd, weigh: equal}' '{name: matcha, budget: 0.2, period: 3}' \
    '{name: sgp, peers: 2}' '{name: sgp, graph: topology}' '{name: osgp, lag: 3}' \
    '{name: crossover, groups: 3, micro: 2}' '{name: crossover, mode: loose, deadline: 10ms, window: 2}' \
    '{name: crossover, peers: unfair, segments: 5, cut: equal}' '{name: crossover, peers: authors, window: 1}' \
    '{name: localsgd, period: 3, overlap: true}' '{name: localsgd, weigh: rows, local_from: 20}' '{name: slowmo, period: 4, beta: 0.5, alpha: 0.8}' \
    '{name: diloco, period: 5, outer_momentum: 0.5}'
beside=(--method dpsgd)
each topology --topology torus star complete exponential '{name: regular, degree: 3}' '{name: ring, weights: laplacian}' \
    '{name: edges, list: 0-1 1-2 2-3 3-4 4-5 1-4}'
beside=(--method matcha)
each matchings --topology star complete '{name: regular, degree: 3}'
beside=(--method coded)
each code --code frc crc '{name: crc, decoder: any-holder}' '{name: hetero, stragglers: 2}' hetero-groups '{name: expander, decoder: one-step}' \
    expander graph bernoulli regularised uncoded sr-sgc
for shuffle in rotate-worker rotate-group random partial; do # the rows move
    beside=(--code '{name: frc, stragglers: 2}')
    each shuffle --method "{name: coded, shuffle: $shuffle, period: 2}" "{name: coded, shuffle: $shuffle, deadline: fixed, after: 20ms}"
done
beside=()
each optimizer --optimizer '{name: sgd, momentum: 0.9, nesterov: true}' '{name: sgd, clip: 0.1, weight_decay: 0.01}' adamw \
    '{name: lars, trust: 0.01}'
each schedule --set optimizer.schedule='{name: step, every: 20, factor: 0.5}' \
    optimizer.schedule='{name: cosine, warmup: 10}' optimizer.schedule='{name: polynomial, power: 1, total: 80, end: 0.1}'
each model --model '{name: mlp, hidden: [8, 8], label_smoothing: 0.1}' '{name: softmax, reg: nonconvex, lambda: 0.01}' \
    '{name: softmax, init: random, bias: false}' '{name: phantom, parameters: 1e6}'
each partition --partition shards quantity sorted '{name: submodular, objective: graph-cut}'
each sampler --sampler once replace choice sequential
each law --set cluster.workers='[{count: 6, job_time: {name: uniform, low: 1ms, high: 9ms}}]' \
    cluster.workers='[{count: 6, job_time: {name: pareto, mean: 5ms}}]' \
    cluster.workers='[{count: 6, job_time: {name: poisson, mean: 5ms, unit: 1ms, plus: 1ms}}]' \
    cluster.workers='[{count: 6, jitter: {name: normal, sd: 0.3}, straggle: {name: iid}}]' \
    cluster.workers='[{count: 6, jitter: exponential, straggle: two-class}]' \
    cluster.workers='[{count: 6, fixed: 2ms, straggle: markov}]'
side_by_side run sim/target run "${sim[@]}" --stop-target-test_accuracy 0.8
side_by_side run sim/epochs run "$motley" sim "${common[@]}" --stop-epochs 3 --evaluate-every '0.5 epochs'

# Those whose rounds wait for all, or do not depend on who answers, give one model under every driver.
for method in allreduce server dpsgd matcha sgp osgp localsgd slowmo diloco crossover coded fedavg; do
    live=("${common[@]}" --method "$method" --workers 3)
    [ $method != coded ] || live+=(--code '{name: frc, stragglers: 2}' --set method.shuffle=rotate-worker)
    [ $method != fedavg ] || live+=(--set method.clients=2 --set method.proximal=0.1 --optimizer-momentum 0.5)
    side_by_side run "threads/$method" model "$motley" train "${live[@]}" --stop-updates 40
    side_by_side resumed "threads-resumed/$method" model "$motley" train "${live[@]}"
    if command -v mpirun >/dev/null && MOTLEY=$motley built_with mpi; then
        side_by_side run "ranks/$method" model "$motley" train "${live[@]}" --stop-updates 40 --ranks 3
    fi
done

side_by_side run study/compare study "$motley" compare "${common[@]}" --workers 4 --seeds 6 \
    --methods allreduce,async,server --stop-updates 40 --jobs 1
side_by_side run study/tune study "$motley" tune "${common[@]}" --workers 4 --seeds 3 \
    --methods allreduce,async --by train_loss --over optimizer.lr=2^-4..2^-1 --stop-updates 30 --jobs 1
for by in herding submodular dirichlet; do
    side_by_side run "partition/$by" parts "$motley" partition digits --workers 5 --by $by --seed 3
done
wait

cat "$box"/*.made 2>/dev/null | python3 "$here/digest.py" | sort >"$box/measured" || exit 1
[ -s "$box/measured" ] || { echo "no experiment has '$part' in its name"; exit 2; }
if $record; then
    { cat "$box/measured"; cat "$results" 2>/dev/null; } | awk '!seen[$1]++' | sort >"$box/new"
    cp "$box/new" "$results"
    cat "$box/measured"
    exit 0
fi
grep -F -- "$part" "$results" | grep -v "^ranks/" >"$box/wanted"
grep "^ranks/" "$box/measured" >/dev/null && grep -F -- "$part" "$results" | grep "^ranks/" >>"$box/wanted"
if sort "$box/wanted" | diff "$box/measured" - >"$box/diff"; then
    echo "$(wc -l <"$box/measured") results are as recorded"
    exit 0
fi
echo "what comes out (<) is not what was recorded (>):"
cat "$box/diff"
echo "If that is wanted: test/same/test_same.sh --record, and say why in the commit."
exit 1
