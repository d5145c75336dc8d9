#!/usr/bin/env python3
"""Time from the start of a program to the end of its first training step, here and in PyTorch.

    starts.py [CASE ...] [--precision f32] [--rounds 3] [--json FILE]

Cold: without a compiled kernel in either cache. Warm: with what the call before left. Both sides step on noise. The table
has the seconds of PyTorch over ours, eager and by torch.compile: median, least and greatest of the rounds.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import times

CASES = ("mlp128", "resnet_cifar20", "resnet50", "gpt", "transformer")


def seconds_until(command, environment, mark):
    """Runs a command, and returns the seconds from its start to the line of its output that has this mark."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(word) for word in command], env={**times.os.environ, **environment},
                               stdout=subprocess.PIPE, text=True)
    passed = next((time.perf_counter() - begin for line in process.stdout if mark in line), None)
    if process.wait() != 0 or passed is None:
        raise SystemExit(f"{' '.join(map(str, command))}: expected exit code 0 and a line with '{mark}'")
    return passed


def our_seconds(case, cache, arguments):
    recipe, minibatch, flags = times.CASES[case]
    with tempfile.TemporaryDirectory() as folder:
        command = [arguments.bin / recipe, *flags, "--minibatch", minibatch, "--precision", arguments.precision, "--steps", 1]
        if "--data" not in flags:
            command += ["--data", "synthetic"]
        return seconds_until([*command, "--out", folder + "/run"], {"KB_CACHE": cache}, "first step done")


def peer_seconds(case, cache, way, arguments):
    recipe, minibatch, flags = times.CASES[case]
    command = [sys.executable, times.HERE / "torch_steps.py", recipe, *flags, "--minibatch", minibatch, "--precision",
               arguments.precision, "--first", *way]
    return seconds_until(command, {"TORCHINDUCTOR_CACHE_DIR": cache, **times.MALLOCS["+pages"]}, "first step done")


def main():
    arguments = times.parse_pairs(__doc__, CASES, 3)
    rows = []
    for case in arguments.names or CASES:
        for name, way in (("eager", []), ("compiled", ["--compile"])):
            ratios = {"cold": [], "warm": []}
            for _ in range(arguments.rounds):
                with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
                    for found in ratios.values():
                        found.append(peer_seconds(case, theirs, way, arguments) / our_seconds(case, ours, arguments))
            for start, found in ratios.items():
                rows.append({"case": case, "precision": arguments.precision, "peer": name, "start": start, "ratios": sorted(found)})
                print(f"{case:<15} {arguments.precision} {name:<9} {start} {statistics.median(found):.2f} "
                      f"({min(found):.2f} to {max(found):.2f})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
