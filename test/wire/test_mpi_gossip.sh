#!/bin/bash
# Gossip and local training over MPI: the simulator's bits and bytes with 2 to 8 ranks, odd and prime numbers too; weights that sum to the number of
# workers where nobody waits; one group is allreduce. MOTLEY_LONG=1 takes every method with every number of ranks.
. "$(dirname "$0")/mpi.sh"

flags=(--data digits --model mlp --model-hidden '[16]' --topology ring --evaluate-train end --quiet)
sent() { sed -n 's/^  "\(bytes_sent\|messages\)": /\1 /p' "$folder/$1/summary.json"; }
same() { # RANKS NAME METHOD FLAGS...
    local n=$1 run=$2-$1 method=$3
    shift 3
    "$motley" sim "${flags[@]}" --workers "$n" --method "$method" "$@" --stop-updates 30 --replace --out "$folder/$run-sim"
    "$motley" train "${flags[@]}" --workers "$n" --method "$method" "$@" --stop-updates 30 --ranks "$n" --replace --out "$folder/$run" 2>"$folder/err" || fail "$run"
    want "$run" model_hash "$(value "$run-sim" model_hash)"
    want "$run" updates 30
    clean
    echo "$run: the simulated model"
}
bytes() { # RANKS NAME MODELS: that a worker sends in 30 rounds of 1,210 parameters
    local total=$(($1 * 30 * $3 * 4 * 1210))
    [ "$(sent "$2-$1" | sed -n 's/^bytes_sent \([0-9]*\),*/\1/p')" = $total ] || fail "$2-$1 sent $(sent "$2-$1"), not $total bytes"
}
mass() { tail -n 1 "$folder/$1/metrics.jsonl" | grep -oE '"mass":[^,}]*' | cut -d: -f2; }

same 2 crossover '{name: crossover, segments: 3, cut: equal}'
bytes 2 crossover 1
same 3 localsgd '{name: localsgd, period: 4}' --optimizer-momentum 0.9
same 5 slowmo '{name: slowmo, period: 6}'
same 7 sgp sgp
bytes 7 sgp 1
same 3 one-group '{name: crossover, groups: 1}' --optimizer-momentum 0.9
"$motley" sim "${flags[@]}" --workers 3 --method allreduce --optimizer-momentum 0.9 --stop-updates 30 --out "$folder/sum"
want one-group-3 model_hash "$(value sum model_hash)"
if [ -n "${MOTLEY_LONG:-}" ]; then
    for n in 2 3 4 5 6 7 8; do
        same $n crossover '{name: crossover, segments: 18, cut: equal}'
        bytes $n crossover 1
        same $n authors '{name: crossover, peers: authors, segments: 1}'
        bytes $n authors 1
        same $n sgp sgp
        bytes $n sgp 1
        same $n osgp '{name: osgp, lag: 3}'
        same $n localsgd '{name: localsgd, period: 7, overlap: true}'
        same $n slowmo '{name: slowmo, beta: 0, alpha: 1, period: 7, overlap: true}'
        want slowmo-$n model_hash "$(value localsgd-$n model_hash)"
        same $n diloco '{name: diloco, period: 5}' --optimizer adamw
        same $n fedavg '{name: fedavg, steps: 2}'
        same $n dpsgd dpsgd
    done
    for n in 5 7; do
        same $n two-peers '{name: sgp, peers: 2}'
        bytes $n two-peers 2
    done
    same 6 groups '{name: crossover, groups: 3}'
    same 8 groups '{name: crossover, groups: 4, micro: 2}'
fi

# At their own pace: all end together. No weight is lost but what is in flight at the end.
for n in 2 5; do
    for method in adpsgd gosgd "{name: crossover, mode: loose, deadline: 50ms}"; do
        rm -rf "$folder/own"
        "$motley" train "${flags[@]}" --workers $n --method "$method" --stop-updates 60 --ranks $n --out "$folder/own" 2>"$folder/err" || fail "$method"
        want own ended_by updates
        updates=$(value own updates)
        [ "$updates" -ge 60 ] || fail "$method, $n ranks: $updates updates"
        clean
        [ "$method" = gosgd ] || continue
        awk -v mass="$(mass own)" 'BEGIN { exit !(mass > 0 && mass <= 1 + 1e-9) }' || fail "gosgd, $n ranks: mass $(mass own)"
    done
done
echo "adpsgd, gosgd and loose crossover end together"
