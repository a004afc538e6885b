#!/bin/bash
# The store of runs: a run is made again when any file that its experiment names, or finds, has changed; a store that is
# removed while a study runs is a failure of the machine; and a study's workers leave nothing allocated.
. "$(dirname "$0")/../says.sh"
unset MOTLEY_STORE MOTLEY_DATA
cd "$box" || exit 1
claim() { if [ "$2" = "$3" ]; then echo "ok   $1"; else echo "FAIL $1: '$2', expected '$3'"; failures=$((failures + 1)); fi; }

# counts EXPERIMENT: "MADE FOUND" of a study of one run.
counts() {
    "$MOTLEY" compare "$1" --methods "$(sed -n 's/^method: //p' "$1" | grep . || echo allreduce)" --seeds 1 --out out >out.txt 2>err.txt || { echo "code $?: $(tail -1 err.txt)"; return; }
    sed -n 's/^\([0-9]*\) runs\{0,1\} made, \([0-9]*\) reused.*/\1 \2/p' err.txt
}

# notices WHAT EXPERIMENT COMMAND...: the run is made once, found, and made again after the command has changed a file.
notices() {
    local what=$1 experiment=$2
    shift 2
    printf '%s\n' "$experiment" 'workers: 2' 'model: softmax' 'stop: {updates: 2}' >exp.yaml
    claim "$what: the run is made" "$(counts exp.yaml)" "1 0"
    claim "$what: and found" "$(counts exp.yaml)" "0 1"
    "$@" >change.txt 2>&1 || { echo "FAIL $what: cannot be changed: $(cat change.txt)"; failures=$((failures + 1)); }
    claim "$what: and made again when the file has changed" "$(counts exp.yaml)" "1 0"
}

# Adds one to a byte that is no nine: another label, or another number.
bump() {
    local at=$2 byte
    while byte=$(od -An -tu1 -j "$at" -N1 "$1"); [ "$byte" -ge 9 ]; do at=$((at + $3)); done
    printf "\\x$(printf %x $((byte + 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
bump_packed() { gzip -d "$1.gz" && bump "$1" "$2" "$3" && gzip "$1"; }

"$MOTLEY" data convert digits x.npy >/dev/null 2>&1
"$MOTLEY" data convert digits digits-images-idx2-ubyte >/dev/null 2>&1
"$MOTLEY" data convert digits d.csv --rows 300 >/dev/null 2>&1
"$MOTLEY" data convert digits t.csv --rows 200 >/dev/null 2>&1
cp y.npy named.npy

notices "rows" "data: d.csv" sed -i '5s/^[0-9]*,/9,/' d.csv
notices "rows to test on" "data: {path: d.csv, test_path: t.csv}" sed -i '5s/^[0-9]*,/9,/' t.csv
notices "labels found beside NPY rows" "data: x.npy" bump y.npy 128 8
notices "labels found beside NPY rows to test on" "data: {path: d.csv, test_path: x.npy}" bump y.npy 1280 8
notices "labels that are named" "data: {path: x.npy, labels: named.npy}" bump named.npy 128 8
notices "labels found beside IDX rows" "data: digits-images-idx2-ubyte" bump digits-labels-idx1-ubyte 8 1
gzip digits-labels-idx1-ubyte
notices "packed labels found beside plain rows" "data: digits-images-idx2-ubyte" bump_packed digits-labels-idx1-ubyte 80 1
gzip digits-images-idx2-ubyte
gzip -d digits-labels-idx1-ubyte.gz
notices "plain labels found beside packed rows" "data: digits-images-idx2-ubyte.gz" bump digits-labels-idx1-ubyte 160 1

"$MOTLEY" partition digits --workers 2 --out parts >/dev/null 2>&1
notices "a partition" "partition: {from: parts}" \
    "$MOTLEY" partition digits --workers 2 --partition sorted --out parts --replace --quiet
"$MOTLEY" data convert digits features.npy >/dev/null 2>&1
notices "features" "partition: {name: submodular, features: features.npy}" bump features.npy 256 4
echo 'workers: 2' >cluster.yaml
notices "a cluster file" "cluster: cluster.yaml" sh -c "echo 'workers: [{count: 2, speed: 3/s}]' >cluster.yaml"
printf '1,2\n3,4\n' >times.csv
notices "a trace of job times" "cluster: {workers: [{count: 2, straggle: {name: trace, path: times.csv}}]}" sed -i s/4/5/ times.csv
echo '0 1' >edges.txt
notices "edges" $'method: dpsgd\ntopology: {name: edges, path: edges.txt}' sed -i 's/$/ # again/' edges.txt
printf '0.5 0.5\n0.5 0.5\n' >matrix.txt
notices "a mixing matrix" $'method: dpsgd\ntopology: {name: matrix, path: matrix.txt}' \
    sh -c "printf '0.6 0.4\n0.4 0.6\n' >matrix.txt"
"$MOTLEY" sim --model softmax --stop-updates 1 --quiet --out first
notices "the model it begins with" "from: first/model.safetensors" \
    "$MOTLEY" sim --model softmax --stop-updates 2 --quiet --out first --replace
mkdir -p sets/fashion-mnist
"$MOTLEY" data convert digits sets/fashion-mnist/train-images-idx3-ubyte >/dev/null 2>&1
"$MOTLEY" data convert digits sets/fashion-mnist/t10k-images-idx3-ubyte >/dev/null 2>&1
export MOTLEY_DATA=$box/sets
notices "a built-in set's files" "data: fashion-mnist" bump sets/fashion-mnist/t10k-labels-idx1-ubyte 8 1
unset MOTLEY_DATA

# A store that goes away.
"$MOTLEY" compare --methods allreduce,async --seeds 4 --model softmax --stop-updates 2000 --store st --jobs 1 >out.txt 2>err.txt &
study=$!
for _ in $(seq 1 6000); do
    [ -n "$(find st -name sums -not -path 'st/tmp/*' 2>/dev/null | head -1)" ] && break
    kill -0 $study 2>/dev/null || break
    sleep 0.01
done
mv st gone
wait $study
claim "a store removed in mid-study is a failure of the machine" $? 1
claim "and is said" "$(grep -c 'no longer in the store' err.txt)" 1

# A folder for the results that goes away: the figures are not lost.
"$MOTLEY" compare --methods allreduce,async --seeds 2 --model softmax --stop-updates 500 --store anew --jobs 1 --out results >out.txt 2>err.txt &
study=$!
for _ in $(seq 1 6000); do
    [ -n "$(find anew -name sums -not -path 'anew/tmp/*' 2>/dev/null | head -1)" ] && break
    kill -0 $study 2>/dev/null || break
    sleep 0.01
done
rm -rf results
wait $study
claim "a folder removed in mid-study is made again" $? 0
claim "with the study" "$(ls results 2>/dev/null | grep -c -e study.json -e report.html)" 2

# Another process's memory is looked at by valgrind, which sanitizers exclude.
if command -v valgrind >/dev/null && ! grep -q __asan_init "$MOTLEY" && ! grep -q __tsan_init "$MOTLEY"; then
    valgrind --trace-children=yes --leak-check=full "$MOTLEY" compare --methods allreduce,async --seeds 2 --model softmax \
        --stop-updates 2 --jobs 1 --store leaks --quiet >out.txt 2>err.txt
    claim "a study and its worker are looked at" "$(grep -c 'ERROR SUMMARY' err.txt)" 2
    claim "and lose no memory" "$(grep 'definitely lost' err.txt | grep -vc ' 0 bytes')" 0
else echo "skip the workers' memory: no valgrind here, or a sanitizer"
fi
exit $((failures > 0))
