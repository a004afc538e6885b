#!/bin/bash
# A machine that gives no more threads: an error that says so and exit code 1, never an assertion.
set -euo pipefail
motley=${MOTLEY:?names the program}
skip() { echo "skipped: $*"; exit 77; }
fail() { echo "FAIL: $*"; exit 1; }
libraries=$(ldd "$motley")
[[ $libraries != *libasan* && $libraries != *libtsan* ]] || skip "sanitizers need more address space than is left here"
# A thread's stack is as large as the limit of stacks says, which does not fit into the address space that is left.
code=0
message=$( (ulimit -s 8000000 && ulimit -v 6000000 && exec "$motley" train --data digits --model softmax --workers 2 --stop-updates 5 --quiet) 2>&1) || code=$?
[[ $message != *ulimit* ]] || skip "limits cannot be set here: $message"
[ $code -eq 1 ] || fail "exit code $code, not 1: $message"
[[ $message == *"cannot start the evaluation thread"* ]] || fail "the message is: $message"
echo "ok   a thread that cannot be started is an error"
