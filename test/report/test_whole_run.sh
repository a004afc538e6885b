#!/bin/bash
# test_whole_run.sh [--record] -- everything that runs show and leave behind.
. "$(dirname "$0")/../whole.sh"

# run NAME FLAG...: a simulated run and its files
run() {
    local name=$1 files
    shift
    made "$name" "$MOTLEY" sim --out "$name" --trace true --tensorboard --sim-threads 1 "$@"
    files=$(cd "$name" 2>/dev/null && ls | grep -v 'checkpoint\|experiment' | sed "s|^|$name/|")
    # shellcheck disable=SC2086  # names without blanks
    shows "$name" "$name.txt" $files
}
mixed='{workers: [{name: fast, count: 3, speed: 1000/s, jitter: {name: lognormal, sigma: 0.3}}, {name: slow, count: 2, speed: 150/s, up: 20Mbit}]}'
common=(--model softmax --batch 8 --evaluate-every "10 updates" --stop-updates 30 --data-valid 0.1)
for collective in ring tree doubling; do
    run "sum-$collective" "${common[@]}" --cluster "$mixed" --sim-collective $collective
done
run first-three "${common[@]}" --cluster "$mixed" --method server --method-k 3
run deadline "${common[@]}" --cluster "$mixed" --method server --method-deadline fixed --method-after 20ms --stop-target-test-accuracy 0.99
run adaptive "${common[@]}" --cluster "$mixed" --method server --method-deadline adaptive
run stale "${common[@]}" --cluster "$mixed" --method async --optimizer-lr 0.5 --stop-updates 80
run neighbours "${common[@]}" --cluster "$mixed" --method dpsgd --topology ring
run replaced "${common[@]}" --cluster "$mixed" --method ringmaster --stop-updates 80
run faults "${common[@]}" --method async --cluster '{workers: 4, faults: {drop: 5%, duplicate: 5%, reorder: 5%, corrupt: 2%,
    stall: 2/s, slow_link: 2/s, schedule: [{kind: crash, at: 30ms, for: 20ms, worker: 2}, {kind: partition, at: 70ms, for: 30ms, worker: 1}]}}'
run lost "${common[@]}" --workers 3 --set 'cluster.faults={schedule: [{kind: crash, at: 40ms, worker: 1}]}'
run regression --data synthetic --data-kind regression --data-size 200 --model least-squares --workers 3 --stop-epochs 3
run diverged --data synthetic --data-kind regression --data-size 200 --model least-squares --optimizer-lr 900 --stop-updates 50
run unlearned "${common[@]}" --optimizer-lr 0 --workers 2 --method async
run net --model mlp --model-hidden '[8]' --optimizer adamw --workers 2 --batch 16 --stop-time 100ms --evaluate-every 30ms
straggling='{workers: [{count: 3, speed: 1000/s, straggle: {name: iid, p: 0.7, factor: 5}}, {count: 3, speed: 1000/s}], faults: {schedule: [{kind: crash, at: 300ms, worker: 0}, {kind: crash, at: 300ms, worker: 1}]}}'
run coded "${common[@]}" --cluster "$straggling" --method coded --code frc --method-deadline fixed --method-after 100ms --method-shuffle rotate-worker --method-period 4
run coded-lost "${common[@]}" --cluster "$straggling" --method coded --code frc
run reached --model softmax --workers 4 --batch 32 --evaluate-every "2 updates" --stop-target-test-accuracy 0.7
run data-out --model softmax --workers 2 --batch 100 --sampler-passes 1
exit $((failures > 0))
