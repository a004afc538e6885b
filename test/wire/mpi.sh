# For the tests over MPI: sourced by test_mpi*.sh. Leaves `motley`, `folder`, and functions to start, hit and look.
set -euo pipefail
motley=${MOTLEY:?names the program}
source=${MOTLEY_SOURCE:?names the tree}
. "$source/test/catches.sh"
. "$source/test/built.sh"
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; [ ! -s "${folder:-}/err" ] || tail -n 20 "$folder/err"; exit 1; }
command -v mpirun >/dev/null || skip "mpirun is not installed: tools/setup build"
built_with mpi || skip "this motley is built without Open MPI"
libraries=$(ldd "$motley")
[[ $libraries != *libtsan* ]] || skip "MPI libraries are no subject of ThreadSanitizer's"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Under AddressSanitizer one run looks for leaks (look_for_leaks): telling ours from Open MPI's takes stacks that cost much.
[[ $libraries == *libasan* ]] && asan=yes || asan=no
plain_asan=${ASAN_OPTIONS:-}
export ASAN_OPTIONS="$plain_asan:detect_leaks=0"
look_for_leaks() { # COMMAND...
    ASAN_OPTIONS="$plain_asan:fast_unwind_on_malloc=0" LSAN_OPTIONS="suppressions=$source/test/wire/mpi.supp:print_suppressions=0" "$@"
}
# Four workers that mostly sleep, for runs that wait for a loss: their computing is not looked at.
unhurried=(--emulate --cluster '{workers: [{count: 4, speed: 2000/s}]}')
mpirun=(mpirun -q --oversubscribe)
[ "$(id -u)" -ne 0 ] || mpirun+=(--allow-run-as-root)

value() { sed -n 's/^  "'"$2"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$folder/$1/summary.json"; } # RUN KEY
want() { # RUN KEY VALUE
    [ -s "$folder/$1/summary.json" ] || fail "$1 has no summary"
    [ "$(value "$1" "$2")" = "$3" ] || fail "$1: $2 is '$(value "$1" "$2")', not '$3'"
}
want_peer() { # RUN ID LOST_BY
    local peer
    peer=$(sed -n '/^  "peer": {/,/}/p' "$folder/$1/summary.json" | tr -d ' \n')
    [[ $peer == *'"id":'$2,* && $peer == *'"lost_by":"'$3'"'* ]] || fail "$1: the lost peer is '$peer', not $2 by $3"
}
clean() { # what the ranks of $folder/err said
    if grep -E 'ERROR: (Address|Leak)Sanitizer|assert' "$folder/err"; then fail "a sanitizer or an assertion complains"; fi
}
ranks_of() { pgrep -f "(train|profile).*--out $folder/$1( |\$)" || true; } # RUN: processes that run it
rank_pid() { # RUN RANK
    local pid
    for pid in $(ranks_of "$1"); do
        if grep -qzx "OMPI_COMM_WORLD_RANK=$2" "/proc/$pid/environ" 2>/dev/null; then echo "$pid"; return; fi
    done
}
none_left() { # RUN
    local i
    for i in $(seq 1 500); do
        [ -n "$(ranks_of "$1")" ] || return 0
        sleep 0.02
    done
    fail "$1 left processes behind: $(ranks_of "$1" | tr '\n' ' ')"
}
await_more_checkpoints() { # RUN COUNT: that many are written from now on
    local i n=0 now last
    last=$(stat -c %i.%y "$folder/$1/checkpoint.bin")
    for i in $(seq 1 4000); do
        now=$(stat -c %i.%y "$folder/$1/checkpoint.bin" 2>/dev/null || echo "$last")
        if [ "$now" != "$last" ]; then n=$((n + 1)); fi
        last=$now
        [ $n -lt "$2" ] || return 0
        sleep 0.02
    done
    fail "$1 wrote $n checkpoints, not $2 more"
}
await_checkpoint() { # RUN
    local i
    for i in $(seq 1 4000); do
        [ ! -s "$folder/$1/checkpoint.bin" ] || return 0
        sleep 0.02
    done
    fail "$1 wrote no checkpoint"
}
