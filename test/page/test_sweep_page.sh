#!/bin/bash
# The pages of studies that sweep a number, in headless Chromium: figures against it, with intervals.
. "$(dirname "$0")/needs_browser.sh"
export MOTLEY_STORE=$folder/store
cat >"$folder/common" <<'EOF'
data: digits
model: softmax
batch: 8
cluster: {network: {bandwidth: 10Mbit, latency: 100us}, workers: [{name: all, count: 2, speed: 1000 samples/s, jitter: {name: lognormal, sigma: 0.3}}]}
evaluate: {every: 1000 updates}
stop: {updates: 30}
EOF
# page NAME SEEDS MORE LINES
page() {
    { cat "$folder/common"; printf '%s\n' "${@:3}"; } >"$folder/$1.yaml"
    "$motley" compare "$folder/$1.yaml" --seeds "$2" --out "$folder/$1" --quiet >"$folder/$1.txt"
    cp "$folder/$1/report.html" "$folder/pages/$1.html"
}
page wide 4 'compare: [allreduce, server, async]' 'sweep: {cluster.workers.all.count: [2, 4, 8, 16, 32]}'
page two 1 'compare: [allreduce, async]' 'sweep: {batch: [8, 16], cluster.network.latency: [100us, 1ms, 10ms]}'
page words 1 'sweep: {method: [allreduce, async], topology: [ring, star]}'
page one 1 'compare: [allreduce, async]'
/usr/bin/python3 "$here/sweep_checks.py" "$folder/pages"
