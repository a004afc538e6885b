#!/bin/bash
# What is installed can be used: headers, both libraries, pkg-config, CMake's find_package, man pages.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix
"$CMAKE" --install "$MOTLEY_BUILD" --prefix "$prefix" >"$folder/log"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name motley.pc)")
export PKG_CONFIG_PATH
lib=$(dirname "$PKG_CONFIG_PATH")

# Linked with the sanitizers of the build, as the library is.
sanitize=$(grep '^CMAKE_C_FLAGS:' "$MOTLEY_BUILD/CMakeCache.txt" | grep -o -- '-fsanitize=[a-z,]*' || true)
cc() { "$MOTLEY_CC" -std=c17 -Wall -Wextra -Werror $sanitize "$@"; }

cat >"$folder/use.c" <<'C'
#include <motley/method.h>
#include <motley/model.h>
#include <motley/motley.h>
#include <motley/status.h>
#include <stdio.h>
int main(int count, char **arguments)
{
    struct mot_run_options o = { .size = sizeof(o), .experiment = arguments[count - 1] };
    struct mot_run *run;
    if (count > 1 && mot_run_open(&o, &run) == MOT_OK) mot_run_close(run); /* brings all of the library in */
    mot_fail(MOT_EDATA, "row %d", 3);
    return printf("%s: %s\n", mot_status_name(MOT_EDIVERGED), mot_error()) < 0;
}
C
expect() { # CLAIM PROGRAM
    local said
    said=$("$2")
    [ "$said" = "diverged: row 3" ] || { echo "FAIL $1: it said '$said'"; exit 1; }
    echo "ok   $1"
}

# shellcheck disable=SC2046
cc "$folder/use.c" -o "$folder/shared" $(pkg-config --cflags --libs motley)
readelf -d "$folder/shared" | grep 'NEEDED.*libmotley\.so\.0' >/dev/null || { echo "FAIL: not linked with libmotley.so.0"; exit 1; }
LD_LIBRARY_PATH=$lib expect "a program with the shared library" "$folder/shared"

# shellcheck disable=SC2046
cc "$folder/use.c" -o "$folder/static" $(pkg-config --cflags motley) "$lib/libmotley.a" $(pkg-config --static --libs motley | sed 's/-lmotley//')
if readelf -d "$folder/static" | grep 'libmotley' >/dev/null; then echo "FAIL: the static program needs libmotley.so"; exit 1; fi
expect "a program with the static library" "$folder/static"

# Whoever links it statically needs no library that is loaded on demand.
if [ -z "$sanitize" ]; then
    # shellcheck disable=SC2046
    cc -static "$folder/use.c" -o "$folder/all_static" $(pkg-config --static --cflags --libs motley)
    expect "a program that is static altogether" "$folder/all_static"
fi

mkdir "$folder/project"
cat >"$folder/project/CMakeLists.txt" <<'C'
cmake_minimum_required(VERSION 3.22)
project(use C)
find_package(motley 0.1 REQUIRED)
add_executable(use ../use.c)
target_link_libraries(use PRIVATE motley::motley)
C
"$CMAKE" -G Ninja -S "$folder/project" -B "$folder/project/build" -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$MOTLEY_CC" -DCMAKE_C_FLAGS="$sanitize" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
"$CMAKE" --build "$folder/project/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
expect "a program with find_package" "$folder/project/build/use"

# Pages are installed with what they link to.
doc=$prefix/share/doc/motley
while IFS=: read -r page link; do
    [ -e "$(dirname "$page")/$link" ] || { echo "FAIL ${page#"$doc/"} links to $link, which is not installed"; exit 1; }
done < <(find "$doc" -name '*.md' -exec grep -Ho '](\([^)#]*\)' {} + | sed 's/:](/:/' | grep -v ':$\|:https\?:')
[ -s "$doc/docs/writing-a-method.md" ] || { echo "FAIL: docs/ is not installed"; exit 1; }
echo "ok   the pages, whose links lead somewhere"

# A method of one's own, as docs/writing-a-method.md has it, needs only what is installed.
if [ -e "$prefix/include/motley/motley.h" ]; then
    # shellcheck disable=SC2046
    cc "$doc"/examples/method/*.c -o "$folder/method" $(pkg-config --cflags --libs motley)
    LD_LIBRARY_PATH=$lib "$folder/method" data=digits stop.updates=20 >"$folder/said"
    grep -q '"method": "local-sgd"' "$folder/said" || { echo "FAIL the example method"; cat "$folder/said"; exit 1; }
    echo "ok   the example method"
fi

# The headers serve C++ as well, from C++11 on.
for compiler in g++ clang++; do
    command -v $compiler >/dev/null || continue
    for header in "$prefix"/include/motley/*.h; do
        for standard in c++11 c++20; do
            # shellcheck disable=SC2046
            printf '#include <motley/%s>\nint main() { return 0; }\n' "$(basename "$header")" |
                $compiler -x c++ - -std=$standard -Wall -Wextra -Wpedantic -Werror -fsyntax-only $(pkg-config --cflags motley) ||
                { echo "FAIL $(basename "$header") with $compiler -std=$standard"; exit 1; }
        done
    done
    echo "ok   the headers in C++, with $compiler"
done

if [ -x "$prefix/bin/motley" ]; then
    "$prefix/bin/motley" --version | grep '0\.' >/dev/null || { echo "FAIL: motley --version"; exit 1; }
    echo "ok   the installed program runs"
    pages=$(find "$prefix/share/man" -name '*.[15]' | wc -l)
    [ "$pages" -ge 1 ] || { echo "FAIL: no man page is installed"; exit 1; }
    if command -v mandoc >/dev/null; then
        find "$prefix/share/man" -name '*.[15]' -print0 | xargs -0 mandoc -T lint -W error
    fi
    echo "ok   $pages man pages"
    for script in bash-completion/completions/motley zsh/site-functions/_motley fish/vendor_completions.d/motley.fish; do
        [ -s "$prefix/share/$script" ] || { echo "FAIL: $script is not installed"; exit 1; }
    done
    bash -c ". '$prefix/share/bash-completion/completions/motley' && complete -p motley" >"$folder/said"
    grep -q -- '-F _motley motley' "$folder/said" || { echo "FAIL: bash does not take the script"; exit 1; }
    echo "ok   completion for three shells"
fi

# What was there before stays.
touch "$prefix/include/other.h" "$prefix/include/motley/mine.h"
CMAKE=$CMAKE "$(dirname "$0")/../../tools/uninstall" "$prefix" "$MOTLEY_BUILD" >"$folder/log" || { cat "$folder/log"; exit 1; }
left=$(cd "$prefix" && find . ! -type d | sort | tr '\n' ' ')
[ "$left" = "./include/motley/mine.h ./include/other.h " ] || { echo "FAIL uninstalling leaves $left"; exit 1; }
[ ! -e "$prefix/share/doc/motley" ] || { echo "FAIL uninstalling leaves empty folders"; exit 1; }
echo "ok   uninstalling removes what was installed, and nothing else"
