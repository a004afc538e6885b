#!/usr/bin/python3
"""Gradients and loss curves of networks, in PyTorch and in double, beside those that test_torch.c has written.

Usage: torch_nets.py FOLDER NAME; in the folder lie NAME.json, and float32 files for parameters, rows, labels.
Prints relative errors: "gradient" (of its norm), "curve" (the greatest of a step's loss, the running statistics at the end
too), "forced" (of the losses at the weights that motley had at each step, to the first loss), "slopes" (the median of
the gradients there, beside that of PyTorch itself with numbers of 32 bits) and, with MOTLEY_LONG, "float32": PyTorch's
own curve with such numbers.
"""
import copy
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/pytorch"))
import motley_nets


class Masked(nn.Module):
    """Dropout by what motley multiplied with: a row of `masks` for each step."""
    masks, step = None, 0

    def forward(self, x):
        return x * Masked.masks[Masked.step].reshape(x.shape).to(x.dtype)


class Words(nn.Sequential):
    def __init__(self, classes):
        super().__init__(nn.Embedding(30, 6), nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(), nn.Identity(), nn.Flatten(),
                         nn.Linear(8, classes))

    def forward(self, x):  # words lie side by side in a picture of one row
        x = self[2](self[1](self[0](x.long()).transpose(1, 2).unsqueeze(2)))
        return self[5](x.mean((2, 3)))


def layers(classes):
    return nn.Sequential(nn.Conv2d(3, 6, 3, padding=1, groups=3), nn.GroupNorm(2, 6), nn.ReLU(),
                         nn.AvgPool2d(3, 2, 1), nn.Conv2d(6, 12, 3, groups=6), nn.GroupNorm(1, 12), nn.ReLU(),
                         Masked(), nn.Flatten(), nn.Linear(48, 20), nn.ReLU(), nn.Linear(20, classes))


def build(name, what):
    if name in ("layers", "words"):
        return layers(what["classes"]) if name == "layers" else Words(what["classes"])
    return motley_nets.build(name, (what["channels"], what["side"], what["side"]), what["classes"])


def load(net, tensors, flat):
    own = net.state_dict()
    for name, at, shape in tensors:
        assert list(own[name].shape) == shape, (name, own[name].shape, shape)
        own[name].copy_(torch.from_numpy(flat[at:at + int(np.prod(shape))].reshape(shape)))
    missing = set(own) - {t[0] for t in tensors}
    assert all(m.endswith("num_batches_tracked") for m in missing), missing


def losses(net, rows, labels, batch, rate, steps, smoothing):
    optimiser = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    curve = []
    for step in range(steps):
        at = step * batch % len(rows)
        optimiser.zero_grad()
        Masked.step = step
        loss = F.cross_entropy(net(rows[at:at + batch]), labels[at:at + batch], label_smoothing=smoothing)
        loss.backward()
        optimiser.step()
        curve.append(loss.item())
    return np.array(curve)


def gradient(net, tensors):
    parameters = dict(net.named_parameters())
    return np.concatenate([parameters[name].grad.double().numpy().ravel() for name, _, _ in tensors if name in parameters])


def off_by(exact, other):
    return np.linalg.norm(exact - other[:len(exact)]) / np.linalg.norm(exact)


def main():
    folder, name = sys.argv[1:]
    what = json.load(open(f"{folder}/{name}.json"))
    read = lambda part: np.fromfile(f"{folder}/{name}.{part}", np.float32).astype(np.float64)
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    net = build(name, what)
    start, theirs = read("x"), read("g")
    shape = (what["channels"], what["side"], what["side"]) if what["channels"] else (what["cols"],)
    rows = torch.from_numpy(read("rows")).reshape(-1, *shape)
    if os.path.exists(f"{folder}/{name}.mask"):
        Masked.masks = torch.from_numpy(read("mask")).reshape(-1, what["batch"] * 48)
    labels = torch.from_numpy(read("labels")).long()
    load(net, what["tensors"], start)
    batch, curve = what["batch"], read("curve")
    smoothing = what["smoothing"]
    loss_of = lambda net, at, rows: F.cross_entropy(net(rows[at:at + batch]), labels[at:at + batch], reduction="sum",
                                                    label_smoothing=smoothing)
    loss_of(net, 0, rows).backward()
    print("gradient", off_by(gradient(net, what["tensors"]), theirs))

    load(net, what["tensors"], start)
    exact = losses(net, rows, labels, batch, what["lr"], len(curve), smoothing)
    worst = np.max(np.abs(exact - curve) / exact)
    state, end = net.state_dict(), read("end")
    for tensor, at, shape in what["tensors"]:
        if "running" in tensor:
            n = int(np.prod(shape))
            off = np.abs(state[tensor].numpy().ravel() - end[at:at + n]).max() / np.abs(end[at:at + n]).max()
            worst = max(worst, off)
    print("curve", worst, "from", curve[0], "to", curve[-1])
    path, slopes = read("path").reshape(len(curve), -1), read("slopes").reshape(len(curve), -1)
    forced, errors, rounded = 0, [], []
    for step, loss in enumerate(curve):
        Masked.step, at = step, step * batch % len(rows)

        def there(net, rows):
            load(net, what["tensors"], path[step])
            net.zero_grad()
            value = loss_of(net, at, rows)
            value.backward()
            return value.item() / batch, gradient(net, what["tensors"])

        mine, slope = there(net, rows)
        forced = max(forced, abs(mine - loss) / curve[0])
        errors.append(off_by(slope, slopes[step]))
        rounded.append(off_by(slope, there(copy.deepcopy(net).float(), rows.float())[1]))
    print("forced", forced)
    print("slopes", np.median(errors), "and PyTorch's in float32", np.median(rounded), "at most", max(errors), max(rounded))
    if "MOTLEY_LONG" in os.environ:  # how far PyTorch itself goes astray with numbers of 32 bits
        load(net, what["tensors"], start)
        rounded = losses(net.float(), rows.float(), labels, batch, what["lr"], len(curve), smoothing)
        print("float32", np.max(np.abs(exact - rounded) / exact))


if __name__ == "__main__":
    main()
