#!/bin/bash
# motley cluster import: FedScale's device capacities and recorded job times become cluster files that run.
. "$(dirname "$0")/../says.sh"
cd "$box" || exit 1
claim() { # CLAIM COMMAND...
    local what=$1
    shift
    if "$@"; then echo "ok   $what"; else echo "FAIL $what"; failures=$((failures + 1)); fi
}

cat >devices.csv <<'CSV'
client,computation,communication
1,24.5,8000
300,200,1234.5
x y,10,100000
CSV
says "devices become workers" 0 "3 of 3 clients: 1.67 to 33.3 samples/s" "$MOTLEY" cluster import devices.csv --out all.yaml
# FedScale: a sample takes 3 x computation ms, a message its kbit over communication.
claim "speeds are FedScale's" grep -q 'client-1, speed: 13.6054/s, bandwidth: 8000kbit' all.yaml
claim "a name that YAML would have to quote is left out" grep -q -- '- {speed: 33.3333/s, bandwidth: 100000kbit}' all.yaml
says "the file is a cluster" 0 "3 workers, 48.6" "$MOTLEY" cluster show all.yaml
says "it runs" 0 "" "$MOTLEY" sim --cluster all.yaml --data digits --model softmax --stop-updates 5 --quiet
says "without --out it is printed" 0 "workers:" "$MOTLEY" cluster import devices.csv
says "another factor" 0 "speed: 40.8163/s" "$MOTLEY" cluster import devices.csv --factor 1
says "as JSON" 0 '"clients": 3' "$MOTLEY" cluster import devices.csv --json

"$MOTLEY" cluster import devices.csv --workers 2 --seed 3 --out a.yaml --quiet
"$MOTLEY" cluster import devices.csv --workers 2 --seed 3 --out b.yaml --quiet
claim "the same seed draws the same devices" cmp a.yaml b.yaml
claim "as many as asked for" test "$(grep -c speed: a.yaml)" = 2
drawn=$(for seed in {1..20}; do "$MOTLEY" cluster import devices.csv --workers 1 --seed $seed | grep speed:; done | sort -u | wc -l)
claim "other seeds draw others" test "$drawn" = 3

says "more than there are" 2 "has only 3 clients" "$MOTLEY" cluster import devices.csv --workers 4
says "no number of workers" 2 "--workers: expected" "$MOTLEY" cluster import devices.csv --workers 0
says "a wrong factor" 2 "--factor: expected" "$MOTLEY" cluster import devices.csv --factor 0
says "a trace's flag" 2 "are for traces" "$MOTLEY" cluster import devices.csv --model iid
says "no file" 2 "no such file" "$MOTLEY" cluster import nothing.csv
printf 'client,computation,communication\n1,24.5\n' >short.csv
says "a short line is named" 2 "short.csv:2: found 2 columns, expected 3" "$MOTLEY" cluster import short.csv --out short.yaml
claim "and nothing is written" test ! -e short.yaml

# More clients than a run has workers.
{ echo computation,communication; for ((i = 0; i < 100001; i++)); do echo 10,1000; done; } >many.csv
says "too many for a run" 2 "--workers N draws N of them" "$MOTLEY" cluster import many.csv
says "of many some are drawn" 0 "50 of 100001 clients" "$MOTLEY" cluster import many.csv --workers 50 --out some.yaml

# A trace.
{ echo a,b,c; for ((i = 0; i < 30; i++)); do echo "1.$((i % 7)),1.$((i % 5)),2.$((i % 3))"; done; } >times.csv
"$MOTLEY" trace fit times.csv --out one.yaml >one.txt
"$MOTLEY" cluster import times.csv --out one.yaml >two.txt
claim "a trace is fitted, as by trace fit" cmp one.txt two.txt
says "a flag of devices" 2 "are for files of devices" "$MOTLEY" cluster import times.csv --workers 2

# Pickles, as Python writes them.
if ! command -v python3 >/dev/null; then echo "skip: no python3, which writes pickles"
else
    for protocol in 2 3 4 5; do
        python3 -c "
import csv, pickle
rows = {int(r['client']) if r['client'].isdigit() else r['client']: {k: float(r[k]) for k in ('computation', 'communication')}
        for r in csv.DictReader(open('devices.csv'))}
pickle.dump(rows, open('devices.pickle', 'wb'), protocol=$protocol)"
        "$MOTLEY" cluster import devices.pickle --out pickle.yaml --quiet
        claim "a pickle of protocol $protocol gives the same workers" cmp <(grep -v '^#' all.yaml) <(grep -v '^#' pickle.yaml)
    done
    python3 -c "
import pickle, random
random.seed(1)
pickle.dump({i: {'computation': random.uniform(15, 200), 'communication': random.uniform(200, 1e5)} for i in range(20000)}, open('big.pickle', 'wb'))"
    says "a pickle of thousands, in several frames" 0 "100 of 20000 clients" "$MOTLEY" cluster import big.pickle --workers 100 --out big.yaml
    python3 -c "
import pickle, datetime
pickle.dump({1: {'computation': 1.0, 'communication': 2.0, 'when': datetime.date(2020, 1, 1)}}, open('object.pickle', 'wb'))"
    says "a pickle with an object is refused" 2 "motley runs nothing from a pickle" "$MOTLEY" cluster import object.pickle
    python3 -c "import pickle; pickle.dump({1: {}}, open('old.pickle', 'wb'), protocol=0)"
    says "protocol 0 is no file that can be imported" 2 "old.pickle" "$MOTLEY" cluster import old.pickle
    # The conversion in the help.
    convert=$("$MOTLEY" help cluster import | sed -n "s/^ *\(python3 -c .*\) <client.*/\1/p")
    python3 -c "
import pickle
pickle.dump({1: {'computation': 24.5, 'communication': '8000'}}, open('text.pickle', 'wb'))"
    bash -c "$convert" <text.pickle >text.json
    says "the conversion that the help shows" 0 "speed: 13.6054/s" "$MOTLEY" cluster import text.json
fi

echo "$failures failed"
[ $failures -eq 0 ]
