"""Runs every command of README, CONTRIBUTING and docs as it is written, in order, in one scratch folder.

A command is a line of a fenced block, or an inline `motley ...`. Every YAML block is read by the command that reads
such files. Words in capitals stand for something: EXPERIMENT.yaml for the page's own block, others as below. A mention
(`motley compare`) must name a command, so its help is printed. What takes long runs with --dry-run unless MOTLEY_LONG
is set; what cannot be run here is named with its reason. Exit code 77: motley or the tree is missing.
"""
import glob
import gzip
import os
import pickle
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

TREE, MOTLEY, BUILD = (os.path.abspath(path) for path in sys.argv[1:4])
LONG = bool(os.environ.get("MOTLEY_LONG"))
PATIENCE_S = 3600 if LONG else 300  # a hang is an error, a busy machine is not

# Words in capitals and what they stand for.
STAND_FOR = {"METHOD": "async", "NAME": "ring", "RUN...": "runs/recorded", "RUN": "runs/recorded", "N": "3", "KEY=VALUE": "stop.updates=5"}

# Longer than ten seconds: these run whole with MOTLEY_LONG=1 only.
TAKES_LONG = [r"compare\b", r"plan\b", r"tune\b", r"train EXPERIMENT\.yaml --emulate"]
# So do these, which have no --dry-run, with fewer rows.
MANY_ROWS = ("--data-size 200000", "--data-size 20000")

# What another test runs, or nothing here can.
ELSEWHERE = [
    (r"^(export|cc(?! -shared))\b|^LD_LIBRARY_PATH", "test_install builds against what is installed"),
    (r"--hostfile|^(sbatch|srun|for host)\b", "test_mpi_hosts does it on hosts of its own; there is no Slurm here"),
    (r"^source <|completion fish", "test_completion does it in the shells"),
    (r"^cmake\b", "it builds the tree once more"),
    (r"^git\b|clang-format", "test_format checks the layout"),
    (r"\.\.\.", "a sketch: it says '...'"),
    (r"^(man|apt-get|tensorboard|pip|curl|wget|podman)\b", "no command of this tree"),
]

box = tempfile.mkdtemp()
failures, ran, skipped = [], 0, []
CLUSTER = ""  # docs/cluster.md's first block, which other pages call cluster.yaml


def write(name, text):
    with open(os.path.join(box, name), "w", encoding="utf-8") as out:
        out.write(text)


def rows_of(path, rows, columns, seed, classes=2):
    """A LIBSVM file under the name of a real one, which the machine may lack: the shape is what counts here."""
    draw = random.Random(seed)
    with gzip.open(os.path.join(box, path), "wt") as out:
        for _ in range(rows):
            entries = " ".join(f"{c}:{draw.random():.3f}" for c in range(1, columns + 1) if draw.random() < 0.3)
            out.write(f"{draw.randrange(classes)} {entries}\n")


def call(words, **more):
    """Like subprocess.run, but what a command has started ends with it, too, if it takes too long."""
    with subprocess.Popen(words, cwd=box, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True, **more) as child:
        try:
            out, errors = child.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, child.returncode, out, errors)


def furnish():
    """What the pages take for granted: the program, the examples, data under the names that they use."""
    os.symlink(BUILD, os.path.join(box, "build"))
    os.symlink(os.path.join(TREE, "examples"), os.path.join(box, "examples"))
    os.mkdir(os.path.join(box, "bin"))
    os.symlink(MOTLEY, os.path.join(box, "bin", "motley"))
    os.environ["PATH"] = os.path.join(box, "bin") + ":" + os.environ["PATH"]
    # As the pages say for root and for machines with few cores.
    for name in ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe",
                 "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_MCA_rmaps_default_mapping_policy"):
        os.environ[name] = ":oversubscribe" if name.endswith("policy") else "1"
    os.environ.pop("MOTLEY_STORE", None)
    # The built-in digits in the place of Fashion-MNIST: small, and on every machine.
    sets = os.path.join(box, "sets", "fashion-mnist")
    os.makedirs(sets)
    os.environ["MOTLEY_DATA"] = os.path.dirname(sets)
    for part in ("train", "t10k"):
        made = call([MOTLEY, "data", "convert", "digits", f"{sets}/{part}-images-idx3-ubyte"])
        if made.returncode != 0:
            sys.exit("cannot make data: " + made.stderr)
    recorded = call([MOTLEY, "train", "--workers", "4", "--stop-updates", "20", "--record", "--quiet", "--out", "runs/recorded"])
    if recorded.returncode != 0:
        sys.exit("cannot record a run: " + recorded.stderr)
    write("times.csv", "a,b,c\n" + "".join(f"1.{i % 7},1.{i % 5},{9 if i % 3 == 0 else 1}\n" for i in range(30)))
    write("devices.csv", "client,computation,communication\n1,24.5,8000\n2,200,1234.5\n")
    with open(os.path.join(box, "client_device_capacity"), "wb") as out:
        pickle.dump({i: {"computation": 15.0 + i, "communication": 200.0 * (i + 1)} for i in range(200)}, out)
    rows_of("phishing.gz", 4000, 68, 1)
    rows_of("a9a.gz", 2000, 123, 2)
    rows_of("letter.scale.gz", 5000, 16, 3, 26)


def blocks_of(text):
    """(line number, language, lines) of each fenced block, and (line number, None, [command]) of each inline one."""
    found, fence = [], None
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        mark = re.match(r"\s*```(\w*)", line)
        if mark and fence is None:
            fence = (number + 1, mark.group(1), [])
        elif mark:
            found.append(fence)
            fence = None
        elif fence:
            fence[2].append(line)
    inline = re.sub(r"(?m)^\s*```.*?^\s*```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.S | re.M)
    for span in re.finditer(r"`([^`]+)`", inline):
        words = " ".join(span.group(1).split())
        if re.match(r"(build/)?motley [a-z]|mpirun |--set |curl ", words):
            found.append((inline.count("\n", 0, span.start()) + 1, None, [words]))
    return sorted(found, key=lambda block: block[0])


def page_cluster(blocks):
    """The cluster file of a page: its first one, and sections that it shows by themselves."""
    parts = [lines for _, language, lines in blocks if language == "yaml" and is_cluster(lines)]
    return [line for lines in parts[:1] + [each for each in parts[1:] if not has_workers(each)] for line in lines]


def has_workers(lines):
    return any(line.startswith("workers:") for line in lines)


def is_experiment(lines):
    return any(re.match(r"(data|model|method|optimizer|stop|partition|topology):", line) for line in lines)


def is_cluster(lines):
    return not is_experiment(lines) and any(re.match(r"(workers|network|faults):", line) for line in lines)


def is_study(lines):
    return any(re.match(r"(compare|sweep|tune):", line) for line in lines)


def check_yaml(place, lines):
    if is_cluster(lines) and not has_workers(lines):
        lines = ["workers: 8"] + lines
    write("block.yaml", "\n".join(lines) + "\n")
    if is_cluster(lines):
        run(place, "motley cluster show block.yaml")
    else:
        run(place, "motley compare block.yaml --dry-run" if is_study(lines) else "motley sim block.yaml --dry-run")


def judge(place, command, words, shell):
    global ran
    ran += 1
    before = os.times()
    try:
        said = call(words, shell=shell, stdin=subprocess.DEVNULL)
    except subprocess.TimeoutExpired:
        failures.append(f"{place}: {command}: no end after {PATIENCE_S} s")
        return
    spent = os.times().children_user - before.children_user
    if os.environ.get("MOTLEY_TIMES"):
        print(f"{spent:6.2f} s {os.times().elapsed - before.elapsed:6.2f} s {place}: {command}")
    if said.returncode != 0:
        last = (said.stderr.strip() or said.stdout.strip()).split("\n")[-1]
        failures.append(f"{place}: {command}: exit code {said.returncode}: {last}")


BROKER = {}  # the port of a broker, and the processes to end, once a page has asked for one


def broker_port():
    if not BROKER:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            BROKER["port"] = probe.getsockname()[1]
        BROKER["processes"] = [beside(["mosquitto", "-p", str(BROKER["port"])])]
    return BROKER["port"]


def beside(words, **more):
    return subprocess.Popen(words, cwd=box, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True, **more)


def end(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def judge_with_broker(place, command):
    """Beside the command, a device publishes the rows of device-0.csv again and again."""
    port = broker_port()
    topic = re.search(r"mqtt://localhost/(\S+)", command).group(1)
    device = beside(f"while sleep 0.2; do tail -n +2 device-0.csv | mosquitto_pub -p {port} -q 1 -l -t {topic}; done", shell=True)
    try:
        judge(place, command, command.replace("mqtt://localhost/", f"mqtt://localhost:{port}/"), True)
    finally:
        end(device)


def stand_in(command, page):
    meanings = dict(STAND_FOR, FILE="cluster.yaml" if page == "docs/cluster.md" else "EXPERIMENT.yaml")
    for word, meaning in meanings.items():
        command = re.sub(rf"(?<![\w./-]){re.escape(word)}(?![\w./=-])", meaning, command)
    return command


def mention(command):
    """What only names a command, or a flag of it, is looked up in the help. None: it is more than that."""
    named = re.fullmatch(r"(?:build/)?motley ((?!help)[a-z]+(?: list| info| convert| show| fit| import)?)( --[a-z-]+)?", command)
    if not named:
        return None
    look = f"motley help {named.group(1)}"
    return look + f" | grep -q -e '{named.group(2).strip()}\\b'" if named.group(2) else look


def run(place, command, inline=False):
    page = place.split(":")[0]
    if command.startswith("make"):
        judge(place, command, f"make -n -C '{TREE}' {command[4:]}", True)  # that the target is there
        return
    if command.startswith("ctest"):
        judge(place, command, command + " -N", True)  # which tests it would run
        return
    command = stand_in(command, page)
    if command.startswith("cc -shared"):  # test_plugin builds with what is installed
        command = command.replace("$(pkg-config --cflags motley)", f"-I '{TREE}/include'")
    for pattern, why in ELSEWHERE:
        if re.search(pattern, command):
            skipped.append(f"{place}: {command}: {why}")
            return
    if command.startswith("--set"):
        command = "motley sim --cluster set.yaml --dry-run " + command
    looked_up = mention(command) if inline else None
    if looked_up:
        command = looked_up
    elif not LONG and any(re.search(pattern, command) for pattern in TAKES_LONG) and "--dry-run" not in command:
        skipped.append(f"{place}: {command}: takes long, so only --dry-run; MOTLEY_LONG=1 runs it")
        command += " --dry-run"
    elif not LONG and MANY_ROWS[0] in command:
        skipped.append(f"{place}: {command}: takes long, so only {MANY_ROWS[1]}; MOTLEY_LONG=1 runs it")
        command = command.replace(*MANY_ROWS)
    if "mqtt://localhost/" in command:
        if not shutil.which("mosquitto") or "built without MQTT" in call([MOTLEY, "train", "--workers", "1", "--source-from",
                "mqtt://localhost:1/x", "--stop-time", "1ms", "--quiet"]).stderr:
            skipped.append(f"{place}: {command}: no mosquitto here, or a motley without MQTT")
        else:
            judge_with_broker(place, command)
        return
    judge(place, command, command, True)


def commands_in(line):
    """The command of a line, and one that its comment offers instead."""
    command, _, comment = re.sub(r"^\$ ", "", line.strip()).partition("  #")
    if not command and comment:
        return []
    command = re.sub(r"\s+#\s.*$", "", command).strip()
    other = re.search(r"or: ((?:build/)?motley .*|mpirun .*)$", comment)
    return [each for each in (command, other and other.group(1)) if each]


def whole_lines(lines):
    """(offset, line), with lines that end with a backslash joined to what follows."""
    joined, begun = "", 0
    for offset, line in enumerate(lines):
        begun = begun if joined else offset
        joined += line.strip() if joined else line
        if joined.endswith("\\"):
            joined = joined[:-1]
            continue
        yield begun, joined
        joined = ""


def looks_like_command(line):
    return re.match(r"(\$ )?(motley|mpirun|make|ctest|cd|cmake|cc|export|git|man|apt-get|curl|wget|\(head|build/\S+|LD_LIBRARY_PATH=\S+)( |$)", line.strip())


def read_page(path):
    name = os.path.relpath(path, TREE)
    with open(path, encoding="utf-8") as page:
        blocks = blocks_of(page.read())
    for cluster in ("cluster.yaml", "measured.yaml"):
        write(cluster, CLUSTER)
    write("set.yaml", "\n".join(page_cluster(blocks)) + "\n" if page_cluster(blocks) else CLUSTER)
    examples = [lines for _, language, lines in blocks if language == "yaml" and is_experiment(lines) and not is_study(lines)]
    if examples:
        write("EXPERIMENT.yaml", "\n".join(examples[0]) + "\n")
        write("exp.yaml", "\n".join(examples[0]) + "\n")
    for number, language, lines in blocks:
        if language == "yaml":
            check_yaml(f"{name}:{number}", lines)
        elif language in (None, "", "sh", "bash", "console"):
            for offset, line in whole_lines(lines):
                if language is None or looks_like_command(line):
                    for command in commands_in(line):
                        run(f"{name}:{number + offset}", command, language is None)


def main():
    global CLUSTER
    if not os.access(MOTLEY, os.X_OK) or not os.path.exists(os.path.join(TREE, "README.md")):
        print("skip: there is no motley, or no tree")
        return 77
    furnish()
    pages = [os.path.join(TREE, "README.md"), os.path.join(TREE, "CONTRIBUTING.md")] + sorted(glob.glob(os.path.join(TREE, "docs", "*.md")))
    with open(os.path.join(TREE, "docs", "cluster.md"), encoding="utf-8") as page:
        CLUSTER = next("\n".join(lines) + "\n" for _, language, lines in blocks_of(page.read()) if language == "yaml" and is_cluster(lines))
    for page in pages:
        read_page(page)
    for line in skipped:
        print("skip " + line)
    for line in failures:
        print("FAIL " + line)
    print(f"{ran} commands run, {len(failures)} failed, {len(skipped)} skipped or shortened")
    if ran < 60:
        print("FAIL: the pages have more commands than that: are they still found?")
        return 1
    return 1 if failures else 0


try:
    sys.exit(main())
finally:
    for process in BROKER.get("processes", []):
        end(process)
    shutil.rmtree(box, ignore_errors=True)
