"""ddp_torch.py PROCESSES STEPS [alone] -- steps a second of PyTorch's DistributedDataParallel over gloo. With
`alone` each process trains its own model and sends nothing, the baseline for the cost of communication.

An MLP 784-256-128-10, batch 64 a process, SGD, one thread a process; made-up data, since the values do not
affect the speed. Prints one number. bench/ddp runs it in turn with motley."""
import os
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn


def train(rank, processes, steps, store, alone):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=processes)
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU(), nn.Linear(128, 10))
    if not alone:
        net = nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss = nn.CrossEntropyLoss()
    x, y, order = torch.rand(4096, 784), torch.randint(0, 10, (4096,)), torch.randperm(4096)

    def step(i):
        rows = order[i * 64 % 4096:i * 64 % 4096 + 64]
        optimizer.zero_grad(set_to_none=True)
        loss(net(x[rows]), y[rows]).backward()
        optimizer.step()

    for i in range(20):
        step(i)
    dist.barrier()
    began = time.monotonic()
    for i in range(steps):
        step(i)
    dist.barrier()
    if rank == 0:
        print(f"{steps / (time.monotonic() - began):.1f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(train, (count, int(sys.argv[2]), os.path.join(folder, "store"), sys.argv[3:] == ["alone"]), nprocs=count)
