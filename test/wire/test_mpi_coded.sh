#!/bin/bash
# Gradient coding over ranks: the simulator's model although two ranks are really slowed, and although one is killed.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --workers 4 --method coded --code frc --code-stragglers 1 --evaluate-train end
    --checkpoint-every '20 updates' --quiet)
updates=1500
[ $asan = no ] || updates=1000 # enough that most are made after the ranks were slowed, on a busy machine too

"$motley" sim "${flags[@]}" --stop-updates $updates --out "$folder/sim" >/dev/null
model=$(value sim model_hash)
[ -n "$model" ] || fail "the simulator leaves no model"

updates_of() { # RUN WORKER: gradients of it that went into an update
    python3 - "$folder/$1/summary.json" "$2" <<'EOF'
import json, sys
print(json.load(open(sys.argv[1]))["worker"][int(sys.argv[2])]["updates"])
EOF
}

# Ranks 1 and 2 sleep nine tenths of the time. Whoever of a group answers first serves, so rank 3 does most of what
# rank 2, whose role is lower, would do. On a busy machine this script may leave them awake for too long: then once more.
for _ in 1 2 3 4 5; do
    rm -rf "$folder/slow"
    "$motley" train "${flags[@]}" --stop-updates $updates --ranks 4 --out "$folder/slow" 2>"$folder/err" &
    pid=$!
    await_checkpoint slow
    slow="$(rank_pid slow 1) $(rank_pid slow 2)"
    while [ -d "/proc/$pid" ] && [ -d "/proc/${slow##* }" ]; do
        kill -STOP $slow 2>/dev/null || break
        sleep 0.2
        kill -CONT $slow 2>/dev/null || break
        sleep 0.02
    done
    wait $pid || fail "a run with slow ranks ends with $?"
    want slow model_hash "$model"
    want slow updates $updates
    none_left slow
    clean
    [ "$(updates_of slow 3)" -le "$(updates_of slow 2)" ] || break
done
[ "$(updates_of slow 3)" -gt "$(updates_of slow 2)" ] || fail "rank 2 sleeps, and serves as often as rank 3, five times"
echo "two ranks slowed: they served $(updates_of slow 1) and $(updates_of slow 2) of $updates updates"

# The rows move after every third round.
"$motley" train "${flags[@]}" --stop-updates $updates --method-shuffle random --method-period 3 --ranks 4 \
    --out "$folder/shuffled" 2>"$folder/err" || fail "a run with shuffles ends with $?"
want shuffled model_hash "$model"
clean
echo "rows moved, and the model is the same"

# Rows are under way at any moment; what the killed rank held comes from the server.
"$motley" train "${flags[@]}" --stop-updates $updates --method-shuffle random --ranks 4 --out "$folder/killed" 2>"$folder/err" &
pid=$!
await_checkpoint killed
kill -KILL "$(rank_pid killed 2)"
wait $pid || fail "a run with a rank killed ends with $?"
want killed model_hash "$model"
grep -q '"workers_lost"' "$folder/killed/summary.json" || fail "the killed rank is not noted"
none_left killed
clean
echo "one rank killed, and the model is the same"
