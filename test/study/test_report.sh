#!/bin/bash
# motley report as a user sees it: what it writes, what it refuses, and with which code.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
cd "$folder"
refused() { # CODE WORDS COMMAND...
    local code=$1 words=$2 got=0
    shift 2
    "$motley" "$@" >out 2>err || got=$?
    [ $got -eq "$code" ] || fail "$*: exit code $got, expected $code"
    grep -qF -- "$words" err || fail "$*: says '$(cat err)', expected '$words'"
}

for method in async server; do for seed in 1 2; do
    "$motley" sim --data digits --model softmax --workers 3 --method $method --seed $seed --stop-updates 20 --evaluate-every "5 updates" --quiet --out runs/$method-$seed
done; done
"$motley" report runs --csv plots >table
grep -q '^ *async' table && grep -q '^ *server' table || fail "the table lacks an arm: $(cat table)"
[ -s report.html ] && [ "$(wc -l <plots-runs.csv)" -eq 5 ] && [ "$(wc -l <plots-curves.csv)" -eq 21 ] || fail "not all files are there: $(ls)"
grep -q 'motley report runs --csv plots' report.html || fail "the page does not say how it was made"
"$motley" report runs --out other.html --json >document.json
grep -q '"arms": \[' document.json || fail "--json gives no document"
cmp <(sed 1d plots-curves.csv) <("$motley" report runs/async-1 runs/async-2 runs/server-1 runs/server-2 --csv again --quiet; sed 1d again-curves.csv) || fail "a folder of runs is not the runs in it"
echo "ok   a table, a page, CSV and JSON of runs that are there"

# Two live runs of one seed are repeats, each beside the other; a second simulated one would say nothing new.
for repeat in a b; do for seed in 1 2; do
    "$motley" train --data digits --model softmax --workers 2 --method async --seed $seed --stop-updates 20 --quiet --out live/$repeat-$seed
done; done
"$motley" report live --json --out live.html >live.json
python3 - live.json <<'END' || fail "repeats of live runs are not shown side by side: $(cat live.json)"
import json, sys
study = json.load(open(sys.argv[1]))
assert [arm["name"] for arm in study["arms"]] == ["repeat=1", "repeat=2"], study["arms"]
assert sorted((run["arm"], run["seed"], run["folder"]) for run in study["runs"]) == [
    (0, 1, "live/a-1"), (0, 2, "live/a-2"), (1, 1, "live/b-1"), (1, 2, "live/b-2")], study["runs"]
END
"$motley" sim --data digits --model softmax --workers 2 --method async --seed 1 --stop-updates 20 --quiet --out simulated
"$motley" report live/a-1 live/b-1 simulated --out live.html >table || fail "two live runs beside a simulated one are refused"
grep -q 'repeat=1' table && grep -q 'repeat=2' table && grep -q 'driver=sim' table || fail "the table does not tell repeats apart: $(cat table)"
cp -r runs/async-1 again
refused 2 'the same experiment with the same seed 1' report runs/async-1 again
echo "ok   live runs of one seed are repeats"

# A study's folder gets its page again, also when it was moved with its runs.
mkdir study && mv runs study/runs && cp document.json study/study.json
"$motley" report study --quiet 2>err
[ ! -s err ] && grep -q '"test_accuracy":\[' study/report.html || fail "the page of a moved study lacks its curves: $(cat err)"
rm -r study/runs/async-1
"$motley" report study --quiet 2>err
grep -q '1 of 4 runs are not where' err || fail "a lost run is not noted: $(cat err)"
echo "ok   a study's folder gets its page again"

refused 2 'expected: motley report RUN' report
refused 2 'No such file' report nowhere
"$motley" report study study/runs/server-1 --out one.html >out 2>err || fail "a study beside a run: $(cat err)"
grep -q '^study: left out: a study is reported alone' err && grep -q server out || fail "a study beside a run: $(cat err)"
refused 2 'No such file' report study/runs/server-1 nowhere
refused 2 'none of the 2 folders is a run folder or holds one' report study study
mkdir -p all && cp -r study/runs/server-1 study/runs/server-2 all
"$motley" compare --methods allreduce,async --seeds 2 --model softmax --stop-updates 5 --quiet --out all/compare-one --store all/store >out
"$motley" report all/* --out all.html >out 2>err || fail "report of everything: $(cat err)"
[ "$(grep -c 'left out' err)" -eq 2 ] && grep -q '2 runs' out || fail "report of everything: $(cat err out)"
echo "ok   of all folders the runs are reported, and the others named"
mkdir half && touch half/metrics.jsonl
refused 3 'has not ended' report half
echo '{' >study/study.json
refused 3 'not valid JSON' report study
echo '{}' >study/study.json
refused 3 'a list of arms' report study
refused 2 '--out' report study/runs/server-1 --uot x.html
echo '{"time_s":1' >>study/runs/server-1/metrics.jsonl
echo 'x' >>study/runs/server-1/metrics.jsonl
refused 3 'metrics.jsonl:' report study/runs/server-1
[ ! -e half/report.html ] || fail "something was written where nothing could be"
echo "ok   what is no run, unfinished or damaged is refused"

# Over MPI rank 0 leaves a timeline and rows too.
if "$motley" train --data digits --model softmax --workers 2 --ranks 2 --stop-updates 5 --quiet --out over >/dev/null 2>err; then
    grep -q '"compute": \[\[' over/timeline.json && grep -q rows_by_class over/summary.json || fail "a run over MPI leaves no timeline or rows"
    echo "ok   a run over MPI has a timeline"
else
    echo "skip a run over MPI: $(head -1 err)"
fi
