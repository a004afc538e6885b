# For tests that send signals: sourced. A shell starts what it puts into the background with SIGINT ignored:
# an interrupt that comes before the program listens is lost, however long one has slept.
catches() { # PID SIGNAL: whether the process has a handler for it
    local mask
    mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null || true)
    [ -n "$mask" ] && ((0x$mask >> ($(kill -l "$2") - 1) & 1))
}
await_catching() { # PID SIGNAL
    local i
    for i in $(seq 1 6000); do
        ! catches "$1" "$2" || return 0
        sleep 0.01
    done
    echo "FAIL: process $1 has no handler for SIG$2"
    exit 1
}
