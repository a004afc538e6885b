#!/bin/bash
# The page of a real study in headless Chromium: wide and narrow, light and dark, pointer, touch, keyboard, paper, no scripts.
. "$(dirname "$0")/needs_browser.sh"
fail() { echo "FAIL: $*"; exit 1; }

# Three methods, tuned, with one that diverges and one that never gets there; swept over two speeds.
cat >"$folder/study.yaml" <<'EOF'
data: digits
model: softmax
batch: 16
cluster:
  network: {up: 100Mbit, down: 100Mbit, latency: 100us}
  workers:
    - {name: fast, count: 6, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.1}}
    - {name: slow, count: 2, speed: 250 samples/s, jitter: {name: lognormal, sigma: 0.1}}
evaluate: {every: 100ms, grad_norm: true}
stop: {time: 3s, target: {test_accuracy: 0.92}}
EOF
cat >"$folder/tuned.yaml" <<'EOF'
compare:
  - allreduce
  - {label: "server, first 6", method: {name: server, k: 6}}
  - async
tune: {over: {optimizer.lr: [2^-1, 2^-2, 2^-4]}, by: time_to_target, seeds: 2}
EOF
cat >"$folder/swept.yaml" <<'EOF'
compare:
  - allreduce
  - {label: '</script><img src=x onerror="window.hurt=1">', method: async}
  - {label: "diverges", method: async, model.lambda: 1, model.reg: l2, optimizer.lr: 1e6}
sweep: {batch: [8, 32]}
EOF
export MOTLEY_STORE=$folder/store
cat "$folder/study.yaml" "$folder/tuned.yaml" >"$folder/a.yaml"
cat "$folder/study.yaml" "$folder/swept.yaml" >"$folder/<img src=x onerror=window.hurt=1>.yaml"
"$motley" compare "$folder/a.yaml" --seeds 6 --out "$folder/a" --quiet >"$folder/a.txt"
cp "$folder/a/report.html" "$folder/pages/study.html"
"$motley" compare "$folder/<img src=x onerror=window.hurt=1>.yaml" --seeds 3 --out "$folder/b" --quiet >"$folder/b.txt" || true
cp "$folder/b/report.html" "$folder/pages/wicked.html"
# One run, without a target, for real.
"$motley" train --data digits --model softmax --workers 2 --method server --stop-updates 40 --evaluate-every "10 updates" --quiet --out "$folder/live"
"$motley" report "$folder/live" --out "$folder/pages/one.html" --quiet
# A folder of a study gives the same page again.
"$motley" report "$folder/a" --out "$folder/again.html" --quiet
cmp "$folder/again.html" "$folder/pages/study.html" || fail "motley report makes another page of the same study"
/usr/bin/python3 "$here/page_checks.py" "$folder/pages"
