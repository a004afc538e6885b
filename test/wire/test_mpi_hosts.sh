#!/bin/bash
# docs/clusters.md, on hosts that are network namespaces behind a switch of their own, one of them on a slow link:
# mpirun starts ranks on each, profile measures the slow link, a plan is made for it, and training over the network
# gives the simulator's model. Skipped without root or `ip netns`.
. "$(dirname "$0")/mpi.sh"
[ "$(id -u)" -eq 0 ] || skip "only root can make network namespaces"
command -v ip >/dev/null && command -v tc >/dev/null || skip "no ip and tc: they are in the package iproute2"
name=mot$$
ip netns add "$name-switch" 2>/dev/null || skip "no network namespaces here"
away() {
    for host in switch 1 2 3; do ip netns del "$name-$host" 2>/dev/null || true; done
    rm -rf "$folder"
}
trap away EXIT

ip -n "$name-switch" link add bridge type bridge 2>/dev/null || skip "no bridges here"
ip -n "$name-switch" link set bridge up
for host in 1 2 3; do
    ip netns add "$name-$host"
    ip -n "$name-switch" link add "port$host" type veth peer name eth0 netns "$name-$host"
    ip -n "$name-switch" link set "port$host" master bridge up
    ip -n "$name-$host" addr add "10.9.8.$host/24" dev eth0
    ip -n "$name-$host" link set eth0 up
    ip -n "$name-$host" link set lo up
    echo "10.9.8.$host slots=1" >>"$folder/hosts"
done
# 20 Mbit/s in both directions.
tc -n "$name-3" qdisc add dev eth0 root tbf rate 20mbit burst 16kb latency 400ms || skip "tc cannot slow a link down"
tc -n "$name-switch" qdisc add dev port3 root tbf rate 20mbit burst 16kb latency 400ms

# mpirun calls this in place of ssh: HOST COMMAND... . Each host has a name of its own, as machines have.
cat >"$folder/agent" <<AGENT
#!/bin/bash
host=\${1##*.}
shift
exec ip netns exec "$name-\$host" unshare --uts bash -c "hostname host\$host; \$*"
AGENT
chmod +x "$folder/agent"
on_hosts() { # COMMAND...: a rank on each, started from the first
    local line
    printf -v line '%q ' mpirun -q --allow-run-as-root --mca plm_rsh_agent "$folder/agent" --mca btl tcp,self --mca pml ob1 \
        --mca btl_tcp_if_include 10.9.8.0/24 --mca oob_tcp_if_include 10.9.8.0/24 --hostfile "$folder/hosts" -n 3 "$@"
    timeout 120 "$folder/agent" 10.9.8.1 "cd '$folder' && $line"
}

on_hosts hostname >"$folder/names" 2>"$folder/err" || fail "mpirun does not reach the hosts"
[ "$(sort "$folder/names" | tr '\n' ' ')" = "host1 host2 host3 " ] || fail "ranks are on $(tr '\n' ' ' <"$folder/names")"
echo "ok   a rank on each host"

on_hosts "$motley" profile --workers 3 --data digits --model mlp --seconds 1 --out "$folder/cluster.yaml" \
    >"$folder/out" 2>"$folder/err" || fail "profile over the hosts"
"$motley" cluster show "$folder/cluster.yaml" --json >"$folder/cluster.json"
# A busy machine makes fast links look slow, and profile says that it is busy.
grep -qE 'is busy|Other programs' "$folder/err" "$folder/cluster.yaml" && busy=busy || busy=idle
python3 - "$folder/cluster.json" $busy <<'PYTHON' || fail "$(cat "$folder/cluster.yaml")"
import json, sys
links = []
for group in json.load(open(sys.argv[1]))["groups"]:
    links += [min(group["up_bytes_per_s"], group["down_bytes_per_s"]) * 8e-6] * group["count"]
print("     links in Mbit/s: %s" % ", ".join("%.1f" % x for x in links))
assert len(links) == 3
# tc lets 20 Mbit/s through, headers included, and a burst at once.
assert links[2] < 40, "the slow link"
assert sys.argv[2] == "busy" or (links[2] > 10 and links[1] > 3 * links[2]), "the fast one"
PYTHON
echo "ok   profile finds the slow link"

# A busy machine may need several times the budget: the same command goes on from there.
for budget in 3 6 12 24 48 96 192; do
    code=0
    "$motley" plan --data digits --model softmax --cluster "$folder/cluster.yaml" --stop-updates 100 --budget ${budget}s \
        --store "$folder/store" --out "$folder/plan" >"$folder/out" 2>"$folder/err" || code=$?
    [ $code = 5 ] || break
done
[ $code = 0 ] || fail "plan for the hosts"
grep -q 'motley train' "$folder/out" || fail "the plan names no command: $(cat "$folder/out")"
echo "ok   a plan for them: $(grep -m1 'motley train' "$folder/out" | sed 's/^ *//' | cut -c1-100)"

run=(--workers 3 --data digits --model softmax --stop-updates 60 --evaluate-every '20 updates')
on_hosts "$motley" train "${run[@]}" --out "$folder/there" >"$folder/out" 2>"$folder/err" || fail "train over the hosts"
"$motley" sim "${run[@]}" --out "$folder/here" >/dev/null
cmp "$folder/there/model.safetensors" "$folder/here/model.safetensors" || fail "another model than the simulator's"
echo "ok   training over the network gives the simulator's model, to the bit"
on_hosts "$motley" train "${run[@]}" --method async --out "$folder/async" >"$folder/out" 2>"$folder/err" || fail "async"
want async status ok
echo "ok   a method with a server trains over the network"
