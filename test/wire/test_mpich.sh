#!/bin/bash
# Built against MPICH, two ranks give the simulator's bits. Only one file of motley knows MPI, so only that is built anew.
set -euo pipefail
motley=${MOTLEY:?names the program}
build=${MOTLEY_BUILD:?} source=${MOTLEY_SOURCE:?}
skip() { echo "skipped: $*"; exit 77; }
command -v mpicc.mpich >/dev/null && command -v mpirun.mpich >/dev/null || skip "MPICH is not installed: tools/setup test"
libraries=$(ldd "$motley")
[[ $libraries != *lib[at]san* ]] || skip "MPICH's own memory is no subject of the sanitizers"
ls "$build"/CMakeFiles/motley.dir/cli/*.o >/dev/null 2>&1 || skip "the program's objects are not at hand"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
library=$(readelf -d "$(mpicc.mpich -print-file-name=libmpich.so)" | sed -n 's/.*soname: \[\(.*\)\]$/\1/p') # as CMake asks
mpicc.mpich -std=gnu17 -O2 -Wall -Wextra -D_GNU_SOURCE -DMOTLEY_MPI="\"$library\"" -I"$source/include" -I"$source/src" -c "$source/src/wire/mpi.c" -o "$folder/mpi.o"
"${MOTLEY_CC:-cc}" -o "$folder/motley" "$build"/CMakeFiles/motley.dir/cli/*.o "$folder/mpi.o" "$build/libmotley.a" -lyaml -ljansson -lxxhash -lz -lm -lpthread
hash_of() { sed -n 's/.*"model_hash": "\([0-9a-f]*\)".*/\1/p'; }
for method in allreduce server; do
    flags=(--data digits --model mlp --workers 2 --stop-updates 200 --method $method --evaluate-train end --quiet --json)
    want=$("$motley" sim "${flags[@]}" | hash_of)
    got=$(mpirun.mpich -n 2 "$folder/motley" train "${flags[@]}" | hash_of)
    [ -n "$want" ] && [ "$got" = "$want" ] || { echo "FAIL: $method: $got under MPICH, $want simulated"; exit 1; }
    got=$("$folder/motley" train "${flags[@]}" --ranks 2 | hash_of)
    [ "$got" = "$want" ] || { echo "FAIL: $method: $got with --ranks under MPICH, $want simulated"; exit 1; }
done
echo "MPICH gives the same models"
