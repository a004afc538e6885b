#!/bin/bash
# test_whole_study.sh [--record] -- everything that studies show.
. "$(dirname "$0")/../whole.sh"

cat >target.yaml <<'YAML'
data: digits
model: softmax
workers: 4
batch: 8
evaluate: {every: 20 updates}
stop: {updates: 60, target: {test_accuracy: 0.8}}
cluster: {workers: [{count: 3, speed: 1000/s, jitter: {name: lognormal, sigma: 0.2}}, {name: edge, count: 1, speed: 250/s}]}
compare:
  - allreduce
  - {label: first three, method: {name: server, k: 3}}
  - async
  - {label: "wild <b>", method: async, optimizer.lr: 90000}
sweep: {cluster.slow: [1, 8], seed: 1..6}
YAML
made target "$MOTLEY" compare --quiet target.yaml --out target --csv target/plot
shows target target.txt target/{study.json,report.html,plot-runs.csv,plot-curves.csv}

cat >line.yaml <<'YAML'
data: {name: synthetic, kind: regression, size: 200}
model: least-squares
workers: 3
evaluate: {every: 10 updates}
stop: {updates: 40}
compare: [allreduce, {label: small, method: allreduce, optimizer.lr: 0.001}, {label: lost, method: allreduce, optimizer.lr: 900}]
YAML
made line "$MOTLEY" compare --quiet line.yaml --out line --seeds 7 --csv line/plot
shows line line.txt line/{study.json,report.html,plot-runs.csv,plot-curves.csv}
made few "$MOTLEY" compare --quiet line.yaml --out few --seeds 3
shows few few.txt few/{study.json,report.html}

cat >tuned.yaml <<'YAML'
data: digits
model: softmax
workers: 3
batch: 8
evaluate: {every: 10 updates}
stop: {updates: 40, target: {test_accuracy: 0.7}}
compare: [allreduce, {label: fixed, method: async, optimizer.lr: 0.05}, {label: other, method: async}]
sweep: {seed: 1..6}
tune: {over: {optimizer.lr: 2^-1..2^-8}, halving: true, seeds: 3}
YAML
made tuned "$MOTLEY" compare --quiet tuned.yaml --out tuned
shows tuned tuned.txt tuned/{study.json,report.html}

sim=("$MOTLEY" sim --model softmax --batch 8 --workers 3 --evaluate-every "10 updates" --quiet)
for seed in 1 2; do
    "${sim[@]}" --stop-updates 30 --seed $seed --method allreduce --out runs/sum-$seed >sim.txt 2>&1
    "${sim[@]}" --stop-updates 30 --seed $seed --method async --optimizer-lr 0.01 --out runs/async-$seed >sim.txt 2>&1
done
made gathered "$MOTLEY" report runs/* --out gathered.html --csv gathered
shows gathered gathered.txt gathered.html gathered-runs.csv gathered-curves.csv
made one "$MOTLEY" report runs/sum-1 --out one.html
shows one one.txt one.html
exit $((failures > 0))
