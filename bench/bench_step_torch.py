"""Samples a second of one training step, motley against PyTorch, measured in turn in one run.

Usage: bench_step_torch.py BENCH_STEP [REPEATS [SECONDS [nets]]]

Both sides train the same model on one thread: gather the batch's rows, which are scattered in memory,
forward, backward, SGD step; PyTorch drops its gradients (set_to_none=True) instead of zeroing them. A repeat
measures motley, then PyTorch; the ratio is taken within the repeat, so that a slow moment of the machine hits
both. Time is the CPU time of each process, which does not count what other processes take. For convolutions
PyTorch is tuned: channels_last, and a malloc that keeps its memory. With "nets" after SECONDS only those are
measured. Exits with 1 if a network's median ratio misses its goal.
"""
import ctypes
import os
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"
import torch  # noqa: E402  (after the thread counts)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "pytorch"))
import motley_nets  # noqa: E402

ROWS, COLS, CLASSES = 2048, 784, 10
GOALS = {("lenet", 32): 3.2, ("lenet", 128): 2.3, ("resnet20", 32): 1.2, ("resnet20", 64): 1.2}
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3


def build(name):
    """Model and optimiser as the usual PyTorch code writes them."""
    linear = torch.nn.Linear
    if name in ("lenet", "resnet20"):
        net = motley_nets.build(name, (1, 28, 28) if name == "lenet" else (3, 32, 32), CLASSES)
        net = net.to(memory_format=torch.channels_last)
    elif name == "softmax":
        net = linear(COLS, CLASSES)
    else:
        net = torch.nn.Sequential(linear(COLS, 256), torch.nn.ReLU(), linear(256, 128), torch.nn.ReLU(),
                                  linear(128, CLASSES))
    return net, torch.optim.SGD(net.parameters(), lr=0.01)


def torch_speed(name, batch, seconds, x, y, order):
    net, optimizer = build(name)
    loss_of = torch.nn.CrossEntropyLoss()
    first, at_once = 0, 10
    if name == "lenet":
        x = x.reshape(ROWS, 1, 28, 28).to(memory_format=torch.channels_last)
    if name == "resnet20":
        x, at_once = torch.rand(ROWS, 3, 32, 32).to(memory_format=torch.channels_last), 1

    def step():
        nonlocal first
        rows = order[first:first + batch]
        optimizer.zero_grad(set_to_none=True)
        loss_of(net(x[rows]), y[rows]).backward()
        optimizer.step()
        first = first + batch if first + 2 * batch <= ROWS else 0

    for _ in range(2 * at_once):
        step()
    steps, begin = 0, time.process_time()
    while time.process_time() - begin < seconds:
        for _ in range(at_once):
            step()
        steps += at_once
    return steps * batch / (time.process_time() - begin)


def motley_speed(child, name, batch, seconds):
    child.stdin.write(f"{name} {batch} {seconds}\n")
    child.stdin.flush()
    return float(child.stdout.readline().split()[0])


def blas_name():
    """The file behind libblas.so.3: Debian's alternatives decide, and it matters more than anything else."""
    with open("/proc/self/maps") as maps:
        files = {os.path.basename(os.path.realpath(line.split()[-1])) for line in maps if "blas" in line}
    return ", ".join(sorted(files)) or "unknown"


def middle(values):
    return sorted(values)[len(values) // 2]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.4
    torch.set_num_threads(1)
    torch.manual_seed(1)
    x, y = torch.rand(ROWS, COLS), torch.randint(0, CLASSES, (ROWS,))
    order = torch.randperm(ROWS)
    blas = blas_name()
    if not any(name in blas for name in ("openblas", "blis", "mkl")):
        print("warning: PyTorch has the reference BLAS here, which is slow; install libopenblas0-pthread", file=sys.stderr)
    child = subprocess.Popen([sys.argv[1], "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    print(f"PyTorch {torch.__version__}, 1 thread each, {repeats} repeats of {seconds} s; samples/s are medians")
    print(f"PyTorch's BLAS: {blas}")
    print(f"{'model':22} {'batch':>5} {'motley':>10} {'torch':>10}   ratio: median (min .. max)")
    missed = False
    malloc = ctypes.CDLL("libc.so.6").mallopt
    dense, nets = (1, 8, 32, 128, 512), sys.argv[4:] == ["nets"]
    for name, label, batches in (("mlp", "mlp 784-256-128-10", dense), ("softmax", "softmax 784-10", dense),
                                 ("lenet", "lenet 1x28x28", (32, 128)), ("resnet20", "resnet20 3x32x32", (32, 64))):
        if nets and name in ("mlp", "softmax"):
            continue
        if name in ("lenet", "resnet20"):
            malloc(M_MMAP_THRESHOLD, 1 << 30), malloc(M_TRIM_THRESHOLD, 1 << 30)
        for batch in batches:
            ours, theirs = [], []
            for _ in range(repeats):
                ours.append(motley_speed(child, name, batch, seconds))
                theirs.append(torch_speed(name, batch, seconds, x, y, order))
            ratios = [a / b for a, b in zip(ours, theirs)]
            goal = GOALS.get((name, batch), 0)
            missed = missed or middle(ratios) < goal
            print(f"{label:22} {batch:5} {middle(ours):10.0f} {middle(theirs):10.0f}   "
                  f"{middle(ratios):.2f} ({min(ratios):.2f} .. {max(ratios):.2f})"
                  + (f"  goal {goal}{', missed' if middle(ratios) < goal else ''}" if goal else ""), flush=True)
    child.stdin.close()
    child.wait()
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
