#!/bin/bash
# Whatever names a file holds, no command writes them to a terminal as commands of that terminal: labels, worker and arm
# names, paths and the contents of files in errors. JSON stays JSON.
. "$(dirname "$0")/../says.sh"
unset MOTLEY_STORE
cd "$box" || exit 1
bad=$'\x1b[31mred'

# Only ends of lines may be left of all control characters; "\x1b" is shown in their place.
clean() {
    local claim=$1
    shift
    "$@" >said 2>&1
    if LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' said; then
        echo "FAIL $claim: $(LC_ALL=C grep -P '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' said | cat -v | head -3)"
    elif ! grep -qF '\x1b[31mred' said; then echo "FAIL $claim: the name is not shown: $(tail -3 said)"
    else
        echo "ok   $claim"
        return
    fi
    failures=$((failures + 1))
}
for i in $(seq 1 60); do printf '%s,%s,%s\n' "0.$((i * 7 % 10))" "0.$((i * 3 % 10))" "$([ $((i % 2)) = 0 ] && echo "$bad" || echo ok)"; done >labels.csv
clean "data info: a label" "$MOTLEY" data info labels.csv
"$MOTLEY" sim --data labels.csv --stop-updates 3 --quiet --out run
clean "eval: a label" "$MOTLEY" eval run/model.safetensors labels.csv
printf '0.1,0.2,other\n0.1,0.2,"%s\nred"\n' "$bad" >other.csv
clean "an error: known classes and a label" "$MOTLEY" eval run/model.safetensors other.csv
cp labels.csv "$bad.csv"
clean "data info: a path" "$MOTLEY" data info "$bad.csv"
clean "data convert: a path" "$MOTLEY" data convert labels.csv "$bad.csv"
clean "partition: a path" "$MOTLEY" partition labels.csv --workers 2 --quality none --out "$bad"
clean "an error: a path that is not there" "$MOTLEY" sim "$bad.yaml"
clean "a run's folder" "$MOTLEY" sim --data labels.csv --stop-updates 3 --out "$bad-run"
clean "a run's folder, when the run is finished" "$MOTLEY" sim --data labels.csv --stop-updates 3 --out "$bad-run" --resume
clean "predict: a path" "$MOTLEY" predict run/model.safetensors labels.csv --out "$bad.txt"
clean "profile: a path" "$MOTLEY" profile --data labels.csv --workers 1 --seconds 0.05 --out "$bad.yaml"
cat >cluster.yaml <<'YAML'
workers: [{name: "\e[31mred", count: 2, speed: 10/s}, {name: fast, count: 2, speed: 1000/s}]
YAML
clean "cluster show: a worker's name" "$MOTLEY" cluster show cluster.yaml
clean "sim: a worker's name" "$MOTLEY" sim --cluster cluster.yaml --stop-updates 20 --model softmax
printf 'a,%s,c\n1,1,1\n1,9,1\n1,1,1\n' "$bad" >times.csv
clean "trace fit: a node's name" "$MOTLEY" trace fit times.csv --out fitted.yaml
clean "cluster show: a node's name" "$MOTLEY" cluster show fitted.yaml
cat >study.yaml <<'YAML'
model: softmax
stop: {updates: 5}
cluster: {workers: [{name: fast, count: 3, speed: 1000/s}, {name: "\e[31mred", speed: 2000/s}]}
compare: [allreduce, {label: "a\u202eb", method: async}]
YAML
clean "compare: a worker's name" "$MOTLEY" compare study.yaml --seeds 2
clean "report: a worker's name" "$MOTLEY" report runs/compare-study
says "compare: an arm that turns text around" 0 'a\u202eb' "$MOTLEY" compare study.yaml --seeds 2
says "compare: a plan with it" 0 'a\u202eb' "$MOTLEY" compare study.yaml --seeds 2 --dry-run
clean "an error: a YAML value" "$MOTLEY" sim --method "$bad"
# Programs get the names as they are.
claim_json() { if "$@" >said && grep -qF '\u001B[31mred' said; then echo "ok   JSON: $*"; else echo "FAIL JSON: $*"; failures=$((failures + 1)); fi; }
claim_json "$MOTLEY" data info labels.csv --json
claim_json "$MOTLEY" trace fit times.csv --json
claim_json "$MOTLEY" eval run/model.safetensors labels.csv --json
claim_json "$MOTLEY" compare study.yaml --seeds 2 --quiet --json
"$MOTLEY" predict run/model.safetensors labels.csv --probabilities >said
[ "$(head -1 said)" = "class,$bad,ok" ] && echo "ok   predict writes names as they are" ||
    { echo "FAIL predict writes names as they are: $(head -1 said | cat -v)"; failures=$((failures + 1)); }
if LC_ALL=C grep -qae $'\x1b' -e $'\xe2\x80\xae' runs/compare-study/report.html; then
    echo "FAIL the page has no raw escape, nor what turns text around"
    failures=$((failures + 1))
else echo "ok   the page has no raw escape, nor what turns text around"
fi
exit $((failures > 0))
