#!/bin/bash
# Devices that send over Kafka (librdkafka's mock cluster, in a process of its own, with the real protocol) while motley trains on
# threads and over ranks: kill -9, brokers that go down and --resume end in the model of a run from files that nobody disturbed, so no
# record was used twice and none was left out; every record is counted; and what is wrong is said.
source "$(dirname "$0")/../says.sh"
source "$(dirname "$0")/../built.sh"
MOTLEY=$(realpath "$MOTLEY")
here=$(realpath "$(dirname "$0")")
mock=$(realpath "${MOTLEY_BUILD:-$(dirname "$MOTLEY")}/kafka_mock")
[ -x "$mock" ] && built_with rdkafka || { echo "skip: built without librdkafka"; exit 77; }
cd "$box" || exit 1
sender= run= door_pid=
coproc MOCK { exec "$mock" 3; }
mock_pid=$MOCK_PID
exec 8>&"${MOCK[1]}" 9<&"${MOCK[0]}"
cleanup() {
    kill -9 $sender $door_pid $(pgrep -f -- "--out $box/" || true) $mock_pid 2>/dev/null
    rm -rf "$box"
}
trap cleanup EXIT
read -r -t 30 brokers <&9 || { echo "FAIL: no mock cluster"; exit 1; }
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
tell() { # COMMAND...: to the cluster
    local said
    echo "$*" >&8
    read -r -t 60 said <&9 || said="no answer"
    [ "$said" = ok ] || fail "the mock cluster, told to $*: $said"
}
hash_of() { sed -n 's/^  "model_hash": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }
figure() { sed -n 's/^  "stream": {.*"'"$2"'": "\{0,1\}\([^",}]*\).*/\1/p' "$1/summary.json"; } # RUN KEY
adds_up() { # RUN: arrived = used + dropped + malformed + waiting + held_out
    local sum=$(($(figure "$1" used) + $(figure "$1" dropped) + $(figure "$1" malformed) + $(figure "$1" waiting) + $(figure "$1" held_out)))
    [ "$(figure "$1" arrived)" = $sum ] || fail "$1: $sum of $(figure "$1" arrived) are accounted for"
}
rows() { # SEED COUNT
    awk -v s="$1" -v n="$2" 'BEGIN { srand(s); for (i = 1; i <= n; i++) { c = int(rand() * 3);
        printf "%.3f,%.3f,%d,c%d\n", c + rand(), 1 - c + rand(), i, c } }'
}
(echo "a,b,number,class"; rows 1 300) >held.csv
(echo "a,b,number,class"; rows 2 4800) >sent.csv
flags=(--data held.csv --model softmax --batch 8 --checkpoint-every "10 updates" --quiet)
train() { timeout -k 5 60 "$MOTLEY" train "${flags[@]}" "$@"; }

# What four devices send, first into files.
"$MOTLEY" stream sent.csv --to 'sent-{worker}.csv' --devices 4 --count 1200 --quiet || fail "devices that write files"
[ "$(cat sent-*.csv | sort -t, -k3n | cut -d, -f3,4)" = "$(sed 1d sent.csv | cut -d, -f3,4)" ] || fail "records are not the rows of the data"

stamp() { stat -c %i.%y "$1/checkpoint.bin" 2>/dev/null; }
# disturb NAME FLAG...: the devices send at their rates; the run is killed twice, once while the brokers are down, and resumed. 3: it had ended
# before this script got a core to kill it.
disturb() {
    local name=$1 was pid resume= round
    shift
    for w in 0 1 2 3; do tell topic "$name-$w" 1; done
    "$MOTLEY" stream sent.csv --to "kafka://$brokers/$name" --rates '300, 450, 600, 900' --count 1200 --json >"$name.json" 2>"$name.err" &
    sender=$!
    for round in 1 2; do
        was=$(stamp "$name")
        train --workers 4 --stop-updates 140 --source-from "kafka://$brokers/$name" --out "$box/$name" "$@" $resume 2>"$name.log" &
        pid=$!
        for _ in $(seq 1 2000); do [ "$(stamp "$name")" != "$was" ] && break; sleep 0.01; done
        [ "$(stamp "$name")" != "$was" ] || fail "$name: no checkpoint: $(cat "$name.log")"
        [ $round = 1 ] || { tell down; sleep 0.3; }
        kill -9 $(pgrep -f -- "--out $box/$name( |\$)") 2>/dev/null
        wait $pid 2>/dev/null
        while pgrep -f -- "--out $box/$name( |\$)" >/dev/null; do sleep 0.01; done # it dies when it is its turn
        resume=--resume
    done
    if [ -e "$name/summary.json" ]; then
        tell up
        wait $sender
        sender=
        return 3
    fi
    train --workers 4 --stop-updates 140 --source-from "kafka://$brokers/$name" --out "$box/$name" "$@" --resume 2>"$name.log" &
    pid=$!
    sleep 1
    tell up
    wait $pid || fail "$name resumed: $(cat "$name.log")"
    wait $sender || fail "the sender of $name: $(cat "$name.err")"
    sender=
    # The mock cluster does not tell a record that is sent again from a new one, as brokers do: what counts is what it has.
    for w in 0 1 2 3; do
        tell dump "$name-$w" "$box/$name-has-$w.csv"
        cmp -s "$name-has-$w.csv" "sent-$w.csv" || echo "     the mock cluster has $(($(wc -l <"$name-has-$w.csv") - 1200)) records of device $w twice"
    done
    train --workers 4 --stop-updates 140 --source-from "$name-has-{worker}.csv" --source-holdout 5% --out "$box/$name-files" || fail "a run from files"
    [ "$(hash_of "$name")" = "$(hash_of "$name-files")" ] && echo "ok   $name: killed twice and without brokers, it ends in the same model" ||
        fail "$name: another model than that of files"
    adds_up "$name"
    [ "$(grep -c '"records": 1200' "$name.json")" = 4 ] || fail "$name: the sender's counts: $(cat "$name.json")"
    return 0
}
disturbed() { # NAME FLAG...
    local name=$1 try
    shift
    for try in 1 2 3 4; do
        disturb "$name-$try" "$@"
        [ $? = 3 ] || return
    done
    fail "$name ended four times before it could be killed"
}
rank_pid() { # RUN RANK
    local pid
    for pid in $(pgrep -f -- "--out $box/$1( |\$)"); do
        if grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; return; fi
    done
}
used_by() { # RUN WORKER
    python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["worker"][int(sys.argv[2])]["stream"]["used"])' "$@"
}
# A device dies (kill -9 of its rank) while records come: with `allreduce` the run ends and says so, and with a server it goes on without.
# Resumed, the device is back, and goes on where it was.
one_lost() { # METHOD UPDATES: some seconds of records, long enough to kill it
    local pid code w method=$1
    for w in 0 1 2 3; do
        tell topic "$method-$w" 1
        "$MOTLEY" stream sent.csv --to "kafka://$brokers/$method-$w" --rates 200 --count 1200 --quiet &
        sender+=" $!"
    done
    train --workers 4 --ranks 4 --method $method --stop-updates "$2" --source-from "kafka://$brokers/$method" --out "$box/$method" 2>$method.log &
    pid=$!
    for _ in $(seq 1 2000); do [ -s $method/checkpoint.bin ] && break; sleep 0.01; done
    kill -9 "$(rank_pid $method 2)" || fail "$method: no rank 2 to kill"
    wait $pid
    code=$?
    if [ $method = allreduce ]; then [ $code = 4 ] || fail "a device that died ended $method with $code: $(cat $method.log)"
    else [ $code = 0 ] && [ "$(used_by async 0)" -gt 0 ] || fail "$method did not go on without a device: $code, $(cat $method.log)"; fi
}
one_returns() { # METHOD UPDATES
    train --workers 4 --ranks 4 --method $1 --stop-updates "$2" --source-from "kafka://$brokers/$1" --out "$box/$1" --resume 2>$1.log ||
        fail "$1, the device being back: $(cat $1.log)"
    adds_up $1
    wait $sender || fail "a sender"
    sender=
}
lost_and_back() {
    local w before
    one_lost allreduce 140
    one_returns allreduce 140
    for w in 0 1 2 3; do tell dump "allreduce-$w" "$box/allreduce-has-$w.csv"; done
    train --workers 4 --stop-updates 140 --source-from 'allreduce-has-{worker}.csv' --out "$box/allreduce-files" || fail "a run from files"
    [ "$(hash_of allreduce)" = "$(hash_of allreduce-files)" ] && echo "ok   a device that died and is back uses no record twice and skips none" || fail "a device that died: another model than that of files"
    one_lost async 200
    before=$(used_by async 2)
    one_returns async 560 # three devices have records for 450
    [ "$(used_by async 2)" -gt "$before" ] && echo "ok   with a server the others go on, and it joins again" || fail "async: the device that was back used nothing"
}
disturbed threads --source-holdout 5%
if built_with mpi && [[ $(ldd "$MOTLEY") != *libtsan* ]] && command -v mpirun >/dev/null; then
    disturbed ranks --ranks 4 --source-holdout 5%
    lost_and_back
else echo "skip ranks: no MPI"; fi

# A topic that is not there yet, then brokers that go down: the run stalls, says why, and goes on when they are back.
tell topic late 1
tell hide late
sed 1d sent.csv | head -400 >first.csv
sed 1d sent.csv | tail -n +401 | head -400 >second.csv
train --workers 1 --stop-updates 100 --source-from "kafka://$brokers/late" --out "$box/late" 2>late.log &
run=$!
sleep 1.5
tell show late
tell send late 1 "$box/first.csv"
sleep 0.7
tell down
sleep 1.5
tell up
tell send late 1 "$box/second.csv"
wait $run || fail "a run whose brokers went away: $(cat late.log)"
head -800 <(sed 1d sent.csv) >both.csv
train --workers 1 --stop-updates 100 --source-from both.csv --out "$box/both"
[ "$(hash_of late)" = "$(hash_of both)" ] || fail "brokers that went away changed the model"
[ "$(figure late stalls)" -ge 2 ] && grep -q '"trouble": ".*no broker answers' late/summary.json &&
    echo "ok   a missing topic and brokers that are away stall a run, and it goes on" || fail "stalls: $(figure late stalls), $(grep trouble late/summary.json)"
adds_up late

# Records that are no rows, in messages of one line and of three: counted and logged, and the rest is used.
(rows 3 20; echo "1,2"; echo "1,2,3,4,c0"; echo "nan,1,2,c0"; echo "1,2,3,c9"; echo "x,1,2,c0"; echo '"1,2,'; printf 'x%3000s,2,3,c0\n' ""; echo; rows 4 24) >broken.csv
(rows 3 20; rows 4 24) >good.csv
train --workers 1 --stop-updates 5 --source-from good.csv --out "$box/good"
for lines in 1 3; do
    tell topic "broken$lines" 1
    tell send "broken$lines" $lines "$box/broken.csv"
    longest=2000B
    [ $lines = 1 ] || longest=4000B
    train --workers 1 --stop-updates 5 --source-from "kafka://$brokers/broken$lines" --source-longest $longest --out "$box/broken$lines" || fail "records that are malformed"
    [ "$(figure broken$lines malformed)" = 7 ] && [ "$(wc -l <broken$lines/malformed-0.log)" = 7 ] || fail "of 7 malformed records $(figure broken$lines malformed) were counted"
    [ "$(hash_of broken$lines)" = "$(hash_of good)" ] && echo "ok   malformed records, $lines to a message, are counted and skipped" || fail "malformed records changed the model"
    adds_up broken$lines
done

# A run that stops in the middle of a message goes on in the middle of it.
tell topic bundles 1
tell send bundles 7 "$box/both.csv"
for updates in 3 30 100; do
    train --workers 1 --stop-updates $updates --source-from "kafka://$brokers/bundles" --out "$box/bundles" $([ $updates = 3 ] || echo --resume) || fail "messages of several records"
done
[ "$(hash_of bundles)" = "$(hash_of both)" ] && echo "ok   a message is resumed in its middle" || fail "messages of several records: another model"

# What the broker does not keep any more is an error that counts it; what came before the run can be left out.
tell topic short 1
tell send short 1 "$box/first.csv"
train --workers 1 --stop-updates 10 --source-from "kafka://$brokers/short" --out "$box/short" || fail "a short run"
rows 5 9000 | awk '{ printf "%1000s%s\n", "", $0 }' >wide.csv
tell send short 1 "$box/wide.csv"
says "an offset that the broker has dropped ends the run" 3 "from offset 80 on, as it keeps none before" train --workers 1 --stop-updates 100000 --source-from "kafka://$brokers/short" --out "$box/short" --resume
[[ $(train --workers 1 --stop-updates 100000 --source-from "kafka://$brokers/short" --out "$box/short" --resume 2>&1) =~ has\ [1-9][0-9]*\ messages\ from ]] || fail "it does not say how many are gone"
train --workers 1 --stop-time 1s --source-from "kafka://$brokers/bundles" --source-begin newest --out "$box/newest" || fail "a run that begins with the newest"
[ "$(figure newest arrived)" = 0 ] && echo "ok   source.begin newest leaves out what was there" || fail "newest: $(figure newest arrived) arrived"

# Partitions, and what cannot be right.
tell topic parts 4
for p in 0 1 2 3; do "$MOTLEY" stream sent.csv --to "kafka://$brokers/parts?partition=$p" --count 100 --quiet; done
says "a topic with partitions that nobody reads is warned about" 0 "has 4 partitions, and 1 is read" timeout 60 "$MOTLEY" train --data held.csv --workers 1 --batch 8 --stop-updates 5 --source-from "kafka://$brokers/parts"
said=$(timeout 60 "$MOTLEY" train --data held.csv --workers 4 --batch 8 --stop-updates 12 --source-from "kafka://$brokers/parts?partition={worker}" 2>&1) || fail "a partition for each worker: $said"
[[ $said != *"partitions, and"* ]] && echo "ok   each worker reads a partition" || fail "$said"
says "a partition that is not there is refused" 2 "none with the number 9" train --workers 1 --stop-updates 5 --source-from "kafka://$brokers/parts?partition=9"
MOTLEY_PASSWORD=secret says "a user who is refused is told so" 2 "refuses user me" train --workers 1 --stop-updates 5 --source-from "kafka://me@$brokers/parts"
says "a broker that is not there stalls a run" 0 "no broker answers at 127.0.0.1:1" timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-time 3s --source-from kafka://127.0.0.1:1/x
says "so does TLS with a port that speaks none" 0 "that the port speaks TLS" timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-time 3s --source-from "kafkas://${brokers%%,*}/parts"

# Brokers behind TLS that ask for a certificate, a user and a password: records arrive, and whoever lacks one of them is refused.
signed() { # NAME: a key, and a certificate of the authority's for 127.0.0.1
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj "/CN=$1" -keyout "$1.key" -out "$1.csr" 2>/dev/null &&
        openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile <(echo subjectAltName=IP:127.0.0.1) -out "$1.crt" 2>/dev/null
}
behind_tls() {
    local name ports from
    for name in ca other; do
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj "/CN=$name" -keyout $name.key -out $name.crt 2>/dev/null
    done
    signed broker && signed device || { fail "no certificates"; return; }
    python3 "$here/kafka_door.py" broker.crt broker.key ca.crt ann secret $(tr , '\n' <<<"$brokers" | sed 's/.*://') >door.ports 2>door.log &
    door_pid=$!
    for _ in $(seq 1 1000); do [ -s door.ports ] && break; sleep 0.02; done
    read -r -a ports <door.ports || { fail "no TLS in front of the cluster: $(cat door.log)"; return; }
    from="kafkas://ann@127.0.0.1:${ports[0]}/secure" # the door tells the others' ports
    echo secret >password
    tell topic secure 1
    "$MOTLEY" stream held.csv --to "$from" --ca ca.crt --cert device.crt --key device.key --password-file password --count 300 --quiet || fail "a sender over TLS"
    train --workers 1 --stop-updates 30 --source-from "$from" --source-ca ca.crt --source-cert device.crt --source-key device.key \
        --source-password_file password --out "$box/secure" && [ "$(figure secure arrived)" -ge 240 ] &&
        echo "ok   over TLS, with a certificate, a user and a password, records are sent and arrive" || fail "a run over TLS: $(cat door.log)"
    adds_up secure
    says "a wrong password ends the run" 2 "refuses user ann" env MOTLEY_PASSWORD=wrong timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-time 20s \
        --source-from "$from" --source-ca ca.crt --source-cert device.crt --source-key device.key
    grep -q "refused: not ann" door.log || fail "the password did not reach the broker: $(cat door.log)"
    says "a certificate that nobody signed ends the run" 2 "no TLS with" env MOTLEY_PASSWORD=secret timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-time 20s \
        --source-from "$from" --source-ca other.crt --source-cert device.crt --source-key device.key
    kill $door_pid
    wait $door_pid 2>/dev/null
    door_pid=
}
if command -v python3 >/dev/null && command -v openssl >/dev/null; then behind_tls; else echo "skip TLS: no python3 or no openssl"; fi

# motley stream: what it refuses, and Ctrl-C.
says "a sender needs an address" 2 "--to" "$MOTLEY" stream held.csv
says "a sender refuses what is no rate" 2 "rates" "$MOTLEY" stream held.csv --to x.csv --rates '{name: uniformly}'
says "rates may stand in brackets" 0 "2 records" "$MOTLEY" stream held.csv --to 'rated-{worker}.csv' --rates '[1000, 2000]' --count 2
says "each device needs a file of its own" 2 "{worker}" "$MOTLEY" stream held.csv --to x.csv --devices 2
"$MOTLEY" stream sent.csv --to "kafka://$brokers/parts?partition=0" --rates 100 --time 60s >interrupted.txt 2>&1 &
sender=$!
sleep 1
kill -INT $sender
wait $sender
[ $? = 130 ] && grep -q "^device 0 .*records.*asked for 100/s" interrupted.txt && grep -q "all that was sent has arrived" interrupted.txt &&
    echo "ok   Ctrl-C ends a sender, and it says what it sent" || fail "an interrupted sender: $(cat interrupted.txt)"
sender=
[ $failures -eq 0 ]
