#!/bin/bash
# Debian packages: all that is installed is in one of them, lintian has nothing to say, and what they hold runs. Building
# takes minutes: without MOTLEY_LONG=1 only the lists are checked, and packages that `make deb` has left.
set -euo pipefail
: "${MOTLEY:?names the program}"
source=${MOTLEY_SOURCE:?names the tree} build=${MOTLEY_BUILD:?names the build}
fail() { echo "FAIL: $*"; exit 1; }
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT

# What is installed, by Debian's names of the folders.
DESTDIR=$box/all "${CMAKE:-cmake}" --install "$build" --prefix /usr >"$box/log"
left_out='^usr/share/doc/motley/(LICENSE|CHANGELOG\.md)$' # see debian/rules
while IFS= read -r file; do
    file=$(sed -E 's,^usr/lib/([^/]*-linux-gnu[^/]*/)?,usr/lib/ARCH/,; s,/site-functions/,/vendor-completions/,' <<<"$file")
    [[ ! $file =~ $left_out ]] || continue
    known=no
    for pattern in $(sed 's,/\*/,/ARCH/,' "$source"/debian/*.install); do
        # shellcheck disable=SC2053
        if [[ $file == $pattern || $file == $pattern/* ]]; then known=yes; fi
    done
    [ $known = yes ] || fail "no package has $file: add it to debian/*.install"
done < <(cd "$box/all" && find usr ! -type d)
echo "ok   every file that is installed is in a package"

# Libraries that are loaded on demand are seen by no tool: the list is written by hand. MPI's comes with openmpi-bin.
. "$source/test/built.sh"
for name in microhttpd mosquitto rdkafka; do
    file=$(on_demand $name)
    [ -z "$file" ] || sed -n '/^Package: motley$/,/^$/s/^Recommends: //p' "$source/debian/control" | tr -d , | grep -w "${file/.so./}" >/dev/null ||
        fail "the package motley does not recommend that of $file"
done
echo "ok   the libraries that are loaded on demand are recommended"

debs=$build/deb
if [ -n "${MOTLEY_LONG:-}" ]; then
    for tool in dh lintian fakeroot; do
        command -v $tool >/dev/null || { echo "skipped: no $tool: tools/setup deb"; exit 77; }
    done
    debs=$box/debs
    "$source/tools/deb" "$debs" >"$box/log" 2>&1 || { cat "$box/log"; fail "tools/deb"; }
    echo "ok   the packages are built, and lintian finds nothing"
fi
compgen -G "$debs/*.deb" >/dev/null || { echo "skipped: no packages here: MOTLEY_LONG=1 builds them"; exit 77; }

root=$box/root
for deb in "$debs"/motley_*.deb "$debs"/libmotley0_*.deb "$debs"/libmotley-dev_*.deb; do dpkg-deb -x "$deb" "$root"; done
"$root/usr/bin/motley" sim --data digits --model softmax --stop-updates 20 --quiet >"$box/said"
grep -q 'done after 20 updates' "$box/said" || fail "the program said $(cat "$box/said")"
for file in man/man1/motley-sim.1.gz bash-completion/completions/motley zsh/vendor-completions/_motley \
    fish/vendor_completions.d/motley.fish doc/motley/copyright; do
    [ -s "$root/usr/share/$file" ] || fail "$file is missing"
done
echo "ok   the program of the package runs; man pages and completion are there"

PKG_CONFIG_PATH=$(dirname "$(find "$root" -name motley.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
"${MOTLEY_CC:-cc}" "$source"/examples/method/main.c "$source"/examples/method/local_sgd.c -o "$box/method" $(pkg-config --cflags --libs motley)
LD_LIBRARY_PATH=$(dirname "$PKG_CONFIG_PATH") "$box/method" data=digits stop.updates=20 >"$box/said"
grep -q '"method": "local-sgd"' "$box/said" || fail "a program with the library said $(cat "$box/said")"
echo "ok   a program is built with the library of the package"
