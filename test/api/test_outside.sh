#!/bin/bash
# A method, a model and a program that see only what is installed, built in another folder: with CMake's
# find_package, and with pkg-config. The shared library exports what the headers declare, and nothing else.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAIL $*"; exit 1; }
prefix=$folder/prefix
"$CMAKE" --install "$MOTLEY_BUILD" --prefix "$prefix" >"$folder/log" || { cat "$folder/log"; exit 1; }
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name motley.pc)")
export PKG_CONFIG_PATH
lib=$(dirname "$PKG_CONFIG_PATH")
cp -r "$MOTLEY_SOURCE/test/api/outside" "$folder/project"
cp "$MOTLEY_SOURCE/examples/method/clipped.c" "$folder/project/method.c"
cd "$folder/project"

# Linked with the sanitizers of the build, as the library is.
sanitize=$(grep '^CMAKE_C_FLAGS:' "$MOTLEY_BUILD/CMakeCache.txt" | grep -o -- '-fsanitize=[a-z,]*' || true)
quietly() { "$@" >>"$folder/log" 2>&1 || { cat "$folder/log"; fail "$1"; }; }
quietly "$CMAKE" -S . -B build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$MOTLEY_CC" \
    -DCMAKE_C_FLAGS="-std=c17 -Wall -Wextra -Wpedantic -Werror $sanitize"
quietly "$CMAKE" --build build
build/outside || fail "the program built with find_package"
echo "ok   a project with find_package"

# shellcheck disable=SC2046
quietly "$MOTLEY_CC" -std=c17 -Wall -Wextra -Werror $sanitize ./*.c -o plain $(pkg-config --cflags --libs motley) -lm
LD_LIBRARY_PATH=$lib ./plain >"$folder/said" || { cat "$folder/said"; fail "the program built with pkg-config"; }
echo "ok   a program with pkg-config"

# Functions that headers mark MOT_API, against those that the library gives to others.
grep -hv '^#' "$prefix"/include/motley/*.h | tr '\n' ' ' | grep -o 'MOT_API [^;]*;' |
    sed -E 's/MOT_PRINTF\([^)]*\)//; s/^[^(]*[ *]([a-z_0-9]+)\(.*/\1/' | sort -u >"$folder/declared"
nm -D --defined-only "$lib/libmotley.so" | awk '{ print $3 }' | grep -v '^__\|^_init$\|^_fini$' | sort -u >"$folder/exported"
[ "$(wc -l <"$folder/declared")" -ge 50 ] || fail "only $(wc -l <"$folder/declared") declarations were found"
difference=$(diff "$folder/declared" "$folder/exported") ||
    fail "headers (<) and the library (>) differ: $difference"
echo "ok   the library exports the $(wc -l <"$folder/exported") functions that its headers declare"
