#!/bin/bash
# A rank that dies while the ranks are starting, at whatever moment, ends the run with code 4 and is named; Ctrl-C there gives 130.
# Nobody is left behind, and nobody waits for ever.
. "$(dirname "$0")/mpi.sh"
flags=(--data digits --model mlp --workers 4 --method allreduce --stop-updates none --stop-time 60s --evaluate-every '500 updates' --evaluate-train end --quiet)

begin() { # RUN
    timeout -k 1 200 "$motley" train "${flags[@]}" --ranks 4 --out "$folder/$1" 2>"$folder/err" &
    pid=$!
}
ends() { # RUN CODE
    local code=0
    wait $pid || code=$?
    [ $code = "$2" ] || fail "$1 ended with $code, not $2"
    none_left "$1"
    clean
    if grep -vE '^motley: ' "$folder/err"; then fail "$1: others than motley complain under --quiet"; fi
}
await_rank() { # RUN RANK: leaves `target`, as soon as there is such a process
    local i
    for i in $(seq 1 2000); do
        target=$(rank_pid "$1" "$2")
        [ -z "$target" ] || return 0
        sleep 0.005
    done
    fail "$1: rank $2 did not begin"
}

# From the first moment of its process to some time after the run has begun; of all moments, as many as there is time for.
moments=(0 0.05 0.1 0.2 0.3 0.5 0.8)
[ $asan = no ] || moments=(0 0.3 1)
[ -z "${MOTLEY_LONG:-}" ] || mapfile -t moments < <(seq 0 0.05 1.5)
rank=0
for delay in "${moments[@]}"; do
    run=killed-$rank-after-$delay
    begin $run
    await_rank $run $rank
    sleep $delay
    kill -KILL "$target"
    ends $run 4
    grep -qE "(rank|worker) $rank was lost" "$folder/err" || fail "$run: who was lost is not said"
    echo "$run: $(tail -n 1 "$folder/err")"
    rank=$(((rank + 1) % 4))
done

await_listener() { # RUN: leaves `listener`, motley under `timeout`, as soon as it catches SIGINT
    local i
    for i in $(seq 1 2000); do
        listener=$(pgrep -P $pid | head -n 1 || true)
        ! catches "${listener:-0}" INT || return 0
        sleep 0.005
    done
    fail "$1: nobody listens to Ctrl-C"
}
for delay in "${moments[@]}"; do
    run=interrupted-after-$delay
    begin $run
    await_listener $run
    sleep $delay
    kill -INT "$listener"
    ends $run 130
done
echo "Ctrl-C ends it with 130 from the start"

# What a run says of its own failure is all there is to say.
code=0
"$motley" train --ranks 2 --workers 2 --model softmax --stop-updates 5 --quiet --out /sys/motley 2>"$folder/err" || code=$?
[ $code -eq 1 ] && [ "$(wc -l <"$folder/err")" -eq 1 ] && grep -q 'cannot make folder' "$folder/err" || fail "a folder that cannot be made gives $code"
echo "a run that fails by itself says so in one line"

# Dead before its first instruction, a rank never says that it is there: silence tells, after 8 s.
if [ $asan = no ]; then # which must be loaded before anything else
    cat >"$folder/doom.c" <<'END'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
__attribute__((constructor)) static void die(void)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (rank && strcmp(rank, "2") == 0) kill(getpid(), SIGKILL);
}
END
    "${MOTLEY_CC:-cc}" -shared -fPIC -o "$folder/doom.so" "$folder/doom.c"
    LD_PRELOAD=$folder/doom.so begin stillborn
    ends stillborn 4
    grep -q 'rank 2 was lost before the run began: it did not start' "$folder/err" || fail "stillborn: who was lost is not said"
    echo "a rank that never begins is named too"
fi
