#!/bin/bash
# Every C file is laid out as .clang-format says. Versions differ in what they make of it, so only 14 is asked.
cd "${MOTLEY_SOURCE:-.}" || exit 1
clang-format --version 2>/dev/null | grep "version 14\." >/dev/null || { echo "skipped: clang-format 14 is not installed"; exit 77; }
git rev-parse --git-dir >/dev/null 2>&1 || { echo "skipped: not a git checkout"; exit 77; }
if git ls-files -co --exclude-standard '*.c' '*.h' | xargs -r ls -d 2>/dev/null | xargs clang-format --dry-run --Werror; then
    echo "1 passed, 0 failed"
else
    echo "run: git ls-files '*.c' '*.h' | xargs clang-format -i"
    exit 1
fi
