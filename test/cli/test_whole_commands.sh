#!/bin/bash
# test_whole_commands.sh [--record] -- everything that the commands print that look at things: clusters, topologies, data
# sets, partitions, models, and what a run would be.
. "$(dirname "$0")/../whole.sh"

# prints NAME COMMAND...: the command's output is that of whole/NAME.txt
printed=()
prints() {
    made "$@"
    printed+=("$1.txt")
}
# together NAME: what was printed since the last time
together() {
    shows "$1" "${printed[@]}"
    printed=()
}

cat >mixed.yaml <<'YAML'
network: {bandwidth: 100Mbit, latency: 2ms}
workers:
  - {name: fast, count: 3, speed: 1000/s, jitter: {name: lognormal, sigma: 0.3}, up: 1Gbit}
  - {name: slow, count: 2, speed: 150/s, fixed: 3ms, straggle: {name: markov, factor: 4}}
  - {job_time: {name: pareto, mean: 20ms, alpha: 2}, straggle: {name: iid, p: 0.25}, latency: 0}
  - {job_time: {name: uniform, low: 1ms, high: 2ms}, straggle: two-class}
server: {bandwidth: 10Gbit}
slow: 3
slow_count: 2
faults: {drop: 1%, crash: 0.01/s, until: 20s, schedule: [{kind: stall, at: 3s, for: 2s, workers: [1, 2]}, {kind: slow-link, at: 1s, factor: 4, server: true}]}
YAML
prints cluster "$MOTLEY" cluster show mixed.yaml
prints cluster-json "$MOTLEY" cluster show mixed.yaml --json
together cluster

# Six nodes: the fourth straggles half of the time, in runs; the fifth now and then.
{
    echo 'iteration,a,b,c,d,"e 5",f'
    for t in $(seq 0 39); do
        echo "$t,1.$((t * 7 % 10)),1.$((t * 3 % 10)),1.1,$((t / 5 % 2 ? 7 : 1)).$((t * 7 % 4)),$((t % 13 == 6 ? 4 : 1)).2,1.$((t * t % 10))"
    done
} >times.csv
prints trace "$MOTLEY" trace fit times.csv --out fitted.yaml
prints trace-file cat fitted.yaml
prints trace-json "$MOTLEY" trace fit times.csv --json --threshold 3
for model in iid two-class markov iid-each markov-each classes trace none; do
    "$MOTLEY" trace fit times.csv --model $model --out $model.yaml --quiet
    prints trace-$model "$MOTLEY" cluster show $model.yaml
    prints trace-sim-$model "$MOTLEY" sim --cluster $model.yaml --stop-updates 3 --quiet
done
together trace

for kind in ring torus star complete exponential regular; do
    prints $kind "$MOTLEY" topology $kind --workers 6
done
prints laplacian "$MOTLEY" topology torus --topology-rows 2 --topology-weights laplacian --workers 8
prints edges "$MOTLEY" topology edges --topology-list '0-1 1-2 2-3 3-4 4-5 1-4 0-2' --workers 6
prints rcd "$MOTLEY" topology rcd --workers 8
printf '0.5 0.25 0.25\n0.25 0.75 0\n0.25 0 0.75\n' >weights.txt
prints matrix "$MOTLEY" topology matrix --topology-path weights.txt --workers 3
for kind in ring star complete exponential; do
    prints "matchings-$kind" "$MOTLEY" topology $kind --workers 6 --method matcha --method-budget 0.4
done
prints json "$MOTLEY" topology ring --workers 5 --json
for kind in one-peer k-peer derangement derangement-authors unfair matching; do
    prints $kind "$MOTLEY" topology $kind --workers 8
done
prints segments "$MOTLEY" topology derangement --workers 8 --segments 18 --json
prints no-segments "$MOTLEY" topology one-peer --segments 2
prints no-peers "$MOTLEY" topology ring --peers 2
prints too-many-peers "$MOTLEY" topology k-peer --workers 8 --peers 4
prints no-path "$MOTLEY" topology edges --topology-list '0-1 2-3' --workers 4
together topology

for kind in auto frc crc hetero hetero-groups expander graph bernoulli regularised uncoded sr-sgc; do
    prints "code-$kind" "$MOTLEY" code $kind --workers 6
done
prints code-spread "$MOTLEY" code frc --workers 6 --stragglers 2 --slow 1 --missing 4
prints code-large "$MOTLEY" code graph --workers 60 --degree 4
prints code-cluster "$MOTLEY" code hetero --cluster mixed.yaml
prints code-partials "$MOTLEY" code crc --workers 5 --stragglers 2 --decoder any-holder
prints code-json "$MOTLEY" code hetero-groups --workers 5 --parts 7 --speeds '1, 2, 3, 4, 4' --json
together code

prints list "$MOTLEY" data list
prints digits "$MOTLEY" data info digits
prints synthetic "$MOTLEY" data info synthetic
"$MOTLEY" data convert digits d.csv --rows 50 >/dev/null 2>&1
"$MOTLEY" data convert digits d.svm --rows 50 >/dev/null 2>&1
prints csv "$MOTLEY" data info d.csv
prints libsvm "$MOTLEY" data info d.svm --json
together data

for by in equal contiguous stratified proportional sorted dirichlet quantity herding submodular; do
    prints "parts-$by" "$MOTLEY" partition digits --workers 4 --by $by --seed 3 --out "parts-$by"
done
prints shards "$MOTLEY" partition digits --workers 5 --by shards --out parts-shards
prints speeds "$MOTLEY" partition digits --by herding --cluster mixed.yaml --out parts-speeds
prints regression "$MOTLEY" partition d.csv --data-task regression --data-label-column first --data-test 0 --workers 3 --by herding --out parts-regression
prints alone "$MOTLEY" partition d.csv --workers 1 --out parts-alone
together partition
printed=(parts-{equal,sorted,dirichlet,herding,submodular,shards,speeds,regression,alone}/partition.html)
together partition-pages

resolved() { # NAME FLAG...: the experiment, without what it would need of memory
    local name=$1
    shift
    prints "$name" "$MOTLEY" sim --dry-run --sim-threads 2 "$@"
    sed -i '/^# Memory/,/^# (/d' "$name.txt"
}
resolved deadlines --method '{name: server, deadline: adaptive, k: 4}' --cluster mixed.yaml --model softmax
resolved matchings --method matcha --topology torus --workers 9 --partition dirichlet --optimizer adamw \
    --model '{name: mlp, hidden: [8]}' --set optimizer.schedule='{name: cosine, warmup: 5}' --stop-updates 30 --batch '[1, 2, 3, 4, 5, 6, 7, 8, 9]'
together experiments

"$MOTLEY" sim --model softmax --workers 2 --stop-updates 20 --optimizer-lr 1 --out run --quiet >/dev/null 2>&1
prints eval "$MOTLEY" eval run/model.safetensors digits
prints eval-csv "$MOTLEY" eval run/model.safetensors d.csv
prints eval-json "$MOTLEY" eval run/model.safetensors digits --part train --json
prints predict "$MOTLEY" predict run/model.safetensors d.csv
together models
exit $((failures > 0))
