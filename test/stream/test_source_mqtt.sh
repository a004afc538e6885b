#!/bin/bash
# A real mosquitto, four devices at different rates: killed and resumed, a run ends in the model that the same records
# in files give; a broker that dies is waited for; every record is counted; and what is wrong is said.
source "$(dirname "$0")/../says.sh"
for tool in mosquitto mosquitto_pub mosquitto_passwd openssl python3; do
    command -v $tool >/dev/null || { echo "skip: there is no $tool"; exit 77; }
done
MOTLEY=$(realpath "$MOTLEY")
cd "$box" || exit 1
broker=
trap 'kill -9 $broker $(jobs -p) 2>/dev/null; rm -rf "$box"' EXIT
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
claim() { local what=$1; shift; if "$@"; then echo "ok   $what"; else fail "$what"; fi; }
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p' "$1/summary.json"; }
figure() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1] + "/summary.json"))["stream"][sys.argv[2]])' "$@"; }
adds_up() { [ "$(figure $1 arrived)" = $(($(figure $1 used) + $(figure $1 dropped) + $(figure $1 malformed) + $(figure $1 waiting))) ]; }
until_ready() { for _ in $(seq 1 1500); do "$@" && return; sleep 0.02; done; echo "FAIL waited in vain: $*"; exit 1; }

has=$("$MOTLEY" train --workers 1 --source-from mqtt://127.0.0.1:1/t --stop-time 1ms --quiet 2>&1)
[[ $has == *"built without MQTT"* ]] && { echo "skip: this motley was built without MQTT"; exit 77; }

# ---- Records: every 25th is none, in one of five ways; the numbers of the others are their features.
rows() { # WORKER COUNT
    awk -v s="$1" -v n="$2" 'BEGIN { srand(s + 1); for (i = 1; i <= n; i++) { c = int(rand() * 3);
        row = sprintf("%d,%.3f,%.3f,c%d", i, c + rand(), 1 - c + rand(), c)
        if (i % 25 != 0) print row
        else if (i % 125 == 0) print "nan,1,2,c0"
        else if (i % 125 == 25) print substr(row, 1, length(row) - 2)
        else if (i % 125 == 50) print row ",7"
        else if (i % 125 == 75) { printf "%s", row; for (k = 0; k < 300; k++) printf "0"; print "" }
        else print "a device that speaks of other things" } }'
}
# 1,728 of 1,799 are records: 216 batches of 8, so that a run of 216 updates ends when it has got them all.
(echo "a,b,d,class"; rows 9 400 | awk -F, 'NF == 4 && /,c[012]$/ && !/nan/') >held.csv
for w in 0 1 2 3; do rows $w 1799 >whole-$w.csv; head -n 1000 whole-$w.csv >first-$w.csv; tail -n +1001 whole-$w.csv >rest-$w.csv; done
flags=(--data held.csv --model softmax --optimizer-lr 1e-4 --batch 8 --checkpoint-every "20 updates" --source-longest 200B --quiet)

# ---- The broker: one listener for all, one with TLS for those who have the password.
read -r port tls_port < <(python3 -c 'import socket
s = [socket.socket() for _ in range(2)]
for x in s: x.bind(("127.0.0.1", 0))
print(*[x.getsockname()[1] for x in s])')
for name in broker other; do
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout $name.key -out $name.crt 2>/dev/null || fail "no certificate"
done
mosquitto_passwd -b -c users ann secret && echo secret >password
cat >mosquitto.conf <<END
user $(id -un)
per_listener_settings true
max_queued_messages 0
log_type all
log_dest stderr
listener $port 127.0.0.1
allow_anonymous true
listener $tls_port 127.0.0.1
allow_anonymous false
password_file $box/users
cafile $box/broker.crt
certfile $box/broker.crt
keyfile $box/broker.key
END
start_broker() {
    mosquitto -c mosquitto.conf >>broker.log 2>&1 &
    broker=$!
    until_ready mosquitto_pub -p $port -t probe -m x 2>/dev/null
}
start_broker
publish() { mosquitto_pub -p $port -q 1 -l -t "dev-$1" "${@:2}"; }
at_rate() { local part; for part in $(seq 0 9); do tail -n +$((part * 100 + 1)) "$2" | head -n 100; sleep 0.0$((2 * $1 + 1)); done; }

# ---- Threads: killed, with the end of a message that was being written; the broker keeps what comes meanwhile.
timeout 60 "$MOTLEY" train "${flags[@]}" --workers 4 --stop-updates 216 --source-from 'whole-{worker}.csv' --out files || fail "a run from files"
from=(--source-from "mqtt://127.0.0.1:$port/dev")
timeout 100 "$MOTLEY" train "${flags[@]}" "${from[@]}" --workers 4 --stop-updates 216 --out run &
run=$!
spooled() { # FOLDER FILE-PREFIX: whether each spool has every message
    local w want
    for w in 0 1 2 3; do
        want=$(LC_ALL=C awk '{ n += 16 + (length($0) > 200 ? 0 : length($0)) } END { print 16 + n }' $2-$w.csv)
        [ "$(stat -c %s $1/spool-$w.bin 2>/dev/null)" = "$want" ] || return 1
    done
}
subscribed() { local w; for w in 0 1 2 3; do grep -q "[[:space:]]$1-$w (QoS 1)" broker.log || return 1; done; }
until_ready subscribed dev
pids=
for w in 0 1 2 3; do at_rate $w first-$w.csv | publish $w & pids+=" $!"; done
wait $pids
until_ready spooled run first
until_ready test -s run/checkpoint.bin
kill -9 $(pgrep -P $run) 2>/dev/null
wait $run 2>/dev/null
printf 'half a frame' >>run/spool-2.bin
for w in 0 1 2 3; do publish $w <rest-$w.csv; done
timeout 60 "$MOTLEY" train "${flags[@]}" "${from[@]}" --workers 4 --stop-updates 216 --out run --resume || fail "a resumed run"
claim "killed and resumed, four devices give the model of their records in files" [ "$(hash_of run)" = "$(hash_of files)" ]
claim "of the resumed run arrived is used, dropped, malformed and waiting" adds_up run
until_ready spooled run whole && echo "ok   what came while nobody listened is in the spools, once"
[ $failures -eq 0 ] && for why in "too long" "too many" "finite\|number"; do grep -q "$why" run/malformed-0.log || fail "no malformed record is logged as $why"; done

# ---- Ranks, over TLS and with a password; what they get in turn is what the files have.
timeout 60 "$MOTLEY" train "${flags[@]}" --workers 4 --stop-updates 100 --source-from 'whole-{worker}.csv' --out files2 || fail "a run from files"
timeout 100 "$MOTLEY" train "${flags[@]}" --workers 4 --ranks 4 --stop-updates 100 --source-from "mqtts://ann@localhost:$tls_port/secure" --source-ca broker.crt \
    --source-password_file password --out ranks &
run=$!
until_ready subscribed secure
for w in 0 1 2 3; do
    mosquitto_pub -h localhost -p $tls_port --cafile broker.crt -u ann -P secret -q 1 -l -t secure-$w <first-$w.csv || fail "no publisher over TLS"
done
wait $run || fail "a run over TLS"
claim "ranks that listen over TLS, with a password, end in the same model" [ "$(hash_of ranks)" = "$(hash_of files2)" ]
claim "and count every record" adds_up ranks

# ---- One publisher dies, the broker dies and comes back: the others go on, and so does it.
feed() { while :; do head -n 100 whole-$1.csv | publish $1 -i "device-$1" 2>/dev/null; sleep 0.1; done; }
feed 0 & first=$!
feed 1 & second=$!
timeout 100 "$MOTLEY" train "${flags[@]}" "${from[@]}" --workers 2 --method async --stop-updates 100000 --stop-time 6s --out async &
run=$!
longer() { [ "$(stat -c %s async/spool-$1.bin 2>/dev/null || echo 0)" -gt "$2" ]; }
until_ready longer 0 1000
until_ready longer 1 1000
kill -9 $second
kill -9 $broker
wait $broker $second 2>/dev/null
sleep 1.5
before=$(stat -c %s async/spool-0.bin)
start_broker
until_ready longer 0 "$before"
wait $run || fail "a run whose broker died"
kill -9 $first
wait $first 2>/dev/null
claim "a broker that was killed is found again, and all is counted" adds_up async
claim "and was shown as stalled meanwhile" [ "$(figure async stalls)" -ge 1 ]

# ---- More devices than select has room for (three files of libmosquitto each, and 1024 in all).
"$MOTLEY" stream held.csv --to "mqtt://127.0.0.1:$port/many" --devices 400 --count 2 --json >many.json || fail "400 devices"
claim "400 devices send" [ "$(grep -c '"records": 2' many.json)" = 400 ]
says "more devices than files may be open are refused" 2 "they need up to 2064 open files" bash -c 'ulimit -n 500; exec "$@"' - "$MOTLEY" stream held.csv --to "mqtt://127.0.0.1:$port/many" --devices 400 --count 2

# ---- A checkpoint that is due by the clock is written also where no further sample comes.
timeout 60 "$MOTLEY" train --data held.csv --model softmax --optimizer-lr 1e-4 --batch 8 --workers 1 --checkpoint-every 1s --stop-updates 1000 \
    --source-from "mqtt://127.0.0.1:$port/dried" --out dried --quiet 2>dried.log &
run=$!
until_ready grep -q "[[:space:]]dried (QoS 1)" broker.log
head -n 20 whole-0.csv | mosquitto_pub -p $port -q 1 -l -t dried
until_ready test -s dried/checkpoint.bin
kill -9 $(pgrep -P $run)
wait $run 2>/dev/null
claim "a worker whose source dries up has the checkpoint that was due" test -s dried/checkpoint.bin

# ---- Asking for the address of a host can take long; Ctrl-C does not wait for it.
cat >slow.c <<'END'
#include <netdb.h>
#include <string.h>
#include <unistd.h>
int getaddrinfo(const char *host, const char *port, const struct addrinfo *want, struct addrinfo **found)
{
    (void)port, (void)found;
    if (want->ai_flags & AI_NUMERICHOST) return EAI_NONAME;
    if (strcmp(host, "slow.invalid") == 0) sleep(30);
    return EAI_AGAIN;
}
END
if [[ $(ldd "$MOTLEY") != *san* ]] && ${MOTLEY_CC:-cc} -shared -fPIC -o slow.so slow.c 2>/dev/null; then
    LD_PRELOAD=$box/slow.so timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-updates 1 --source-from mqtt://slow.invalid/t >slow.log 2>&1 &
    run=$!
    sleep 2
    kill -INT $(pgrep -P $run)
    before=$SECONDS
    wait $run
    claim "Ctrl-C does not wait for an address" [ $? = 130 -a $((SECONDS - before)) -lt 10 ]
fi

# ---- What is wrong is said.
tls=(--workers 1 --stop-time 20s --source-from "mqtts://ann@localhost:$tls_port/x")
says "a wrong password ends the run" 2 "check the user in the address" env MOTLEY_PASSWORD=wrong timeout 30 "$MOTLEY" train "${flags[@]}" "${tls[@]}" --source-ca broker.crt
says "a certificate that nobody signed ends the run" 2 "certificate is not trusted" env MOTLEY_PASSWORD=secret timeout 30 "$MOTLEY" train "${flags[@]}" "${tls[@]}" --source-ca other.crt
says "a file of certificates must be there" 2 "none.crt" timeout 30 "$MOTLEY" train "${flags[@]}" "${tls[@]}" --source-ca none.crt
says "a password in an address is refused" 2 "expected no password" timeout 30 "$MOTLEY" train --workers 1 --stop-updates 1 --source-from mqtt://ann:secret@h/t
says "certificates need TLS" 2 "begins with mqtts://" timeout 30 "$MOTLEY" train --workers 1 --stop-updates 1 --source-from mqtt://h/t --source-ca broker.crt
says "a broker that is not there is waited for" 0 "check host and port" timeout 30 "$MOTLEY" train --data held.csv --workers 1 --stop-time 2s --source-from mqtt://127.0.0.1:1/t
says "a host that is not there is waited for" 0 "check the name of the host" timeout 60 "$MOTLEY" train --data held.csv --workers 1 --stop-time 2s --source-from mqtt://none.invalid/t
(until_ready grep -q "[[:space:]]full (QoS 1)" broker.log; for _ in 1 2 3; do mosquitto_pub -p $port -q 1 -l -t full <whole-0.csv; done) &
says "a full disk under the spool is waited for" 0 "it goes on when there is room" \
    bash -c 'trap "" XFSZ; ulimit -f 64; exec timeout 60 "$@"' - "$MOTLEY" train --data held.csv --model softmax --batch 8 --workers 1 --stop-time 4s --source-from "mqtt://127.0.0.1:$port/full" --out full
[ $failures -eq 0 ]
