# For tests that hold all that is shown, word for word and figure for figure, as it is in whole/*.txt beside them. Sourced.
# A change that is not meant to show leaves those files as they are; --record writes them anew, in a commit that says
# why. The results are those of the generic kernels, which are the same on every processor.
record=false
[ "${1:-}" = --record ] && record=true
here=$(cd "$(dirname "$0")" && pwd)
: "${MOTLEY:=$here/../../build/motley}"
. "$here/../says.sh"
command -v python3 >/dev/null || { echo "skip: there is no python3"; exit 77; }
unset MOTLEY_STORE
export MOTLEY_KERNELS=generic
cd "$box" || exit 1

# shows NAME FILE...: what whole/NAME.txt says
shows() {
    local name=$1
    shift
    python3 "$here/../whole.py" "$box" "$@" >"shown.$name" || { echo "FAIL $name: cannot be read"; failures=$((failures + 1)); }
    $record && cp "shown.$name" "$here/whole/$name.txt"
    if cmp -s "shown.$name" "$here/whole/$name.txt"; then echo "ok   $name"
    else
        echo "FAIL $name is not what it was:"
        diff "$here/whole/$name.txt" "shown.$name" | cut -c1-300 | head -20
        failures=$((failures + 1))
    fi
}
# made NAME COMMAND...: the command's output is in NAME.txt, and how it ended
made() {
    local name=$1
    shift
    "$@" >"$name.txt" 2>&1
    echo "exit code $?" >>"$name.txt"
}
