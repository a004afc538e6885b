#!/usr/bin/python3
"""Train here, open there: a model that motley trained, in PyTorch.

    motley sim --model resnet8 --data digits --out run
    motley data convert digits rows.npy
    python3 open_model.py run/model.safetensors rows.npy     # as `motley predict run rows.npy --probabilities`

Prints the probabilities of the classes (or the value), a line for each row of the NPY file.
"""
import sys

import numpy as np
import torch

import motley_nets


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    net, scale = motley_nets.open_model(sys.argv[1])
    rows = torch.from_numpy(np.load(sys.argv[2]).astype(np.float32))
    with torch.no_grad():
        out = net(scale(rows))
    if out.shape[1] > 1:
        out = out.softmax(1)
    np.savetxt(sys.stdout, out.numpy(), fmt="%.9g", delimiter=",")


if __name__ == "__main__":
    main()
