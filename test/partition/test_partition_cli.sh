#!/bin/bash
# motley partition as a user sees it: files, tables, errors, interrupts.
. "$(dirname "$0")/../says.sh"
holds() {
    local claim=$1
    shift
    if "$@"; then echo "ok   $claim"
    else
        echo "FAIL $claim"
        failures=$((failures + 1))
    fi
}
absent() { ! compgen -G "$1" >/dev/null; }

says "the table has a line for each worker" 0 "     7        1000       179" "$MOTLEY" partition digits --workers 8 --out "$box/parts"
holds "a file for each worker and the index are written" test -s "$box/parts/worker-7.npy" -a -s "$box/parts/partition.json"
says "the output says which algorithm ran and what it cost" 0 "dense: exact greedy" "$MOTLEY" partition digits --workers 8
says "the table's quality is in the JSON" 0 '"mmd2_mean": 0.00' "$MOTLEY" partition digits --workers 8 --json
for threads in 1 2 3; do
    "$MOTLEY" partition digits --ratios 2,1,1 --objective graph-cut --sim-threads $threads --out "$box/t$threads" --quiet || failures=$((failures + 1))
done
same() { for i in 0 1 2; do cmp -s "$box/t1/worker-$i.npy" "$box/$1/worker-$i.npy" || return 1; done; }
holds "files are the same bytes on one, two and three threads" eval 'same t2 && same t3'

says "a simulated run takes the folder" 0 "" "$MOTLEY" sim --workers 8 --partition-from "$box/parts" --stop-updates 2 --quiet
printf 'workers: 8\npartition: {from: parts}\nstop: {updates: 2}\n' >"$box/run.yaml"
says "so does an experiment beside it" 0 "" "$MOTLEY" sim "$box/run.yaml" --quiet
says "and a run on threads" 0 "" "$MOTLEY" train "$box/run.yaml" --quiet
says "a resolved experiment names the folder" 0 "from: $box/parts" "$MOTLEY" sim "$box/run.yaml" --dry-run
says "a partition can be measured again" 0 "MMD^2" "$MOTLEY" partition digits --workers 8 --from "$box/parts"
says "another number of workers is refused" 2 "a partition for 8 workers, expected one for the experiment's 4" "$MOTLEY" sim --workers 4 --partition-from "$box/parts"
says "another split of the data is refused" 2 "a partition of other training rows" "$MOTLEY" sim --workers 8 --partition-from "$box/parts" --seed 2
says "but not another seed with the same split" 0 "" "$MOTLEY" sim --workers 8 --partition-from "$box/parts" --seed 2 --data-data-seed 1 --stop-updates 1 --quiet
says "a folder that is not there is refused" 2 "there is no folder" "$MOTLEY" sim --workers 8 --partition-from "$box/nowhere"
says "a partition is not written over" 2 "--replace overwrites it" "$MOTLEY" partition digits --workers 4 --out "$box/parts"
says "unless that is asked for" 0 "" "$MOTLEY" partition digits --workers 4 --out "$box/parts" --replace --quiet
holds "nothing of the old one is left" absent "$box/parts/worker-4.npy"
truncate -s 200 "$box/parts/worker-1.npy"
says "a damaged file is bad data" 3 "worker-1.npy" "$MOTLEY" sim --workers 4 --partition-from "$box/parts"

says "a ratio of zero is refused" 2 "--ratios: expected positive numbers" "$MOTLEY" partition digits --ratios 2,0,1
says "a negative ratio is refused" 2 "found '-1' for worker 1" "$MOTLEY" partition digits --ratios 2,-1,1
says "a ratio that is no number is refused" 2 "found 'nan' for worker 0" "$MOTLEY" partition digits --ratios nan,1
says "as many ratios as workers" 2 "expected one number for each of the 3 workers; found 2" "$MOTLEY" partition digits --ratios 1,2 --workers 3
says "ratios and a cluster are two answers" 2 "expected only one" "$MOTLEY" partition digits --ratios 1,2 --cluster c.yaml
says "more workers than rows are refused" 2 "2000 workers share 1438 training rows" "$MOTLEY" partition digits --workers 2000
says "a budget too small is refused" 2 "a memory of 10 kB is too small" "$MOTLEY" partition digits --workers 8 --memory 10k
says "the partitioner is herding unless another is asked for" 0 '"name": "herding"' "$MOTLEY" partition digits --workers 8 --json
says "or an option of submodular's own is given" 0 '"name": "submodular"' "$MOTLEY" partition digits --workers 8 --json --rule fill
says "the ratio to random rows is said, at worst too" 0 "of the MMD^2 of random rows; at worst 0." "$MOTLEY" partition digits --workers 8
says "a misspelt partitioner has a nearest name" 2 "did you mean 'submodular'" "$MOTLEY" partition digits --by submodlar
says "a misspelt rule has a nearest name" 2 "expected one of fill, literal, round-robin" "$MOTLEY" partition digits --rule fil
says "an option of another partitioner is refused" 2 "alpha" "$MOTLEY" partition digits --alpha 0.3
says "herding has no neighbours" 2 "expected one of auto, dense, blocked, chunks; found 'knn'" "$MOTLEY" partition digits --algorithm knn
says "no memory is too little" 2 "partition.memory: expected a size such as 64MB" "$MOTLEY" partition digits --memory 0
for bandwidth in 0 -1 nan; do
    says "a bandwidth of $bandwidth is refused" 2 "expected a number from 1e-30 to 1e+30, or 'auto'; found '$bandwidth'" "$MOTLEY" partition digits --bandwidth $bandwidth
done
for k in 0 65 x; do
    says "pca:$k is refused" 2 "features 'pca:$k': expected pca:K with K from 1 to 64" "$MOTLEY" partition digits --features pca:$k
done
"$MOTLEY" partition digits --workers 2 --bandwidth 1e-25 --json >"$box/narrow.json"
holds "of a width at which nothing is alike no part is like its class" python3 -c "
import json; assert json.load(open('$box/narrow.json'))['quality']['mmd2_mean'] > 0.003"
says "of one at which all is alike, too" 0 '"mmd2_max": 0.0' "$MOTLEY" partition digits --workers 2 --bandwidth 1e25 --json
says "a feature file must be there" 2 "there is no file" "$MOTLEY" partition digits --features none.npy
"$MOTLEY" data convert digits "$box/x.npy" --rows 1000 2>/dev/null
says "and be as long as the data" 3 "1000 rows of features, expected 1797" "$MOTLEY" partition digits --features "$box/x.npy"
"$MOTLEY" data convert digits "$box/x.npy" 2>/dev/null
says "a feature file is taken" 0 "features $box/x.npy" "$MOTLEY" partition digits --features "$box/x.npy"
"$MOTLEY" data convert digits "$box/first.npy" --rows 1000 2>/dev/null
for features in x first; do # of all rows, and of just those
    "$MOTLEY" partition digits --data-rows 1000 --workers 4 --features "$box/$features.npy" --out "$box/by_$features" --quiet
done
holds "of rows from the start of a file, features of the whole file say the same as theirs" \
    cmp "$box/by_x/worker-0.npy" "$box/by_first/worker-0.npy"
says "but too few are refused" 3 "1000 rows of features, expected 1200" "$MOTLEY" partition digits --data-rows 1200 --features "$box/first.npy"
for by in equal contiguous stratified proportional dirichlet shards quantity sorted; do
    says "--by $by" 0 "distance" "$MOTLEY" partition digits --workers 8 --by $by
done

# A cluster file, such as motley profile writes: shares go by its speeds.
printf 'workers:\n  - {count: 1, speed: 300/s}\n  - {count: 3, speed: 100/s}\n' >"$box/cluster.yaml"
says "speeds come from a cluster file" 0 "     0         300       719" "$MOTLEY" partition digits --cluster "$box/cluster.yaml"

# Ctrl-C in the middle leaves neither the folder nor a temporary one.
timeout --preserve-status -s INT -k 60 1 "$MOTLEY" partition synthetic --data-size 40000 --data-cols 200 --workers 8 --algorithm blocked \
    --out "$box/half" --quiet 2>/dev/null
holds "an interrupted partition ends with 130" test $? -eq 130
holds "and leaves nothing behind" absent "$box/half*"

says "a choice that is worse than random is warned of" 0 "blocks (a worker's rows of a class) represent their class worse than random rows would; to use herding for their classes:
             motley partition digits --ratios 8,1,1,1 --objective graph-cut --rule literal --fallback herding" \
    "$MOTLEY" partition digits --ratios 8,1,1,1 --objective graph-cut --rule literal
says "and marked in the table of classes and workers" 0 "     0   !1.97   !5.76" \
    "$MOTLEY" partition digits --ratios 8,1,1,1 --objective graph-cut --rule literal
says "with a model it says whether the partition can matter" 0 "parts differ by " \
    "$MOTLEY" partition digits --workers 4 --by sorted --model softmax --out "$box/differ"
holds "and so does the page, in the same words" python3 -c "
import html, json
d = json.load(open('$box/differ/partition.json'))['heterogeneity']
page = html.unescape(open('$box/differ/partition.html', encoding='utf-8').read())
assert 'ζ² %.4g between parts' % d['zeta2'] in page and d['words'] and d['words'] in page, d"
holds "without one the page does not speak of gradients" bash -c "test -s '$box/parts/partition.html' && ! grep -q 'ζ²' '$box/parts/partition.html'"
says "--fallback herding does it" 0 "fallback     10 of 10 classes had a block worse than random rows; herding did better in 10. Their largest ratio was 5.76 and is now 0." \
    "$MOTLEY" partition digits --ratios 8,1,1,1 --objective graph-cut --rule literal --fallback herding --out "$box/fell"
holds "and partition.json says so" python3 -c "
import json
d = json.load(open('$box/fell/partition.json'))
f = d['fallback']
assert f['by'] == 'herding' and len(f['classes']) == 10 and all(c['taken'] for c in f['classes']), f
assert all(c['ratio_worst_before'] > 1 > c['ratio_worst_after'] for c in f['classes']), f
assert d['quality']['worse_than_random'] == 0 and max(max(w['mmd2_ratio']) for w in d['workers']) < 1, d['quality']"
says "the command that is offered writes where the first one wrote" 0 "motley partition digits --ratios 8,1,1,1 --objective graph-cut --out $box/worse --fallback herding --replace" \
    "$MOTLEY" partition digits --ratios 8,1,1,1 --objective graph-cut --out "$box/worse" --fallback=random
says "a fallback that is none is refused" 2 "--fallback: expected herding or random; found 'cake'" "$MOTLEY" partition digits --fallback cake
says "as is one of what is not measured" 2 "expected only one" "$MOTLEY" partition digits --fallback herding --quality none
says "of many blocks the worst are shown, and where the rest is" 0 'give all 900, as `mmd2_ratio` of the workers' "$MOTLEY" partition digits --workers 90
says "a row or two of a class are worse whoever chooses: said so" 0 "none has more than 2 rows. Fewer workers make larger blocks" \
    "$MOTLEY" partition digits --workers 90
says "the value of the objectives is there for large classes too" 0 '"objectives_by": "1024 rows of each class that is not compared pair by pair"' \
    "$MOTLEY" partition synthetic --data-size 42000 --data-classes 2 --data-test 0 --workers 2 --by proportional --json
"$MOTLEY" partition digits --ratios 8,1,1,1 >"$box/better"
holds "one that is better is not" bash -c "grep -q '^MMD' '$box/better' && ! grep -q '^warning' '$box/better'"
if python3 -c 'import numpy' 2>/dev/null; then
    says "NumPy reads the rows" 0 "int64 (360,)" python3 -c "import numpy; a = numpy.load('$box/t1/worker-1.npy'); print(a.dtype, a.shape)"
fi
[ $failures -eq 0 ]
