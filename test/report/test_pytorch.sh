#!/bin/bash
# Train here, open there; start there, go on here: the scripts of examples/pytorch.
set -u
motley=${MOTLEY:-build/motley}
[ -x "$motley" ] || { echo "skip: $motley is not built"; exit 77; }
/usr/bin/python3 -c 'import torch, yaml' 2>/dev/null || { echo "skip: PyTorch is missing; install python3-torch, python3-yaml"; exit 77; }
motley=$(realpath "$motley")
tree=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

check() { # claim, command...
    local claim=$1
    shift
    if "$@"; then echo "ok   $claim"; else echo "FAIL $claim"; failed=1; fi
}
# Greatest difference between two CSV files of numbers, the first with a header and a column of classes.
apart() { paste -d, <(tail -n +2 "$1" | cut -d, -f2-) "$2" | awk -F, '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (d < 0) d = -d; if (d > m) m = d } } END { print (NR > 0 ? m + 0 : "nothing") }'; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a != "" && a ~ /^[0-9]/ && a + 0 <= b) }' || { echo "  $1, expected at most $2"; return 1; }; }
opens() { # MODEL FLAG...: what motley predicts and what PyTorch does
    "$motley" sim --quiet --replace --data digits --workers 2 --stop-updates 15 --model "$@" --out run >/dev/null || return 1
    "$motley" predict run rows.npy --probabilities --out here.csv --quiet || return 1
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$tree/examples/pytorch/open_model.py" run/model.safetensors rows.npy >there.csv || return 1
    below "$(apart here.csv there.csv)" 1e-5
}

"$motley" data convert digits rows.npy --rows 300 >/dev/null 2>&1 || exit 1
labels=$(ls rows*labels*.npy rows*-y.npy 2>/dev/null | head -1)
check resnet8_opens_in_pytorch opens resnet8
check vgg8_opens_in_pytorch opens vgg8
check an_mlp_opens_in_pytorch opens '{name: mlp, hidden: [20, 10]}'
check a_list_of_layers_opens_in_pytorch opens '{name: network, layers: [{name: conv, as: stem, out: 6, kernel: 3, padding: 1}, {name: group_norm, groups: 3}, relu, {name: residual, as: block.0, shortcut: conv, layers: [{name: conv, out: 8, kernel: 3, stride: 2, padding: 1, groups: 2}, batch_norm, relu, {name: residual, layers: [relu, {name: conv, out: 8, kernel: 1}]}]}, {name: residual, shortcut: pad, layers: [{name: conv, out: 12, kernel: 3, padding: 1}, relu]}, {name: mean_pool, kernel: 3, stride: 1, padding: 1}, dropout, flatten, {name: linear, out: 14}, relu, {name: linear, out: classes}]}'
check words_open_in_pytorch opens '{name: network, layers: [{name: embedding, words: 17, out: 5}, {name: conv, out: 7, kernel: 3, padding: 1}, relu, mean_pool, flatten, {name: linear, out: classes}]}' --data-scale none

for model in resnet8 vgg8; do
    PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$tree/examples/pytorch/make_model.py" $model 1x8x8 10 start.safetensors 3 || exit 1
    rm -rf run
    "$motley" sim --quiet --data digits --data-order file --model $model --from start.safetensors --workers 1 --partition contiguous --sampler sequential \
        --batch 20 --optimizer '{name: sgd, lr: 0.05, momentum: 0.9}' --stop-updates 5 --out run >/dev/null || exit 1
    off=$(PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$tree/test/report/pytorch_steps.py" start.safetensors run/model.safetensors rows.npy "$labels" 20 5)
    check "${model}_goes_on_here_as_it_would_there" below "$off" 1e-4
done

# bench/compare-torch takes the same networks from examples/pytorch; one short turn of it.
step=${MOTLEY_BUILD:-$tree/build}/bench_step
rows() { PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$tree/bench/bench_step_torch.py" "$step" 1 0.01 nets >speeds && [ "$(grep -c '^lenet\|^resnet20' speeds)" = 4 ]; }
[ ! -x "$step" ] || check the_benchmark_beside_pytorch_runs rows
exit $failed
