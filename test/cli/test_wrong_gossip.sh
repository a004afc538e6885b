#!/bin/bash
# What gossip cannot do is refused before anything is written, simulated, live and over ranks: exit code 2, with the place and what was expected.
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../built.sh"
cd "$box" || exit 1
libraries=$(ldd "$MOTLEY")
ways=(sim train)
if command -v mpirun >/dev/null && built_with mpi && [[ $libraries != *libtsan* && $libraries != *libasan* ]]; then ways+=("train --ranks 8"); fi

refused() { # CLAIM TEXT FLAGS...
    local claim=$1 text=$2 way
    shift 2
    for way in "${ways[@]}"; do
        # shellcheck disable=SC2086 # a command and its flags
        says "$way: $claim" 2 "$text" "$MOTLEY" $way --data digits --model softmax --workers 8 --stop-updates 3 --out run "$@"
        [ ! -e run ] || { echo "FAIL $way: $claim: it left a folder"; failures=$((failures + 1)); rm -r run; }
    done
}
refused "groups that do not divide the workers" "3 groups do not divide 8 workers" --method crossover --method-groups 3
refused "more groups than workers" "16 groups do not divide 8 workers" --method crossover --method-groups 16
refused "more segments than parameters" "method.segments: 651 segments, but the model has only 650 parameters" \
    --method crossover --method-segments 651 --method-cut equal
refused "more segments than layers" "method.segments: 3 segments, but the model has only 2 tensors" --method crossover --method-segments 3
refused "a window of 0" "method.window: expected a whole number from 1 to 10000" --method crossover --method-window 0
refused "a deadline of nothing" "method.deadline: expected" --method crossover --method-mode loose --method-deadline 0s
refused "a group that would go on without one of its workers" "expected strict, or groups: none" \
    --method crossover --method-mode loose --method-groups 2
refused "a lag of 0" "method.lag: expected a whole number from 1 to 16" --method osgp --method-lag 0
refused "more receivers than links" "method.peers: 4; expected at most 3" --method sgp --method-peers 4
refused "a pairing without two sides" "a cycle of odd length" --method adpsgd --method-peers topology --topology complete
refused "a period of 0" "method.period: expected a whole number from 1" --method localsgd --method-period 0
refused "momentum that grows" "method.beta: expected a number from 0 to 0.9999" --method slowmo --method-beta 1
refused "more clients than workers" "method.clients" --method fedavg --method-clients 9
for method in dpsgd matcha "sgp --method-graph topology" "adpsgd --method-peers topology" "gosgd --method-peers topology"; do
    # shellcheck disable=SC2086
    refused "$method, over a topology without a path" "no path from worker 0 to worker 4, so their models would never mix" \
        --method $method --topology '{name: edges, list: [0-1, 1-2, 2-3, 4-5, 5-6, 6-7]}'
done
says "a topology without a path" 2 "no path from worker 0 to worker 2" "$MOTLEY" topology edges --topology-list '[0-1, 2-3]' --workers 4
says "random peers of one worker" 2 "" "$MOTLEY" topology derangement --workers 1
says "no segments" 2 "" "$MOTLEY" topology derangement --workers 8 --segments 0
exit $((failures > 0))
