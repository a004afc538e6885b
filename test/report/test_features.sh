#!/bin/bash
# From a network to a partition by what it makes of the rows, and the mistakes on the way.
set -u
motley=${MOTLEY:-build/motley}
[ -x "$motley" ] || { echo "skip: $motley is not built"; exit 77; }
motley=$(realpath "$motley")
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

check() { # claim, command...
    local claim=$1
    shift
    if "$@"; then echo "ok   $claim"; else echo "FAIL $claim"; failed=1; fi
}
says() { # exit code, text, command...
    local code=$1 text=$2
    shift 2
    "$@" >out 2>err
    local got=$?
    [ $got = "$code" ] && grep -qF -- "$text" err && return
    echo "  exit code $got, expected $code; said: $(cat err), expected: $text"
    return 1
}
shape() { head -c 128 "$1" | tr '\0' ' ' | grep -ao "'shape': ([^)]*)"; }

train=(sim --quiet --data digits --workers 2 --stop-updates 20)
"$motley" "${train[@]}" --model '{name: mlp, hidden: [24, 12]}' --out mlp || exit 1
"$motley" "${train[@]}" --model '{name: network, layers: [{name: conv, out: 4, kernel: 3}, relu, {name: max_pool, kernel: 2}, dropout, flatten, {name: linear, out: classes}]}' --out net || exit 1
"$motley" "${train[@]}" --model softmax --out flat || exit 1

check an_mlp_has_its_last_hidden_layer says 0 "12 features of each of 1797 rows" "$motley" features mlp --out mlp.npy
check the_file_has_a_row_for_each_row_of_the_data [ "$(shape mlp.npy)" = "'shape': (1797, 12)" ]
check a_network_has_what_its_last_layer_sees says 0 "36 features of each of 1797 rows" "$motley" features net digits --out net.npy
check some_rows_are_enough says 0 "of each of 300 rows" "$motley" features net --rows 300 --out some.npy
check a_partition_takes_them "$motley" partition digits --workers 3 --by submodular --features net.npy --out parts --quiet
check a_run_takes_them "$motley" sim --quiet --data digits --model softmax --workers 3 --stop-updates 2 \
    --partition '{name: submodular, features: net.npy}'
check json_says_how_many bash -c '"$0" features mlp --out again.npy --json | grep "\"features\": 12" >/dev/null' "$motley"
check they_repeat cmp -s mlp.npy again.npy

# Rows are in the file's order, whatever order the run had: a file with its rows turned round gives features turned round.
"$motley" data convert digits a.csv --rows 200 >/dev/null 2>&1
{ head -1 a.csv; tail -n +2 a.csv | tac; } >b.csv
"$motley" sim --quiet --data a.csv --data-label-column last --data-order sorted --workers 2 --stop-updates 9 --model '{name: mlp, hidden: [5]}' --out csv || exit 1
"$motley" features csv --out a.npy --quiet && "$motley" features csv b.csv --out b.npy --quiet || exit 1
rows() { tail -c +129 "$1" | od -An -v -tx4 -w20; }
check rows_are_in_the_order_of_the_file [ "$(rows a.npy)" = "$(rows b.npy | tac)" ]
check and_they_differ [ "$(rows a.npy | sort -u | wc -l)" -gt 150 ]

check a_linear_model_has_none says 2 "no hidden layer" "$motley" features flat --out x.npy
check where_to_must_be_said says 2 "--out is missing" "$motley" features mlp
check a_model_must_be_there says 2 "nowhere" "$motley" features nowhere --out x.npy
head -c 100 mlp/model.safetensors >cut.safetensors
check a_damaged_model_is_refused says 3 "cut.safetensors" "$motley" features cut.safetensors digits --out x.npy
check other_columns_are_refused says 3 "64 as the model has" "$motley" features mlp synthetic --out x.npy
check nothing_is_left_behind [ ! -e x.npy ]
check too_few_rows_are_refused_by_a_partition says 3 "expected 1797" "$motley" partition digits --workers 3 --by submodular --features some.npy
exit $failed
