#!/bin/bash
# The live view in headless Chromium: it grows while a run goes on, keeps what was chosen, and says when the run has ended or is gone.
. "$(dirname "$0")/../page/needs_browser.sh"
said=$("$motley" sim --serve 127.0.0.1:0 --stop-updates 1 --quiet 2>&1) || case $said in
*'built without libmicrohttpd'*) echo "skipped: this motley was built without libmicrohttpd"; exit 77 ;;
esac
export MOTLEY_STORE=$folder/store
/usr/bin/python3 "$here/live_checks.py" "$folder/pages" "$motley"
