#!/bin/bash
# A study makes a partition that its runs share once, before them; its runs are those of `motley sim`, and a partition that is
# damaged in the store, or is of a file that has changed, is made again.
. "$(dirname "$0")/../says.sh"
unset MOTLEY_STORE
cd "$box" || exit 1
claim() { if [ "$2" = "$3" ]; then echo "ok   $1"; else echo "FAIL $1: '$2', expected '$3'"; failures=$((failures + 1)); fi; }
partitions() { find st -name parts.bin -not -path 'st/tmp/*' | wc -l; }
hashes() { find st -name summary.json -exec grep -h '"model_hash"' {} + | sort; }
forget_runs() { find st -name summary.json -printf '%h\n' | xargs rm -rf; }
study() { "$MOTLEY" compare exp.yaml --methods allreduce,async,rennala --seeds 2 --store st --out out "$@" >out.txt 2>err.txt; }

"$MOTLEY" data convert digits d.csv --rows 400 >/dev/null 2>&1
printf '%s\n' 'data: d.csv' 'model: softmax' 'workers: 4' 'stop: {updates: 20}' \
    'cluster: {workers: [{count: 1, speed: 3000/s}, {count: 3, speed: 1000/s}]}' 'partition: {name: submodular}' >exp.yaml
study
claim "six runs are made" "$(sed -n 's/^\([0-9]* runs made\).*/\1/p' err.txt)" "6 runs made"
claim "over two partitions, one for each seed" "$(partitions)" 2
hashes >first.txt
for method in allreduce async rennala; do
    for seed in 1 2; do
        "$MOTLEY" sim exp.yaml --method $method --seed $seed --quiet --out alone-$method-$seed
    done
done
claim "their models are those of the same runs alone, bit for bit" \
    "$(grep -h '"model_hash"' alone-*/summary.json | sort | md5sum)" "$(md5sum <first.txt)"

find st -name parts.bin -exec touch -d 2001-01-01 {} +
forget_runs
study
claim "runs that are made again take the partitions that are there" "$(find st -name parts.bin -not -newermt 2002-01-01 | wc -l)" 2
claim "and come to the same" "$(hashes | md5sum)" "$(md5sum <first.txt)"

forget_runs
for file in $(find st -name parts.bin); do printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc status=none; done
study --jobs 1
claim "damaged partitions are made again" "$(hashes | md5sum)" "$(md5sum <first.txt)"
claim "and are whole then" "$(find st -name parts.bin -exec cat {} + | md5sum)" \
    "$(study --fresh; find st -name parts.bin -exec cat {} + | md5sum)"

sed -i '7s/^[0-9]*,/9,/' d.csv
study
claim "another file is another partition" "$(partitions)" 4

printf '%s\n' 'data: d.csv' 'workers: 4' 'stop: {updates: 2}' 'partition: {name: herding, memory: 1K}' >exp.yaml
study
claim "a partition that cannot be made is said by every arm that wants it" \
    "$(tr -s '\n ' ' ' <out.txt | grep -o 'refused: partition herding: a memory of 1 kB is too small' | wc -l)" 3
exit $((failures > 0))
