#!/bin/bash
# A profile over MPI is a cluster that the simulator takes; a lost rank or Ctrl-C leaves no file.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden 1024 --workers 4) # bodies that take longer than a message without one
numbers() { grep -o '"'"$2"'": *[^],} ]*' "$folder/$1" | sed 's/.*: *//'; } # FILE KEY
above_0() { # FILE KEY COUNT
    numbers "$1" "$2" | awk -v n="$3" '!($1 + 0 > 0) { bad = 1 } END { exit bad || NR != n }' || fail "$1: $2 is $(numbers "$1" "$2" | tr '\n' ' ')"
}
check_cluster() { # NAME: the file is a cluster of four measured workers
    local groups
    "$motley" cluster show "$folder/$1.yaml" --json >"$folder/$1.json" || fail "$1 is no cluster"
    [ "$(numbers "$1.json" workers)" = 4 ] || fail "$1 has $(numbers "$1.json" workers) workers"
    groups=$(numbers "$1.json" count | wc -l)
    above_0 "$1.json" speed "$groups"
    above_0 "$1.json" up_bytes_per_s $((groups + 1)) # and the server's
    above_0 "$1.json" down_bytes_per_s $((groups + 1))
    # A pair's latency is split between its ends: on a busy machine one end's part may come to nothing, not all of them.
    numbers "$1.json" latency_s | awk '{ sum += $1 } END { exit !(sum > 0) }' || fail "$1: links without latency"
    "$motley" sim "${flags[@]}" --cluster "$folder/$1.yaml" --stop-updates 5 --evaluate-train end --quiet || fail "$1 cannot be simulated"
}

"${mpirun[@]}" -n 4 "$motley" profile "${flags[@]}" --seconds 0.2 --out "$folder/table.yaml" >"$folder/table" 2>"$folder/err" || fail "mpirun"
clean
if grep -v -e "4 workers share [0-9]* cores" -e "this machine is busy" "$folder/err"; then fail "somebody complains"; fi
cores=$(getconf _NPROCESSORS_ONLN)
[ "$(grep -c 'share' "$folder/err" || true)" = $((cores < 4)) ] || fail "4 workers on $cores cores: not said, or said for no reason"
[ "$(wc -l <"$folder/table")" = 17 ] || fail "not one rank prints: $(cat "$folder/table")" # a line for each of 4 workers and 6 pairs, one of costs
check_cluster table

# With a server, even one that would have a rank of its own, there are the same four nodes.
"$motley" profile "${flags[@]}" --method server --mpi-place own --seconds 0.2 --ranks 4 --json --out "$folder/server.yaml" \
    >"$folder/figures" 2>"$folder/err" || fail "--ranks"
clean
above_0 figures samples_per_s 4
above_0 figures latency_s 12
check_cluster server
if [ $asan = yes ]; then
    look_for_leaks "$motley" profile --data digits --model softmax --workers 2 --seconds 0.1 --ranks 2 --quiet 2>"$folder/err" || fail "leaks"
    clean
fi
echo "measured by mpirun and with --ranks, and simulated"

code=0; "$motley" profile "${flags[@]}" --ranks 3 2>"$folder/err" || code=$?
[ $code = 2 ] || fail "--ranks 3 for 4 workers ended with $code"
grep -q '3 ranks for 4 workers' "$folder/err" || fail "what is wrong with 3 ranks is not said"

begin() { # NAME
    local i rank at
    "$motley" profile "${flags[@]}" --seconds 60 --ranks 4 --quiet --out "$folder/$1" 2>"$folder/err" &
    pid=$!
    for rank in 0 1 2 3; do
        for i in $(seq 1 2000); do
            at=$(rank_pid "$1" $rank)
            # it computes, or is about to
            if [ -n "$at" ] && catches "$at" USR1; then continue 2; fi
            sleep 0.02
        done
        fail "$1: rank $rank did not begin"
    done
}
ends() { # NAME CODE
    code=0
    wait $pid || code=$?
    [ $code = "$2" ] || fail "$1 ended with $code, not $2"
    [ ! -e "$folder/$1" ] || fail "$1 wrote a file"
    none_left "$1"
    clean
}
begin killed
kill -KILL "$(rank_pid killed 2)"
ends killed 4
grep -q 'rank 2 was lost' "$folder/err" || fail "who was lost is not said"
begin interrupted
kill -INT $pid
ends interrupted 130
# One rank that is asked to end asks all others.
begin single
kill -TERM "$(rank_pid single 3)"
ends single 130
echo "a lost rank and Ctrl-C end it without a file"
