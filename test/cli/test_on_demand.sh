#!/bin/bash
# A command loads no library that it does not use: brokers, the web server and MPI come with the first use of kafka://, mqtt://,
# --serve and ranks. Where one of them is missing or damaged, what needs it ends with exit code 1 and says what to install.
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../built.sh"
MOTLEY=$(realpath "$MOTLEY")
cd "$box" || exit 1
fail() { echo "FAIL $*"; failures=$((failures + 1)); }
small=(--data digits --model softmax --workers 2 --stop-updates 3 --quiet)

# loaded COMMAND...: the libraries that it and its children load, without those of sanitizers
loaded() {
    rm -f files.*
    LD_DEBUG=files LD_DEBUG_OUTPUT=files "$@" >said 2>&1 || fail "$*: $(cat said)"
    cat files.* | sed -n 's/.*calling init: .*\/\(lib[^/]*\)\.so.*/\1/p' | grep -Ev '^lib(a|t|ub|l)san$|^libgcc_s$|^libstdc' | sort -u | tr '\n' ' '
}
few="libc libjansson libm libxxhash libyaml-0 libz "
for what in --version "sim ${small[*]}" "train ${small[*]}" "help sim"; do
    # shellcheck disable=SC2086 # a command and its flags
    got=$(loaded "$MOTLEY" $what | sed 's/libmotley //; s/librt //; s/libdl //; s/libpthread //')
    [ "$got" = "$few" ] && echo "ok   motley ${what%% --*} loads nothing else" || fail "$what loads $got, expected $few"
done

# with FILE COMMAND...: as if the only library of that name were FILE
with() {
    local library=$1
    shift
    LD_LIBRARY_PATH=$box/$library "$@"
}
mkdir damaged old
# needs NAME WHAT PACKAGE COMMAND...: the command needs libNAME for WHAT
needs() {
    local name=$1 what=$2 package=$3 file
    shift 3
    file=$(on_demand "$name")
    [ -n "$file" ] || { echo "skip $what: built without lib$name"; return; }
    : >"damaged/$file"
    says "$what without $file" 1 "$what needs $file, which cannot be loaded: " with damaged "$@"
    says "$what without $file names the package" 1 "; install the Debian package ${package:-${file/.so./}}" with damaged "$@"
    "${MOTLEY_CC:-cc}" -shared -o "old/$file" -x c /dev/null && rm "damaged/$file"
    says "$what with a $file that is too old" 1 "of $file, which the installed version lacks; install a newer" with old "$@"
    rm "old/$file"
    [ ! -e run ] || { rm -r run; fail "$what: it left a folder"; }
}
device="--data digits --model softmax --workers 1 --stop-updates 3"
# shellcheck disable=SC2086
needs rdkafka kafka:// "" "$MOTLEY" train $device --source-from kafka://127.0.0.1:1/topic --out run
# shellcheck disable=SC2086
needs mosquitto mqtt:// "" "$MOTLEY" train $device --source-from mqtt://127.0.0.1:1/topic --out run
needs microhttpd --serve "" "$MOTLEY" sim "${small[@]}" --serve 127.0.0.1:0 --out run
needs mpi "a run over MPI" openmpi-bin "$MOTLEY" train "${small[@]}" --ranks 2 --out run

# This test would notice a library: those that are used are seen.
if built_with microhttpd; then
    [[ $(loaded "$MOTLEY" sim "${small[@]}" --serve 127.0.0.1:0) == *libmicrohttpd* ]] || fail "a library that is loaded is not seen"
fi
exit $((failures > 0))
