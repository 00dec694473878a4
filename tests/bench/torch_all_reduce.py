"""An all-reduce of f32 over NCCL in PyTorch, a process for each GPU: the bandwidth beside which
BM_NcclAllReduceOnAllGpus of lockstep_gpus_bench is read. Usage: python3 torch_all_reduce.py

Each call is waited for. Prints the median, and the bus bandwidth: (n-1)/n of the data twice.
PyTorch has an NCCL of its own: a difference may be that between two versions.
"""

import os
import sys
import tempfile
import time

import torch
from torch import distributed, multiprocessing

WARM_UPS, CALLS = 20, 600
SIZES = 1 << 10, 1 << 26


def seconds_of_call(x):
    start = time.perf_counter()
    distributed.all_reduce(x)
    torch.cuda.synchronize()
    return time.perf_counter() - start


def run_rank(rank, world, store):
    torch.cuda.set_device(rank)
    distributed.init_process_group(
        "nccl", init_method=f"file://{store}", rank=rank, world_size=world
    )
    for size in SIZES:
        x = torch.zeros(size // 4, device="cuda")
        for _ in range(WARM_UPS):
            seconds_of_call(x)
        median = sorted(seconds_of_call(x) for _ in range(CALLS))[CALLS // 2]
        if rank == 0:
            bus = 2 * (world - 1) / world * size / median / 1e9
            told = f"{1e6 * median:.1f} us, bus {bus:.1f} GB/s"
            print(f"{world} GPUs, {size} bytes: {told}", flush=True)
    distributed.destroy_process_group()


def main():
    world = torch.cuda.device_count()
    if world < 2:
        sys.exit("torch_all_reduce.py: this needs two GPUs")
    print("NCCL", ".".join(str(part) for part in torch.cuda.nccl.version()))
    with tempfile.TemporaryDirectory() as folder:
        store = os.path.join(folder, "store")
        multiprocessing.spawn(run_rank, args=(world, store), nprocs=world)


if __name__ == "__main__":
    main()
