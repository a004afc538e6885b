#!/usr/bin/python3
"""The steps of SGD that `motley sim` takes from a model on rows in their order, in PyTorch.

Usage: pytorch_steps.py START END ROWS.npy LABELS.npy BATCH STEPS: starts from START, which make_model.py wrote, and prints
how far the result is from END, which motley wrote: the greatest difference of a tensor, of its greatest number. The steps are
in double: PyTorch's own in float32 were off by 12 % after three of them on one machine, where a ReLU took another side.
"""
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/pytorch"))
import motley_nets


def main():
    start, end, rows, labels, batch, steps = sys.argv[1:]
    batch, steps = int(batch), int(steps)
    theirs, scale = motley_nets.open_model(end)
    net, _ = motley_nets.open_model(end)
    missing = net.load_state_dict(motley_nets.read(start)[1], strict=False)
    assert not missing.unexpected_keys, missing
    net.double().train()
    rows = scale(torch.from_numpy(np.load(rows).astype(np.float32))).double()
    labels = torch.from_numpy(np.load(labels)).long()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    for step in range(steps):
        at = slice(step * batch, (step + 1) * batch)
        optimiser.zero_grad()
        F.cross_entropy(net(rows[at]), labels[at]).backward()
        optimiser.step()
    worst = 0
    for name, tensor in theirs.state_dict().items():
        if tensor.is_floating_point():
            worst = max(worst, ((net.state_dict()[name] - tensor).abs().max() / tensor.abs().max()).item())
    print(worst)


if __name__ == "__main__":
    main()
