#!/usr/bin/python3
"""The accuracy that PyTorch reaches with the setting of examples/networks, to put beside motley's.

    python3 train.py lenet fashion-mnist --epochs 5
    python3 train.py resnet8 DIR --epochs 20 --augment --cosine --weight-decay 5e-4
                                            # DIR: cifar10_train_10000.bin.gz and cifar10_test_2000.bin.gz
    python3 train.py lenet fashion-mnist --epochs 5 --batch 16 --momentum 0 --delay 7   # late gradients
    python3 train.py lenet fashion-mnist --epochs 5 --batch 16 --ring 8                 # decentralised

SGD on one machine, batches in a new random order each epoch, pixels scaled to 0 .. 1. With --delay N a gradient is applied N
updates after it was computed, as in a round of N + 1 asynchronous workers. With --ring N it is D-PSGD: N models, each with a
batch, momentum and an equal part of the rows of its own, average with their two neighbours in each step; their mean is tested.
Prints the test accuracy of each seed and the median.
"""
import argparse
import collections
import copy
import glob
import gzip
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as F

import motley_nets

FASHION = "/usr/share/datasets/fashion-mnist"


def fashion(part):
    images = np.frombuffer(gzip.open(f"{FASHION}/{part}-images-idx3-ubyte.gz").read(), np.uint8, offset=16)
    labels = np.frombuffer(gzip.open(f"{FASHION}/{part}-labels-idx1-ubyte.gz").read(), np.uint8, offset=8)
    return images.reshape(-1, 1, 28, 28), labels


def cifar(folder, part):
    path = glob.glob(f"{folder}/*{part}*.bin.gz")[0]
    rows = np.frombuffer(gzip.open(path).read(), np.uint8).reshape(-1, 3073)
    return rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0]


def tensors(images, labels):
    return torch.from_numpy(images.astype(np.float32) / 255), torch.from_numpy(labels.astype(np.int64))


def augmented(x, margin=4):
    """Each picture moved by up to `margin` pixels each way, half of them mirrored."""
    padded, side = F.pad(x, (margin,) * 4), x.shape[-1]
    moved = torch.empty_like(x)
    for i, (down, right) in enumerate(torch.randint(0, 2 * margin + 1, (len(x), 2)).tolist()):
        moved[i] = padded[i, :, down:down + side, right:right + side]
    mirrored = torch.rand(len(x)) < 0.5
    moved[mirrored] = moved[mirrored].flip(-1)
    return moved


def train(args, seed, data, test):
    torch.manual_seed(seed)
    net = motley_nets.build(args.model, tuple(data[0].shape[1:]), 10)
    optimiser = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
    updates = args.epochs * -(-len(data[1]) // args.batch)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, updates) if args.cosine else None
    late = collections.deque()
    for _ in range(args.epochs):
        net.train()
        for rows in torch.randperm(len(data[1])).split(args.batch):
            x = augmented(data[0][rows]) if args.augment else data[0][rows]
            optimiser.zero_grad(set_to_none=True)  # the late ones are kept
            F.cross_entropy(net(x), data[1][rows]).backward()
            late.append([p.grad for p in net.parameters()])
            if len(late) <= args.delay:
                continue
            for p, gradient in zip(net.parameters(), late.popleft()):
                p.grad = gradient
            optimiser.step()
            if cosine:
                cosine.step()
    return accuracy(net, test)


def train_ring(args, seed, data, test):
    """x[i] = the mean of x[i - 1], x[i] and x[i + 1], less a step along the gradient at the x[i] before."""
    torch.manual_seed(seed)
    nets = [motley_nets.build(args.model, tuple(data[0].shape[1:]), 10)]
    nets += [copy.deepcopy(nets[0]) for _ in range(args.ring - 1)]
    optimisers = [torch.optim.SGD(net.parameters(), lr=args.lr, momentum=args.momentum, weight_decay=args.weight_decay)
                  for net in nets]
    updates = args.epochs * len(data[1]) // (args.ring * args.batch)
    cosines = [torch.optim.lr_scheduler.CosineAnnealingLR(o, updates) for o in optimisers] if args.cosine else []
    parts = torch.randperm(len(data[1])).chunk(args.ring)
    left = [part[:0] for part in parts]
    for _ in range(updates):
        for i, net in enumerate(nets):
            if len(left[i]) < args.batch:
                left[i] = torch.cat([left[i], parts[i][torch.randperm(len(parts[i]))]])
            rows, left[i] = left[i][:args.batch], left[i][args.batch:]
            x = augmented(data[0][rows]) if args.augment else data[0][rows]
            net.train()
            optimisers[i].zero_grad(set_to_none=True)
            F.cross_entropy(net(x), data[1][rows]).backward()
        before = [copy.deepcopy(net.state_dict()) for net in nets]
        for i, net in enumerate(nets):
            net.load_state_dict(mean_state([before[i - 1], before[i], before[(i + 1) % args.ring]]))
            optimisers[i].step()
        for cosine in cosines:
            cosine.step()
    nets[0].load_state_dict(mean_state([net.state_dict() for net in nets]))
    return accuracy(nets[0], test)


def mean_state(states):
    """Of parameters and of batch norm's statistics; a count of batches is not averaged."""
    return {name: sum(s[name] for s in states) / len(states) if value.is_floating_point() else value
            for name, value in states[0].items()}


def accuracy(net, test):
    net.eval()
    with torch.no_grad():
        right = sum((net(x).argmax(1) == y).sum().item() for x, y in zip(test[0].split(500), test[1].split(500)))
    return 100 * right / len(test[1])


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("model", choices=["lenet", "resnet8", "resnet20", "vgg8"])
    parse.add_argument("data", help="fashion-mnist, or a folder with CIFAR-10's binary files")
    parse.add_argument("--epochs", type=int, default=5)
    parse.add_argument("--batch", type=int, default=128)
    parse.add_argument("--lr", type=float, default=0.05)
    parse.add_argument("--momentum", type=float, default=0.9)
    parse.add_argument("--weight-decay", type=float, default=0)
    parse.add_argument("--cosine", action="store_true", help="let the learning rate fall to 0 along half a cosine")
    parse.add_argument("--delay", type=int, default=0, help="updates between a gradient and its use")
    parse.add_argument("--ring", type=int, default=0, help="D-PSGD on a ring of so many workers, batches of --batch each")
    parse.add_argument("--augment", action="store_true")
    parse.add_argument("--seeds", type=int, default=3)
    args = parse.parse_args()
    if args.ring and args.delay:
        parse.error("--ring has no late gradients: leave out --delay")
    if args.ring in (1, 2):
        parse.error("a ring has at least three workers")
    torch.set_num_threads(1)
    named = args.data == "fashion-mnist"
    data = tensors(*(fashion("train") if named else cifar(args.data, "train")))
    test = tensors(*(fashion("t10k") if named else cifar(args.data, "test")))
    found = []
    for seed in range(1, args.seeds + 1):
        begun = time.process_time()
        found.append((train_ring if args.ring else train)(args, seed, data, test))
        print(f"seed {seed}: {found[-1]:.2f} %, {time.process_time() - begun:.0f} s of CPU time", flush=True)
    print(f"median: {statistics.median(found):.2f} %")


if __name__ == "__main__":
    main()
