#!/bin/bash
# server and async go on without a worker that dies or falls silent, and are not confused when it wakes.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --workers 4 --stop-updates none --evaluate-train end --checkpoint-every '20 updates' --quiet)
recovery=("${mpirun[@]}" --enable-recovery)

"${recovery[@]}" -n 4 "$motley" train "${flags[@]}" --method server --stop-time 3s --out "$folder/server" 2>"$folder/err" &
pid=$!
await_checkpoint server
kill -KILL "$(rank_pid server 2)"
wait $pid || fail "server did not survive the death of a worker"
want server status ok
grep -q '"workers_lost"' "$folder/server/summary.json" || fail "server: the lost worker is not noted"
none_left server
clean
echo "server survived, $(value server updates) updates"

"$motley" train "${flags[@]}" --method async --optimizer-lr 0.01 --stop-time 12s --ranks 4 --out "$folder/async" 2>"$folder/err" &
pid=$!
await_checkpoint async
sleeper=$(rank_pid async 3)
kill -STOP "$sleeper"
sleep 9 # silence is taken for loss after 8 s at the most, however busy the machine is
kill -CONT "$sleeper"
for i in $(seq 1 100); do
    [ -d "/proc/$sleeper" ] || break
    sleep 0.02
done
[ ! -d "/proc/$sleeper" ] || fail "a rank that was given up and woke does not leave"
wait $pid || fail "async did not survive the silence of a worker"
want async status ok
grep -q '"workers_lost"' "$folder/async/summary.json" || fail "async: the lost worker is not noted"
none_left async
clean
echo "async survived, $(value async updates) updates"
