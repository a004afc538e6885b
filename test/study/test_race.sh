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
[ "$(get whole/runs/plan-slow/study.json '"%.6g" % d["cells"][0]["figures"]["time_to_target"]["median"]')" = "$(get $plan '"%.6g" % d["time_to_target_s"]')" ] ||
    fail "plan.json and study.json differ"
tail -1 whole/out | grep -x 'runs/plan-slow/report.html' >/dev/null || fail "the output does not end with the page: $(tail -1 whole/out)"
awk 'length > 80 && !/motley train/ { exit 1 }' whole/out || fail "more than 80 columns"
command=$(get $plan 'd["command"]')
grep -qF "  $command" whole/out || fail "the command is not on the terminal"
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

"$motley" train slow.yaml --auto --budget 900s --store whole/runs/store --out trained --stop-updates 20 --quiet >out 2>err || fail "--auto: $(cat err)"
[ "$(get trained/summary.json 'd["method"]')" = "$(get runs/plan-slow/plan.json 'd["method"].split("{")[0]')" ] || fail "--auto trained with another method"
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
