#!/bin/bash
# Pulls the cable of live runs: kill -9 of every process, or Ctrl-C, at any moment, then --resume, again and again. The end of a
# synchronous method must be that of a run that nobody disturbed, which is the simulator's: on threads and over ranks.
. "$(dirname "$0")/mpi.sh"

export TMPDIR=$folder # what a killed launcher leaves goes with it
seed=${MOTLEY_SEED:-$RANDOM}
echo "seed $seed"
RANDOM=$seed
kills=2
[ -z "${MOTLEY_LONG:-}" ] || kills=12
[ $asan = no ] || kills=1
# Jobs of a millisecond or two, emulated: a run lasts long enough to be killed in the middle, on any machine.
flags=(--cluster '{workers: [{count: 3, job_time: 1ms}, {job_time: 2ms}], network: {bandwidth: 10Gbit, latency: 10us}}' --stop-updates 400
    --data digits --model softmax --optimizer-momentum 0.9 --optimizer-lr 0.01 --evaluate-every '200 updates' --checkpoint-every '20 updates' --quiet)

# pull RUN: waits for the next checkpoint (or, after the first, for nothing one time in four) and a little longer; then kills all its
# processes, or presses Ctrl-C. False: it had ended.
pull() {
    local was
    was=$(stamp "$1")
    if [ -z "$was" ] || [ $((RANDOM % 4)) -gt 0 ]; then
        while [ "$(stamp "$1")" = "$was" ] && kill -0 $pid 2>/dev/null; do sleep 0.01; done
    fi
    sleep "0.$(printf '%03d' $((RANDOM % 150)))"
    kill -0 $pid 2>/dev/null || return 1
    if [ $((RANDOM % 3)) -eq 0 ]; then kill -INT $pid 2>/dev/null || true
    else kill -KILL $pid $(ranks_of "$1") 2>/dev/null || true; fi
    wait $pid 2>/dev/null || true
    none_left "$1"
}
stamp() { stat -c %i.%y "$folder/$1/checkpoint.bin" 2>/dev/null || true; }

survives() { # NAME ARGUMENTS...
    local name=$1 how run pulled
    shift
    "$motley" sim "${flags[@]}" "$@" --out "$folder/$name-sim" >/dev/null
    for how in threads ranks; do
        run=$name-$how pulled=0
        local command=("$motley" train "${flags[@]}" "$@" --emulate)
        [ $how = threads ] || command+=(--ranks 4)
        for _ in $(seq 1 20); do # on a busy machine the run may end before this script gets a core to kill it
            rm -rf "${folder:?}/$run"
            "${command[@]}" --out "$folder/$run" >/dev/null 2>"$folder/err" &
            pid=$!
            while [ $pulled -lt $kills ] && pull "$run"; do
                pulled=$((pulled + 1))
                "${command[@]}" --resume --out "$folder/$run" >/dev/null 2>"$folder/err" &
                pid=$!
            done
            wait $pid || fail "$run: exit code $?"
            [ $pulled -eq 0 ] || break
        done
        [ $pulled -gt 0 ] || fail "$run ended 20 times before it could be killed"
        want "$run" model_hash "$(value "$name-sim" model_hash)"
        [ -z "$(find "$folder/$run" -name '*.tmp*')" ] || fail "$run left a temporary file"
        clean
        echo "ok   $run: stopped $pulled times"
    done
}

survives dpsgd --method dpsgd --topology ring --method-period 3
if [ $asan = no ]; then # a sanitizer has seen the way of a server and that of models that differ
    survives allreduce --method allreduce
    survives server --method server
    survives packed --method server --compress qsgd
    survives matcha --method matcha --topology complete --method-period 2
    survives uncoded --method coded --code uncoded --method-shuffle rotate-worker --method-period 3
fi
survives residuals --method server --compress topk --compress-ratio 5%
survives frc-shuffled --method coded --code frc --code-stragglers 1 --method-shuffle random --method-period 2
