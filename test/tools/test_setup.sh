#!/bin/bash
# tools/setup, with a false apt: installs what lacks, says why, and does nothing when all is there.
set -uo pipefail
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
failures=0
setup=$MOTLEY_SOURCE/tools/setup

# A machine on which only what has a file in $box/bin exists. The false apt-get logs its arguments
# and "installs" what it knows of.
machine() {
    rm -rf "${box:?}"/*
    mkdir -p "$box/bin" "$box/sets"
    local tool
    for tool in bash cut env test dirname mkdir touch; do ln -s "$(type -P $tool)" "$box/bin/$tool"; done
    cat >"$box/bin/id" <<EOF
#!$BASH
echo ${1:-0}
EOF
    cat >"$box/bin/apt-cache" <<EOF
#!$BASH
[ -e "$box/updated" ]
EOF
    cat >"$box/bin/dpkg-query" <<EOF
#!$BASH
for p; do :; done
[ -e "$box/installed.\$p" ] && printf installed
EOF
    cat >"$box/bin/apt-get" <<EOF
#!$BASH
echo "apt-get \$*" >>"$box/log"
for word; do
    touch "$box/installed.\$word"
    case \$word in
    update) touch "$box/updated" ;;
    gcc) ln -sf "$(type -P true)" "$box/bin/cc" ;;
    cmake) ln -sf "$(type -P true)" "$box/bin/cmake" ;;
    ninja-build) ln -sf "$(type -P true)" "$box/bin/ninja" ;;
    pkg-config) ln -sf "$(type -P true)" "$box/bin/pkg-config" ;;
    openmpi-bin) ln -sf "$(type -P true)" "$box/bin/mpirun" ;;
    libmpich-dev) ln -sf "$(type -P true)" "$box/bin/mpicc.mpich" ;;
    mpich) ln -sf "$(type -P true)" "$box/bin/mpirun.mpich" ;;
    protobuf-compiler) ln -sf "$(type -P true)" "$box/bin/protoc" ;;
    mosquitto-clients) ln -sf "$(type -P true)" "$box/bin/mosquitto_pub" ;;
    valgrind|mandoc|chromium|python3|clang-format|mosquitto|openssl|zsh|fish) ln -sf "$(type -P true)" "$box/bin/\$word" ;;
    clang) printf '#!$BASH\n[ "\$1" = -dumpversion ] && echo 77.0.1 && exit\n[ -e $box/installed.libclang-rt-77-dev ]\n' >"$box/bin/clang"; chmod +x "$box/bin/clang" ;;
    dataset-fashion-mnist) mkdir -p "$box/sets/fashion-mnist"; touch "$box/sets/fashion-mnist/train-images-idx3-ubyte.gz" ;;
    esac
done
EOF
    printf '#!%s\necho "sudo $1" >>"%s/log"\nexec "$@"\n' "$BASH" "$box" >"$box/bin/sudo"
    chmod +x "$box"/bin/{id,apt-cache,dpkg-query,apt-get,sudo}
    ln -s "$(type -P chmod)" "$(type -P ln)" "$box/bin/"
}
run() { PATH=$box/bin MOTLEY_DATA=$box/sets "$BASH" "$setup" "$@" >"$box/out" 2>&1; }
claim() { # CLAIM CONDITION...
    local what=$1
    shift
    if "$@"; then echo "ok   $what"; else
        echo "FAIL $what"
        cat "$box/out" "$box/log" 2>/dev/null
        failures=$((failures + 1))
    fi
}
says() { grep -qE -- "$1" "$box/out"; }
logged() { grep -qE -- "$1" "$box/log"; }
not() { ! "$@"; }

machine
claim "a bare machine is set up" run build data test
claim "the lists are fetched first, since apt knows nothing" logged 'update'
claim "it says what and why" says 'libyaml-dev +reads experiment'
claim "packages are named" logged 'install -y --no-install-recommends .*gcc.* cmake ninja-build pkg-config libyaml-dev libjansson-dev libxxhash-dev zlib1g-dev libmicrohttpd-dev libopenmpi-dev openmpi-bin .*dataset-fashion-mnist clang clang-format valgrind mandoc libmpich-dev mpich .*chromium python3 python3-crcmod zsh fish protobuf-compiler'
claim "clang's runtime is of clang's own version" logged 'install .*libclang-rt-77-dev'
claim "root needs no sudo" not logged 'sudo'
rm "$box/log"
claim "the second time it succeeds" run build data test
claim "and calls no apt" test ! -e "$box/log"
claim "and says nothing" test ! -s "$box/out"

machine 1000
claim "a user is set up through sudo" run build
claim "sudo is called" logged 'sudo env'

machine 1000
rm "$box/bin/sudo"
claim "a user without sudo is refused" not run build
claim "and told what to install" says 'apt-get install .*cmake'

machine
rm "$box/bin/apt-get"
claim "without apt-get it is refused" not run build
claim "and says what is needed" says 'libjansson-dev +writes and reads JSON'

machine
printf '#!%s\nexit 100\n' "$BASH" >"$box/bin/apt-get"
claim "a failing apt-get fails the setup" not run build
claim "and says so" says 'apt-get update failed'

machine
claim "an unknown group is refused" not run nonsense
claim "with the groups there are" says 'build, data, test, bench'

echo "$failures failed"
[ $failures -eq 0 ]
