#!/bin/bash
# A model that was trained on a CSV file as people have it predicts other such files: columns by name, words and
# missing values as in the training data, whatever the order; what does not fit is named with its place.
. "$(dirname "$0")/../says.sh"
cd "$box" || exit 1
claim() { # CLAIM COMMAND...
    local what=$1
    shift
    if "$@"; then echo "ok   $what"; else echo "FAIL $what"; failures=$((failures + 1)); fi
}
same() { # CLAIM EXPECTED COMMAND...: it prints exactly this
    local what=$1 expected=$2 said
    shift 2
    said=$("$@" 2>&1 | tr '\n' ' ')
    if [ "$said" = "$expected " ]; then echo "ok   $what"
    else
        echo "FAIL $what: '$said', expected '$expected'"
        failures=$((failures + 1))
    fi
}
predict() { "$MOTLEY" predict run "$@"; }

echo age,city,income,ticket,species >train.csv
for ((i = 0; i < 40; i++)); do
    echo "$((30 + i % 4)),paris,$((10 + i % 2)),t$((2 * i)),big cat"
    echo "$((20 + i % 3)),rome,9,t$((2 * i + 1)),dog"
    echo "$((25 + i % 2)),berlin,$([ $((i % 9)) = 3 ] || echo 7),t$i,bird"
done >>train.csv
says "missing values are refused, with their number and place" 3 \
    "train.csv:13: column 2 ('income'): found an empty cell" "$MOTLEY" sim --data train.csv --data-skip ticket --stop-updates 5
says "a run fills them in" 0 "accuracy 100" "$MOTLEY" sim --data train.csv --data-skip ticket --data-missing median \
    --model softmax --workers 2 --stop-updates 300 --out run --quiet

printf 'age,city,income\n32,paris,10\n21,rome,9\n25,berlin,7\n' >new.csv
same "classes by name, without what was left out in training" "big cat dog bird" predict new.csv
printf 'income,note,city,age\n10,x,paris,32\n9,y,rome,21\n7,z,berlin,25\n' >moved.csv
same "columns in another order, and one more" "big cat dog bird" predict moved.csv
claim "the order makes no difference to the bit" \
    cmp <(predict new.csv --probabilities) <(predict moved.csv --probabilities)
gzip -k moved.csv
same "compressed" "big cat dog bird" predict moved.csv.gz
printf '32,paris,10\n21,rome,9\n25,berlin,7\n' >bare.csv
same "without a header columns go by place" "big cat dog bird" predict bare.csv --skip ''
printf 'income,city,age\n,paris,32\nNA,berlin,25\n' >gaps.csv
same "missing values are filled as in training" "big cat bird" predict gaps.csv
printf 'species,city,age,income\ndog,rome,21,9\nbird,paris,32,10\n' >labelled.csv
says "eval takes labels from where they are" 0 "50.00 % (1 right)" "$MOTLEY" eval run labelled.csv --label-column species
says "and says if there are none" 3 "no column with labels" "$MOTLEY" eval run new.csv

printf 'city,age,income\nrome,21,9\nvienna,44,3\n' >word.csv
says "an unknown word is named" 3 "word.csv:3: column 'city': word 'vienna' is not among the words" predict word.csv
says "or taken as none of them" 0 "dog" predict word.csv --unknown zeros
printf 'city,income\nrome,9\n' >lacks.csv
says "a column that lacks is named" 3 "lacks.csv: its header has no column 'age', which the training data has" predict lacks.csv
printf 'cty,age,income\nrome,21,9\n' >typo.csv
says "with one that is spelt alike" 3 "no column 'city', which the training data has; is it 'cty'?" predict typo.csv
printf 'city,age,income\nrome,old,9\n' >text.csv
says "a word among numbers is named" 3 "text.csv:2: column 1 ('age'): found 'old', expected a number" predict text.csv --out out.csv
claim "and nothing is written" test ! -e out.csv

# A header that has a name twice says nothing: columns go by place.
{ echo a,a,a; for ((i = 0; i < 20; i++)); do echo "$i,$((i % 2)),$((i % 2 ? 7 : 8))"; done; } >twice.csv
says "a header with a name twice is no obstacle" 0 "" "$MOTLEY" sim --data twice.csv --model softmax --workers 2 \
    --stop-updates 50 --out twice --quiet
same "to predicting either" "8 7" "$MOTLEY" predict twice <(printf 'a,a\n4,0\n5,1\n')

# The same for test rows of their own.
printf 'species,income,city,age\nbig cat,10,paris,32\ndog,9,rome,21\nbird,7,berlin,25\n' >test.csv
says "test rows may have their columns in another order" 0 "test accuracy 100.00 %" "$MOTLEY" sim --data train.csv \
    --data-test-path test.csv --data-label-column species --data-skip ticket --data-missing median --model softmax \
    --workers 2 --stop-updates 300 --quiet

echo "$failures failed"
[ $failures -eq 0 ]
