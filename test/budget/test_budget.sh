#!/bin/bash
# test_budget.sh [--record] [PART] -- what fixed small runs cost, in instructions, which are the same however busy
# the machine is. Each figure must be within 5 % of the one in figures.txt, upward and downward: what became
# cheaper is recorded, too, or else the gain could be lost again unseen.
#   --record   writes what is measured into figures.txt. Such a change goes into a commit that says why.
#   PART       only figures whose names contain it
# A figure is a difference of two runs, so that starting the program, reading data and evaluating cancel out.
# Instructions depend on the compiler: anywhere but where the figures were recorded, the test is skipped.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
figures=$here/figures.txt
motley=${MOTLEY:-build/motley} build=${MOTLEY_BUILD:-build}
record=false
[ "${1:-}" = --record ] && { record=true; shift; }
part=${1:-}

skip() { echo "skipped: $*"; exit 77; }
command -v valgrind >/dev/null || skip "valgrind is not installed: tools/setup test"
[ -x "$motley" ] || skip "there is no $motley"
setting() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt" 2>/dev/null; }
# Figures without a build type would be nobody's, and the test skipped everywhere.
[ -n "$(setting CMAKE_BUILD_TYPE)" ] || { echo "$build/CMakeCache.txt names no build type: set MOTLEY_BUILD"; exit 2; }
machine="$("${MOTLEY_CC:-cc}" --version | head -n 1 | cut -d" " -f2-), $(uname -m), $(setting CMAKE_BUILD_TYPE)$(setting CMAKE_C_FLAGS)"
known=$(sed -n 's/^# of: //p' "$figures" 2>/dev/null)
if [ "$machine" != "$known" ]; then
    $record || skip "the figures are of '$known', this is '$machine'"
    [ -z "$part" ] || { echo "the other figures are of '$known', this is '$machine': record all of them"; exit 2; }
fi

box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
# Valgrind would read 11 MB of debug information at every start.
strip -o "$box/motley" "$motley" && motley=$box/motley
export MOTLEY_KERNELS=generic MOTLEY_STORE=$box/store
# The C library, too, is to take the same way on every processor.
export GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM,-AVX_Fast_Unaligned_Load

# count NAME COMMAND...: instructions of the command and its children into NAME.n, what it prints into NAME.out
count() {
    local name=$1
    shift
    valgrind --tool=cachegrind --cache-sim=no --branch-sim=no --vex-guest-chase=no --cachegrind-out-file=/dev/null \
        --log-file="$box/$name.%p.log" "$@" >"$box/$name.out" 2>"$box/$name.err" || return 1
    cat "$box/$name".*.log | awk '/I +refs:/ { gsub(/,/, "", $NF); sum += $NF } END { printf "%.0f", sum }' >"$box/$name.n"
}
field() { awk -v key="\"$2\":" '$1 == key { gsub(/[^0-9]/, "", $2); print $2; exit }' "$box/$1.out"; }

# between NAME UNIT FIELD FROM TO FLAGS...: a simulated run with @ replaced by FROM and by TO, and what one more of
# the summary's FIELD costs.
between() {
    local name=$1 unit=$2 of=$3 file=${1//\//-} from=$4 to=$5 at
    shift 5
    for at in "$from" "$to"; do
        count "$file-$at" "$motley" sim --sim-threads 1 --evaluate-every "1000000000 updates" --evaluate-train end \
            --quiet --json "${@//@/$at}" || { cat "$box/$file-$at.err"; echo "$name failed" >"$box/$file.wrong"; return; }
    done
    awk -v a="$(cat "$box/$file-$from.n")" -v b="$(cat "$box/$file-$to.n")" -v x="$(field "$file-$from" "$of")" \
        -v y="$(field "$file-$to" "$of")" -v name="$name" -v unit="$unit" \
        'BEGIN { printf "%-24s %12.0f  %s\n", name, (b - a) / (y - x), unit }' >"$box/$file.figure"
}

# whole NAME UNIT COMMAND...: all of a command
whole() {
    local name=$1 unit=$2 file=${1//\//-}
    shift 2
    count "$file" "$motley" "$@" || { cat "$box/$file.err"; echo "$name failed" >"$box/$file.wrong"; return; }
    printf '%-24s %12.0f  %s\n' "$name" "$(cat "$box/$file.n")" "$unit" >"$box/$file.figure"
}

# side_by_side COMMAND...: as many at a time as there are cores
side_by_side() {
    [[ $2 == *"$part"* ]] || return 0
    while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
    "$@" &
}
event() { side_by_side between "event/$1" "an event" events "$2" "$3" "${phantom[@]}" --method "$1" --stop-updates @ "${@:4}"; }
many() { side_by_side between "many/$1" "an event, 1,000 workers" events "$2" "$3" "${phantom[@]}" --workers 1000 --data synthetic \
    --data-size 20000 --batch 8 --method "$1" --stop-updates @ "${@:4}"; }
setup() { side_by_side between "setup/$1" "a worker more" workers 500 1000 "${phantom[@]}" --workers @ --data synthetic \
    --data-size 20000 --batch 8 --method "$1" --stop-updates 1 "${@:2}"; }
step() { side_by_side between "step/$1" "a step, batch $2" updates 20 60 --data digits --workers 1 --batch "$2" --stop-updates @ "${@:3}"; }

phantom=(--model phantom --model-parameters 10)
mixed=(--cluster '{workers: [{count: 12, speed: 1000/s, jitter: {name: lognormal, sigma: 0.3}}, {count: 8, speed: 200/s}]}')
faulty=(--cluster '{workers: 20, faults: {drop: 1%, crash: 0.05/s, restart_after: 1s}}')

# An event of each method: with a phantom of 10 parameters there is nothing but events.
for method in $("$motley" help method | awk '/^  [a-z]/ && !/motley/ { print $1 }'); do
    case $method in
    async | ringmaster | ringleader | ia2sgd | gasync) event "$method" 1000 4000 "${mixed[@]}" ;;
    *) event "$method" 60 240 "${mixed[@]}" ;;
    esac
done
side_by_side between event/faults "an event of async" events 1000 4000 "${phantom[@]}" --method async --stop-updates @ "${faulty[@]}"

# Nothing that happens at every event may take as long as there are workers, and nothing as long as their square.
many async 2000 6000
many ringmaster 2000 6000 --method-r 1500
many server 4 12
many coded 4 12
many crossover 4 12
setup server
setup coded
setup dpsgd
setup sgp
setup matcha
setup crossover

# A step of each model.
step softmax 32 --model softmax
step mlp 32 --model mlp --model-hidden '[64, 32]'
step logistic 32 --model logistic --data synthetic --data-classes 2
step least-squares 32 --model least-squares --data synthetic --data-task regression

# A partition, a study.
side_by_side whole partition "digits for 8 workers" partition digits --workers 8 --sim-threads 1 --quiet --out "$box/parts"
side_by_side whole study "2 methods, 2 seeds" compare --data digits --data-rows 400 --model softmax --workers 4 --methods allreduce,async --seeds 2 --jobs 1 \
    --stop-updates 20 --quiet --out "$box/study"
wait

if compgen -G "$box/*.wrong" >/dev/null; then
    cat "$box"/*.wrong
    exit 1
fi
cat "$box"/*.figure 2>/dev/null | sort >"$box/measured"
[ -s "$box/measured" ] || { echo "no figure has '$part' in its name"; exit 2; }
if $record; then
    { sed '/^#/!d; /^# of: /d' "$figures" 2>/dev/null; echo "# of: $machine"
        { cat "$box/measured"; sed '/^#/d' "$figures" 2>/dev/null; } | awk '!seen[$1]++' | sort; } >"$box/new"
    cp "$box/new" "$figures"
    cat "$box/measured"
    exit 0
fi
awk -v part="$part" '
    FNR == NR { if (!/^#/) was[$1] = $2; next }
    { is[$1] = $2; line[$1] = $0 }
    END {
        for (name in is) if (!(name in was)) { printf "FAIL %s: not recorded\n", name; bad++ }
            else {
                share = is[name] / was[name]
                if (share > 1.05 || share < 0.95) {
                    bad++
                    printf "FAIL %s (recorded: %.0f, %+.1f %%)\n", line[name], was[name], 100 * (share - 1)
                } else { good++; printf "ok   %s (%+.1f %%)\n", line[name], 100 * (share - 1) }
            }
        for (name in was) if (!(name in is) && index(name, part)) { printf "FAIL %s: recorded, but not measured\n", name; bad++ }
        if (bad) print "If that is wanted: test/budget/test_budget.sh --record, and say why in the commit."
        printf "%d passed, %d failed\n", good, bad
        exit bad > 0
    }' "$figures" "$box/measured" | sort -k 2
exit "${PIPESTATUS[0]}"
