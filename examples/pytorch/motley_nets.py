"""motley's networks in PyTorch, and model.safetensors files from and to their state.

Names and layouts of tensors are the same on both sides, so loading is a copy. open_model.py and make_model.py, beside this
file, show both ways. Needs torch, numpy and, for networks that are lists of layers, yaml (Debian: python3-torch,
python3-yaml).
"""
import json
import struct

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class LeNet(nn.Module):
    def __init__(self, channels, side, classes):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(channels, 6, 5, padding=2), nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * ((side // 2 - 4) // 2) ** 2, 120)
        self.fc2, self.fc3 = nn.Linear(120, 84), nn.Linear(84, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2).flatten(1)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.stride, self.pad = stride, (outputs - inputs) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.stride > 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad))
        return F.relu(y + x)


class ResNet(nn.Module):
    def __init__(self, blocks, channels, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16)
        inputs = 16
        for stage in range(3):
            row = []
            for n in range(blocks):
                row.append(Block(inputs, 16 << stage, 2 if stage and n == 0 else 1))
                inputs = 16 << stage
            setattr(self, f"layer{stage + 1}", nn.Sequential(*row))
        self.linear = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.linear(self.layer3(self.layer2(self.layer1(x))).mean((2, 3)))


class VGG8(nn.Module):
    def __init__(self, channels, side, classes):
        super().__init__()
        inputs = channels
        for n, width in enumerate([32, 32, 64, 64, 128, 128], 1):
            setattr(self, f"conv{n}", nn.Conv2d(inputs, width, 3, padding=1, bias=False))
            setattr(self, f"bn{n}", nn.BatchNorm2d(width))
            inputs = width
        self.fc1, self.fc2 = nn.Linear(128 * (side // 8) ** 2, 128), nn.Linear(128, classes)

    def forward(self, x):
        for n in range(1, 7):
            x = F.relu(getattr(self, f"bn{n}")(getattr(self, f"conv{n}")(x)))
            if n % 2 == 0:
                x = F.max_pool2d(x, 2)
        return self.fc2(F.relu(self.fc1(x.flatten(1))))


class Residual(nn.Module):
    """What enters is added to what `inner` makes of it; narrower or thinner on the way, by padding or a convolution."""

    def __init__(self, inner, shape, out, shortcut):
        super().__init__()
        self.steps, self.pad = inner, (out[0] - shape[0]) // 2
        self.rest = out[0] - shape[0] - self.pad
        self.stride = -(-shape[1] // out[1])
        self.convolves = shortcut == "conv" and shape != out
        if self.convolves:
            self.downsample = nn.Sequential(nn.Conv2d(shape[0], out[0], 1, self.stride, bias=False), nn.BatchNorm2d(out[0]))

    def forward(self, x):
        y = x
        for step in self.steps:
            y = step(y)
        if self.convolves:
            return y + self.downsample(x)
        return y + F.pad(x[:, :, ::self.stride, ::self.stride], (0, 0, 0, 0, self.pad, self.rest))


class Embedding(nn.Embedding):
    """Words lie side by side, as the pixels of a picture: [rows][out][height][width]."""

    def __init__(self, words, out, height, width):
        super().__init__(words, out)
        self.lie = (out, height, width)

    def forward(self, x):
        return super().forward(x.long().flatten(1)).transpose(1, 2).reshape(-1, *self.lie)


class Linear(nn.Linear):
    def forward(self, x):  # a picture of one pixel is a row of numbers
        return super().forward(x.flatten(1))


class Layers(nn.Module):
    """A network from a list as in an experiment: words, or dictionaries with a name and options."""

    def __init__(self, layers, shape, classes):
        super().__init__()
        self.classes = max(classes, 1)
        self.steps, _ = self.chain(layers, shape, self)

    def chain(self, layers, shape, parent):
        steps = []  # a plain list: tensors are named by where `put` registers them
        for place, layer in enumerate(layers):
            layer = {"name": layer} if isinstance(layer, str) else layer
            name = str(layer.get("as", place))
            step, shape = self.one(layer, shape)
            self.put(parent, name, step)
            steps.append(step)
        return steps, shape

    @staticmethod
    def put(parent, name, step):
        *path, last = name.split(".")
        for part in path:
            if part not in parent._modules:
                parent.add_module(part, nn.Module())
            parent = parent._modules[part]
        parent.add_module(last, step)

    def one(self, o, shape):
        kind, channels = o["name"], shape[0]
        slide = lambda out, kernel, stride, pad: (out, *((n + 2 * pad - kernel) // stride + 1 for n in shape[1:]))
        if kind == "residual":
            holder = nn.Module()
            inner, out = self.chain(o["layers"], shape, holder)
            block = Residual(inner, shape, out, o.get("shortcut", "identity"))
            for name, child in holder._modules.items():
                block.add_module(name, child)
            return block, out
        if kind == "conv":
            step, pad = o.get("stride", 1), o.get("padding", 0)
            conv = nn.Conv2d(channels, o["out"], o["kernel"], step, pad, groups=o.get("groups", 1), bias=o.get("bias", True))
            return conv, slide(o["out"], o["kernel"], step, pad)
        if kind == "linear":
            out = self.classes if o["out"] == "classes" else o["out"]
            return Linear(channels, out, bias=o.get("bias", True)), (out, 1, 1)
        if kind in ("max_pool", "mean_pool"):
            if kind == "mean_pool" and o.get("kernel", "all") == "all":
                return nn.AdaptiveAvgPool2d(1), (channels, 1, 1)
            stride = o["kernel"] if o.get("stride", "kernel") == "kernel" else o["stride"]
            pool = nn.MaxPool2d if kind == "max_pool" else nn.AvgPool2d
            return pool(o["kernel"], stride, o.get("padding", 0)), slide(channels, o["kernel"], stride, o.get("padding", 0))
        if kind == "embedding":
            height, width = shape[1:] if shape[1] * shape[2] > 1 else (1, channels)
            return Embedding(o["words"], o["out"], height, width), (o["out"], height, width)
        flat = channels * shape[1] * shape[2]
        norm = nn.BatchNorm2d if shape[1] * shape[2] > 1 else nn.BatchNorm1d
        return {
            "relu": lambda: (nn.ReLU(), shape),
            "flatten": lambda: (nn.Flatten(), (flat, 1, 1)),
            "dropout": lambda: (nn.Dropout(o.get("rate", 0.5)), shape),
            "batch_norm": lambda: (norm(channels, float(o.get("epsilon", 1e-5)), float(o.get("momentum", 0.1))), shape),
            "group_norm": lambda: (nn.GroupNorm(o["groups"], channels, float(o.get("epsilon", 1e-5))), shape),
        }[kind]()

    def forward(self, x):
        for step in self.steps:
            x = step(x)
        return x.flatten(1)


class MLP(nn.Module):
    def __init__(self, widths):
        super().__init__()
        for n, (inputs, outputs) in enumerate(zip(widths, widths[1:]), 1):
            setattr(self, f"layer{n}", nn.Linear(inputs, outputs))
        self.layers = len(widths) - 1

    def forward(self, x):
        x = x.flatten(1)
        for n in range(1, self.layers):
            x = F.relu(getattr(self, f"layer{n}")(x))
        return getattr(self, f"layer{self.layers}")(x)


def build(name, shape, classes, layers=None, hidden=None):
    """A network by motley's name for it. shape: (channels, height, width), or (columns, 1, 1) if rows are no pictures."""
    channels, side, width = shape
    if name == "network":
        return Layers(layers, shape, classes)
    if name == "mlp":
        return MLP([channels * side * width, *hidden, classes])
    if name == "lenet":
        return LeNet(channels, side, classes)
    if name == "vgg8":
        return VGG8(channels, side, classes)
    return ResNet({"resnet8": 1, "resnet20": 3}[name], channels, classes)


def read(path):
    """The metadata and the tensors of a safetensors file of float32."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        rest = file.read()
    about = header.pop("__metadata__", {})
    tensors = {}
    for name, at in header.items():
        assert at["dtype"] == "F32", f"{name} is {at['dtype']}, expected F32"
        begin, end = at["data_offsets"]
        tensors[name] = torch.from_numpy(np.frombuffer(rest[begin:end], "<f4").reshape(at["shape"]).copy())
    return about, tensors


def write(path, tensors):
    """A safetensors file of float32; whole numbers, such as num_batches_tracked, are left out."""
    header, parts, at = {}, [], 0
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            continue
        part = tensor.detach().numpy().astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


def open_model(path):
    """A network with the parameters of a file that motley wrote, ready to be evaluated, and the file's own scaling of rows."""
    about, tensors = read(path)
    cols = int(about["cols"])
    shape = tuple(int(n) for n in about["picture"].split("x")) if "picture" in about else (cols, 1, 1)
    layers = hidden = None
    if "model.layers" in about:
        import yaml
        layers = yaml.safe_load(about["model.layers"])
    if "model.hidden" in about:
        hidden = json.loads(about["model.hidden"])
    net = build(about["model"], shape, int(about["classes"]), layers, hidden)
    shift, factor = tensors.pop("scale.shift", torch.zeros(cols)), tensors.pop("scale.factor", torch.ones(cols))
    tensors.pop("missing.fill", None)
    missing = net.load_state_dict(tensors, strict=False)
    assert not missing.unexpected_keys, missing.unexpected_keys
    assert all(name.endswith("num_batches_tracked") for name in missing.missing_keys), missing.missing_keys
    lie = shape if "picture" in about else (cols,)
    scale = lambda rows: ((rows.reshape(len(rows), -1) - shift) * factor).reshape(-1, *lie)
    return net.eval(), scale
