#!/bin/bash
# motley plan: it recommends what is plainly best, by name, with a command that runs; killed in the middle it goes on to the same answer; a budget
# that is over too soon recommends nothing; training follows the plan.
set -euo pipefail
motley=${MOTLEY:?names the program}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL: $*"; exit 1; }
unset MOTLEY_STORE
cd "$folder"

# One worker of four stalls for seconds again and again: whoever waits for it is plainly behind.
cat >slow.yaml <<'YAML'
data: digits
model: softmax
optimizer: {lr: 0.1}
cluster: {workers: [{count: 3, speed: 2000/s}, {count: 1, speed: 20/s}]}
evaluate: {every: 20ms, train: end}
stop: {epochs: 6, target: {test_accuracy: 0.85}}
YAML
get() { python3 -c "import json,sys; d = json.load(open(sys.argv[1])); print($2)" "$1"; }

mkdir whole killed
(cd whole && "$motley" plan ../slow.yaml --budget 900s >out 2>err) || fail "plan fails: $(cat whole/err)"
plan=whole/runs/plan-slow/plan.json
[ "$(get $plan 'd["complete"]')" = True ] || fail "not complete in 900 s"
[ "$(get $plan '"allreduce" in [m["method"] for m in d["methods"] if m["stage"] == "raced"]')" = False ] || fail "allreduce, which waits for the slow worker, raced"
[ "$(get $plan 'len(d["methods"]) > 20 and all(m["stage"] != "not tried" for m in d["methods"])')" = True ] || fail "not every method was tried"
[ "$(get $plan 'd["time_to_target_s"] < 1.6')" = True ] || fail "the recommended method waits for the slow worker, whose jobs take 1.6 s"
[ "$(get $plan 'all(c["text"].startswith(c["change"]) for c in d["changes"]) and len(d["changes"])')" = 3 ] || fail "what would change its mind: $(get $plan 'd["changes"]')"
# Every number of the answer is one of plan.json's, and that is the median of the runs in study.json.
python3 - whole/runs/plan-slow <<'PYTHON' ||
import json, sys
plan, study = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("plan", "study"))
names = [a["name"] for a in study["arms"]]
for m in plan["methods"]:
    if m["stage"] == "raced":
        figure = study["cells"][names.index(m["method"])]["figures"]["time_to_target"]
        assert (m["time_to_target_s"], m["beyond_s"]) == (figure["median"], figure["beyond"]), (m, figure)
assert plan["time_to_target_s"] == study["cells"][0]["figures"]["time_to_target"]["median"]
PYTHON
    fail "plan.json and study.json differ"
tail -1 whole/out | grep -x 'runs/plan-slow/report.html' >/dev/null || fail "the output does not end with the page: $(tail -1 whole/out)"
awk 'length > 80 { exit 1 }' whole/out || fail "more than 80 columns"
command=$(get $plan 'd["command"]')
# The command as the terminal has it: it may be broken before a flag, as a shell reads it.
printed_lines() { awk '/^  motley train/ { on = 1 } on { print; if (!/\\$/) exit }' "$1"; }
printed() { printed_lines "$1" | sed ':a; /\\$/ { N; s/ *\\\n */ /; ba }; s/^  //'; }
[ "$(printed whole/out)" = "$command" ] || fail "the command on the terminal: $(printed whole/out)"
(cd whole && eval "${command/motley train ..\//$motley sim ../} --dry-run" >/dev/null) || fail "cannot run: $command"

# The page says the same, and its command has the budget: without it, it would plan for longer and might say something else.
page=whole/runs/plan-slow/report.html
grep -q '<pre id="command"[^>]*>motley plan ../slow.yaml --budget 900s</pre>' $page || fail "the page's command: $(grep 'id="command"' $page)"
grep -q '<p class="answer">Run ' $page && grep -q "<pre id=\"recommended\"[^>]*>motley train ../slow.yaml --method" $page || fail "the page does not say what to run"
[ "$(grep -c '^<li>.*: .*</li>$' $page)" -ge 3 ] || fail "the page does not say what would change the answer"

# The same command makes no run again and says the same.
(cd whole && cp runs/plan-slow/plan.json before && "$motley" plan ../slow.yaml --budget 900s >again 2>err && cmp before runs/plan-slow/plan.json && cmp out again) || fail "another answer"

# Killed half-way, it goes on to the same answer.
cd killed
"$motley" plan ../slow.yaml --budget 900s >out 2>err &
pid=$!
for _ in $(seq 1 4000); do
    [ "$(find runs -name sums 2>/dev/null | wc -l)" -ge 20 ] && break
    sleep 0.005
done
kill -9 $pid 2>/dev/null || true
wait $pid 2>/dev/null || true
"$motley" plan ../slow.yaml --budget 900s >out 2>err || fail "does not go on: $(cat err)"
cmp out ../whole/out || fail "killed half-way, it says something else"
cd ..

code=0
"$motley" plan slow.yaml --budget 1ms --store other --out none >out 2>err || code=$?
[ $code = 5 ] || fail "a budget that is over at once: exit $code: $(cat err)"
grep -q 'before methods could race' err || fail "it does not say that the budget was over: $(cat err)"
[ ! -e none/plan.json ] || fail "it left a plan"
code=0
"$motley" plan slow.yaml --budget soon 2>err || code=$?
[ $code = 2 ] && grep -q -- '--budget' err || fail "--budget soon: exit $code: $(cat err)"

# Emulated, training is on the cluster that was planned for, so the plan predicts it; and what is printed is what is done,
# but for the folder, which has this run then. The file names one, and so does the command line.
(cat slow.yaml; echo "output: trained") >own.yaml
for words in "slow.yaml --out trained-2" own.yaml; do
    "$motley" train $words --auto --emulate --budget 900s --store whole/runs/store --cluster-slow 1 --evaluate '{every: 20ms, train: end}' --set 'stop.target={test_accuracy: 0.85}' >out 2>err || fail "--auto: $(cat err)"
    where=trained
    [ "$words" = own.yaml ] || where=trained-2
    name=$(basename "${words%% *}" .yaml)
    [ "$(get $where/summary.json 'd["method"]')" = "$(get runs/plan-$name/plan.json 'd["method"].split("{")[0]')" ] || fail "--auto trained with another method"
    grep -q '^Predicted: ' out || fail "--auto --emulate predicts nothing: $(tail -3 out)"
    [ "$(get $where/summary.json 'd["predicted"]["update_s"]')" = "$(get runs/plan-$name/plan.json 'd["update_s"]')" ] || fail "the summary's prediction is not the plan's"
    awk '/^server|^gosgd|done \(ended/ { exit } length > 80 { bad = 1 } END { exit bad }' out || fail "more than 80 columns"
    command=$(printed out)
    [ "$command" = "$(get runs/plan-$name/plan.json 'd["command"]')" ] || fail "the command on the terminal: $command"
    grep -q -- ' --emulate$' <<<"$command" || fail "it leaves out --emulate: $command"
    printed_lines out | sed "s|^  motley|'$motley'|; \$ s|\$| --quiet|" >run.sh
    bash -e run.sh >again 2>err || fail "the printed command fails: $(cat run.sh err)"
done

# Nobody gets there: nothing is recommended, and it says who came nearest.
sed 's/speed: 20\/s/speed: 2000\/s/; s/0.85/0.9999/; s/epochs: 6/epochs: 1/' slow.yaml >far.yaml
code=0
"$motley" plan far.yaml --budget 900s --out far >out 2>err || code=$?
[ $code = 5 ] && grep -q 'nothing to recommend: no run reached 99.99 % test accuracy' err || fail "an unreachable target: exit $code: $(cat err)"
tr -s ' \n' ' ' <out | grep 'Nothing to recommend: no run reaches 99.99 % test accuracy in .* of this cluster.s time; the nearest was .*, learning rate .*, with a test accuracy of .* % (seed [0-9]*). Try a lower stop.target' >/dev/null || fail "it does not say who came nearest: $(cat out)"
! grep -q 'recommended\|motley train' out || fail "it recommends what does not get there: $(cat out)"
grep -q '0 of 10  > ' out || fail "a time that was not reached: $(cat out)"
[ "$(get far/plan.json 'd["method"] is d["lr"] is d["command"] is None and d["changes"] == [] and d["complete"]')" = True ] || fail "plan.json recommends something"
[ -s far/report.html ] && [ -s far/study.json ] || fail "there is no page"
code=0
"$motley" train far.yaml --auto --budget 900s --out far-trained >out 2>err || code=$?
[ $code = 5 ] && [ ! -e far-trained ] || fail "--auto trains with nothing: exit $code"

# With one worker, which labels it has cannot have an effect; what it sends to a server can.
sed 's/^cluster: .*/workers: 1/; s/0.85/0.5/; s/epochs: 6/epochs: 1/; s/20ms/100ms/' slow.yaml >one.yaml
"$motley" plan one.yaml --budget 900s --out one >out 2>err || fail "one worker: $(cat err)"
[ "$(get one/plan.json '[c["key"] for c in d["changes"]]')" = "['cluster.slow', 'cluster.links']" ] || fail "one worker: $(get one/plan.json '[c["text"] for c in d["changes"]]')"

echo "recommended $(get $plan 'd["method"]'), twice the same, and trained with it"

cat >study.yaml <<'YAML'
data: digits
model: softmax
workers: 2
stop: {updates: 5}
compare: [allreduce, {label: hasty, method: async, optimizer.lr: 0.05}]
YAML
"$motley" sim study.yaml --arm hasty --out arm --quiet >/dev/null || fail "--arm"
grep -q 'lr: 0.05' arm/experiment.yaml && [ "$(get arm/summary.json 'd["method"]')" = async ] || fail "--arm ran something else"
code=0
"$motley" sim study.yaml --arm lazy 2>err || code=$?
[ $code = 2 ] && grep -q "'hasty'" err || fail "an arm that is not there: exit $code: $(cat err)"
code=0
"$motley" plan slow.yaml --method async 2>err || code=$?
[ $code = 2 ] && grep -q -- '--method: a plan chooses the method' err || fail "a plan that is told the method: exit $code: $(cat err)"
code=0
printf 'data: digits\nmodel: lenet\n' >wrong.yaml
"$motley" plan wrong.yaml --budget 20s --store wrong 2>err || code=$?
[ $code = 2 ] && grep -q 'was refused: .*layer 4 (conv): its window is 5x5' err || fail "a plan of a network that does not fit: exit $code: $(cat err)"
