#!/bin/bash
# A user's way with a saved model: train, evaluate, predict, and the mistakes on the way.
set -u
motley=${MOTLEY:-build/motley}
[ -x "$motley" ] || { echo "skip: $motley is not built"; exit 77; }
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
model=$folder/run/model.safetensors
failed=0

check() { # claim, command...
    local claim=$1
    shift
    if "$@"; then echo "ok   $claim"; else echo "FAIL $claim"; failed=1; fi
}
value() { # key, file: a number or text of a JSON object on a line of its own
    sed -n "s/^ *\"$1\": \(.*[^,]\),\{0,1\}$/\1/p" "$2" | head -1
}
says() { # exit code, text, command...
    local code=$1 text=$2
    shift 2
    "$@" >"$folder/out" 2>"$folder/err"
    local got=$?
    [ $got = "$code" ] && grep -qF -- "$text" "$folder/err" && return
    echo "  exit code $got, expected $code; said: $(cat "$folder/err"), expected: $text"
    return 1
}

"$motley" sim --quiet --data digits --model softmax --workers 2 --stop-updates 60 --out "$folder/run" || exit 1
"$motley" eval "$model" digits --json >"$folder/eval.json" || exit 1

check eval_repeats_the_test_loss_of_the_run [ "$(value loss "$folder/eval.json")" = "$(value test_loss "$folder/run/summary.json")" ]
check eval_repeats_the_test_accuracy_of_the_run \
    [ "$(value accuracy "$folder/eval.json")" = "$(value test_accuracy "$folder/run/summary.json")" ]
check eval_takes_the_test_part [ "$(value rows "$folder/eval.json")" = 359 ]

"$motley" predict "$model" digits >"$folder/stdout.csv" || exit 1
"$motley" predict "$model" digits --quiet --out "$folder/file.csv" || exit 1
check predict_gives_a_line_a_row [ "$(wc -l <"$folder/stdout.csv")" = 1797 ]
check predict_writes_to_a_file_what_it_prints cmp -s "$folder/stdout.csv" "$folder/file.csv"
"$motley" predict "$model" digits --probabilities | head -1 >"$folder/head" || exit 1
check probabilities_come_under_the_names_of_the_classes [ "$(cat "$folder/head")" = class,0,1,2,3,4,5,6,7,8,9 ]

check a_missing_model_is_named says 2 "$folder/none" "$motley" eval "$folder/none" digits
check a_file_that_is_no_model_is_bad_data says 3 "not a safetensors file" "$motley" eval "$folder/run/summary.json" digits
check an_unknown_part_is_bad_usage says 2 "expected test, train, valid or all" "$motley" eval "$model" digits --part some
head -c 1000 "$model" >"$folder/cut"
check a_model_cut_off_is_bad_data says 3 "$folder/cut" "$motley" eval "$folder/cut" digits
check data_of_another_shape_is_bad_data says 3 "64" "$motley" eval "$model" synthetic
printf 'a,b\n1,2\n' >"$folder/small.csv"
check a_file_of_another_shape_is_bad_data says 3 "64" "$motley" predict "$model" "$folder/small.csv"

"$motley" sim --quiet --data '{name: synthetic, kind: regression, size: 400}' --model least-squares --optimizer-lr 50 \
    --stop-updates 200 --out "$folder/wild" 2>/dev/null
wild=$folder/wild/model.safetensors
check eval_of_a_model_that_diverged_ends_as_diverged says 6 "of its 21 parameters are not finite" "$motley" eval "$wild" synthetic
check and_prints_no_figures [ ! -s "$folder/out" ]
check predict_of_it_too says 6 "of its 21 parameters are not finite" "$motley" predict "$wild" synthetic
"$motley" sim --quiet --data '{name: synthetic, kind: regression, size: 400}' --model least-squares --optimizer-lr 50 \
    --stop-updates 10 --out "$folder/large" 2>/dev/null
check a_large_model_is_judged sh -c "'$motley' eval '$folder/large/model.safetensors' synthetic >'$folder/out'"

# Labels are any bytes, of Latin-1 too.
for i in $(seq 1 60); do printf '%s,%s,%b\n' "$((i % 2)).$((i * 3 % 10))" "0.$((i * 7 % 10))" "$([ $((i % 2)) = 0 ] && echo 'th\xe9' || echo 'caf\xe9')"; done >"$folder/latin.csv"
"$motley" sim --quiet --data "$folder/latin.csv" --model softmax --workers 2 --stop-updates 60 --out "$folder/latin" >/dev/null || exit 1
"$motley" predict "$folder/latin/model.safetensors" "$folder/latin.csv" >"$folder/predicted"
cut -d, -f3 "$folder/latin.csv" >"$folder/labels"
check labels_that_are_not_utf_8_come_back_as_they_were cmp "$folder/predicted" "$folder/labels"
"$motley" eval "$folder/latin/model.safetensors" "$folder/latin.csv" --json >"$folder/latin.json"
check and_are_spelt_out_in_json grep -qF '"name": "caf\\xe9"' "$folder/latin.json"

# The folder of a run is enough, and a CSV file may have gaps and words.
"$motley" predict "$folder/run" >"$folder/own.csv" || exit 1
check predict_of_a_run_takes_its_test_rows [ "$(wc -l <"$folder/own.csv")" = 359 ]
"$motley" eval "$folder/run" --json >"$folder/own.json" || exit 1
check eval_of_a_run_is_that_of_its_model [ "$(value loss "$folder/own.json")" = "$(value loss "$folder/eval.json")" ]
check a_folder_without_a_model_is_named says 2 "$folder/model.safetensors" "$motley" predict "$folder"
{
    echo 'sex,age,port,outcome'
    for i in $(seq 1 30); do printf 'female,%s,S,survived\nmale,%s,%s,lost\n' "$i" "$([ $((i % 5)) = 0 ] || echo $((i * 2)))" "$([ $((i % 7)) = 0 ] && echo NA || echo C)"; done
} >"$folder/ship.csv"
check gaps_are_refused_by_default says 3 "6 of this column's 60 values are missing (and 4 values of 1 other column)" \
    "$motley" sim --quiet --data "$folder/ship.csv" --stop-updates 1
"$motley" sim --quiet --data "{name: $folder/ship.csv, missing: median}" --model softmax --workers 2 --stop-updates 200 \
    --out "$folder/ship" >/dev/null || exit 1
printf 'sex,age,port\nfemale,,S\nmale,30,\n' >"$folder/new.csv"
check predict_uses_the_words_and_fills_of_the_training_data \
    [ "$("$motley" predict "$folder/ship" "$folder/new.csv" | paste -sd' ')" = "survived lost" ]
printf 'sex,age,port\nfemale,,S\nother,30,S\n' >"$folder/odd.csv"
check a_word_that_training_did_not_have_is_named says 3 "odd.csv:3: column 'sex': word 'other' is not among" \
    "$motley" predict "$folder/ship" "$folder/odd.csv"
check and_may_be_none_of_the_known_ones [ "$("$motley" predict "$folder/ship" "$folder/odd.csv" --unknown zeros | wc -l)" = 2 ]
"$motley" eval "$folder/ship" "$folder/ship.csv" --part all --json >"$folder/ship.json"
check eval_reads_gaps_and_words_as_training_did [ "$(value accuracy "$folder/ship.json")" = 1.0 ]
same_predictions() { # --out -: on standard output
    "$motley" predict "$model" digits >"$folder/printed" && "$motley" predict "$model" digits --out - >"$folder/dash" &&
        [ ! -e - ] && cmp "$folder/printed" "$folder/dash"
}
check "predict --out - prints" same_predictions
from_folder() { # --from takes what eval takes
    for from in "$model" "$folder/run"; do
        "$motley" sim --json --data digits --model softmax --workers 2 --stop-updates 3 --from "$from" \
            >"$folder/from.json" || return 1
        value model_hash "$folder/from.json" >>"$folder/hashes"
    done
    [ "$(sort -u "$folder/hashes" | wc -l)" = 1 ]
}
check "a run starts from a run's folder as from its model" from_folder

exit $failed
