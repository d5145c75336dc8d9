#!/usr/bin/env python3
"""Training steps of two processes, here and by PyTorch's DistributedDataParallel over gloo, each process with one thread.

    processes.py [CASE ...] [--precision f32] [--rounds 3] [--compile] [--json FILE]

In a round our recipe trains on noise for some seconds, then PyTorch steps for as long, in the memory format that is the
faster one, with a malloc that keeps its pages. The table has the median step time of PyTorch over ours: median, least and
greatest of the rounds.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
import torch.distributed
import torch.multiprocessing

import times
import torch_steps

CASES = ("mlp128", "resnet_cifar20", "resnet50", "gpt")
PROCESSES = 2
WARM_STEPS = 5
SECONDS = 4.0


def train_rank(rank, arguments, recipe_arguments, results):
    """Steps in this process, and the first one tells the median of its times in milliseconds."""
    torch.set_num_threads(1)
    torch.manual_seed(1)
    store = f"file://{arguments.meeting}"
    torch.distributed.init_process_group("gloo", init_method=store, rank=rank, world_size=PROCESSES)
    net, optimizer, loss_of = torch_steps.PARTS.get(recipe_arguments.recipe, torch_steps.image_parts)(recipe_arguments)
    net = torch.nn.parallel.DistributedDataParallel(net, gradient_as_bucket_view=True)
    step = torch_steps.stepper(recipe_arguments, net, optimizer, loss_of)

    def seconds_of_step():
        begin = time.perf_counter()
        step()
        return time.perf_counter() - begin

    steps = torch.tensor([SECONDS / statistics.median(seconds_of_step() for _ in range(WARM_STEPS))])
    torch.distributed.broadcast(steps, 0)
    median = statistics.median(seconds_of_step() for _ in range(max(WARM_STEPS, int(steps))))
    if rank == 0:
        results.put(1e3 * median)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def peer_side(arguments):
    """PyTorch's side of a round."""
    recipe, minibatch, flags = times.CASES[arguments.names[0]]
    words = [recipe, *flags, "--minibatch", str(minibatch // PROCESSES), "--precision", arguments.precision,
             "--format", arguments.format] + ["--compile"] * arguments.compile
    results = torch.multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory() as folder:
        arguments.meeting = pathlib.Path(folder) / "meeting"
        torch.multiprocessing.spawn(train_rank, (arguments, torch_steps.parsed(words), results), nprocs=PROCESSES)
    print(results.get())


def peer_ms(case, memory_format, arguments):
    command = [sys.executable, __file__, case, "--side", "--format", memory_format, "--precision", arguments.precision]
    done = subprocess.run(command + ["--compile"] * arguments.compile, env={**times.os.environ, **times.MALLOCS["+pages"]},
                          stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout.split()[-1])


def our_ms(case, steps, arguments):
    recipe, minibatch, flags = times.CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.bin / recipe, *flags, "--minibatch", str(minibatch), "--per-worker", str(minibatch // PROCESSES),
                   "--processes", str(PROCESSES), "--threads", "1", "--precision", arguments.precision, "--data", "synthetic",
                   "--steps", str(steps), "--eval-every", f"{steps}st", "--out", folder + "/run", "--quiet"]
        subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, check=True)
        with open(folder + "/run/metrics.csv") as file:
            rates = [float(row["samples_per_s"]) for row in csv.DictReader(file) if row["kind"] == "step"]
    return 1e3 * minibatch / statistics.median(rates[WARM_STEPS:])


def main():
    arguments = times.parse_pairs(__doc__, CASES, 3, "PyTorch's nets and losses by torch.compile")
    if arguments.side:
        return peer_side(arguments)
    rows = []
    for case in arguments.names or CASES:
        formats = times.FORMATS[:1] if times.CASES[case][0] in times.ONE_FORMAT else times.FORMATS
        steps = max(10, int(1e3 * SECONDS / our_ms(case, 10, arguments)))
        ratios = []
        for _ in range(arguments.rounds):
            ours = our_ms(case, steps, arguments)
            ratios.append(min(peer_ms(case, each, arguments) for each in formats) / ours)
        rows.append({"case": case, "precision": arguments.precision, "compiled": arguments.compile, "ratios": sorted(ratios)})
        print(f"{case:<15} {arguments.precision} {'compiled' if arguments.compile else 'eager':<9} "
              f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
