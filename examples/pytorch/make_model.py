#!/usr/bin/python3
"""Start there, go on here: a network with PyTorch's own initial weights, as a file that motley starts from.

    python3 make_model.py resnet8 1x8x8 10 start.safetensors
    motley sim --model resnet8 --data digits --from start.safetensors --out run

NAME is lenet, resnet8, resnet20 or vgg8; then the picture (channels, height, width) and the number of classes. To send a
network that you have trained, call motley_nets.write(path, net.state_dict()) with tensors of these names.
"""
import sys

import torch

import motley_nets


def main():
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    name, picture, classes, path = sys.argv[1:5]
    torch.manual_seed(int(sys.argv[5]) if len(sys.argv) > 5 else 0)
    net = motley_nets.build(name, tuple(int(n) for n in picture.split("x")), int(classes))
    motley_nets.write(path, net.state_dict())


if __name__ == "__main__":
    main()
