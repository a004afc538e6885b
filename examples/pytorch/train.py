#!/usr/bin/python3
"""The accuracy that PyTorch reaches with the setting of examples/networks, to put beside motley's.

    python3 train.py lenet fashion-mnist --epochs 5
    python3 train.py resnet8 DIR --epochs 20 --augment --cosine --weight-decay 5e-4
                                            # DIR: cifar10_train_10000.bin.gz and cifar10_test_2000.bin.gz
    python3 train.py lenet fashion-mnist --epochs 5 --batch 16 --momentum 0 --delay 7   # late gradients

SGD on one machine, batches in a new random order each epoch, pixels scaled to 0 .. 1. With --delay N a gradient is applied N
updates after it was computed, as in a round of N + 1 asynchronous workers. Prints the test accuracy of each seed and the median.
"""
import argparse
import collections
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
    parse.add_argument("--augment", action="store_true")
    parse.add_argument("--seeds", type=int, default=3)
    args = parse.parse_args()
    torch.set_num_threads(1)
    named = args.data == "fashion-mnist"
    data = tensors(*(fashion("train") if named else cifar(args.data, "train")))
    test = tensors(*(fashion("t10k") if named else cifar(args.data, "test")))
    found = []
    for seed in range(1, args.seeds + 1):
        begun = time.process_time()
        found.append(train(args, seed, data, test))
        print(f"seed {seed}: {found[-1]:.2f} %, {time.process_time() - begun:.0f} s of CPU time", flush=True)
    print(f"median: {statistics.median(found):.2f} %")


if __name__ == "__main__":
    main()
