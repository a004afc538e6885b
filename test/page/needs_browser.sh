# needs_browser.sh -- sourced by the tests of pages: $motley, $here, and $folder/pages that is removed at the end; or a skip.
set -euo pipefail
motley=${MOTLEY:?names the program}
here=$(dirname "$0")
command -v chromium >/dev/null || { echo "skipped: chromium is not installed: tools/setup test"; exit 77; }
[ -x /usr/bin/python3 ] || { echo "skipped: python3 is not installed: tools/setup test"; exit 77; }
case ${MOTLEY_BUILD:-} in */asan | */tsan) echo "skipped: a browser is looked at once, in the release build"; exit 77 ;; esac
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/pages"
