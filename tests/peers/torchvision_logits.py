#!/usr/bin/env python3
"""Our weights in torchvision's networks: the same logits in evaluation.

    torchvision_logits.py              all cases of the table below
    torchvision_logits.py resnet50     some of them

trace_steps trains a recipe for a few steps on synthetic images; torchvision's network takes its parameters and running
statistics by name, all of them and no others, and its logits for the last images are compared with ours. Exit code 1
where they differ by more than 1e-4 of the greatest logit. Needs torchvision.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torchvision

import compare
import safetensors_file

BAR = 1e-4
# A case has torchvision's network, the recipe and its flags, and the number of parameters that the network is known to
# have.
CASES = {
    "resnet50": ("resnet50", ["imagenet_1h", "--depth", "50"], 25557032),
    "resnet101": ("resnet101", ["imagenet_1h", "--depth", "101"], 44549160),
    "alexnet": ("alexnet", ["alexnet"], 61100840),
}
FLAGS = ["--minibatch", "8", "--per-worker", "0", "--dataset", "synthetic", "--lr", "0.001", "--warmup", "none",
         "--steps", "3", "--logits"]


def logits_of(case, programs, folder):
    """Returns our logits, and those of torchvision's network with our weights."""
    network, words, parameters = CASES[case]
    subprocess.run([programs / "trace_steps", *words, *FLAGS, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    trace = json.loads((folder / "trace.json").read_text())
    initial, final = (safetensors_file.read(folder / f"{name}.safetensors") for name in ("initial", "final"))
    batches = safetensors_file.read(folder / "batches.safetensors")
    net = getattr(torchvision.models, network)()
    count = sum(parameter.numel() for parameter in net.parameters())
    if count != parameters:
        raise SystemExit(f"{network}: expected {parameters} parameters, torchvision has {count}")
    compare.load(net, {name: final[name] for name in initial})
    mean, stddev = (torch.tensor(trace[key]).reshape(-1, 1, 1) for key in ("mean", "stddev"))
    images = (batches[f"images.{trace['steps'] - 1}"].float() / 255 - mean) / stddev
    with torch.no_grad():
        theirs = net.eval()(images)
    return safetensors_file.read(folder / "logits.safetensors")["logits"].float(), theirs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments = parser.parse_args()
    unknown = [case for case in arguments.cases if case not in CASES]
    if unknown:
        parser.error(f"expected cases of {', '.join(CASES)}, got {', '.join(unknown)}")
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}, torchvision {torchvision.__version__}")
    keeps = True
    for case in arguments.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = logits_of(case, arguments.bin, pathlib.Path(folder))
        apart = compare.difference(ours, theirs)
        keeps = keeps and apart <= BAR
        print(f"{case:<10} logits of {list(ours.shape)}, greatest {theirs.abs().max().item():.3f}: {apart:.2e} "
              f"{'<=' if apart <= BAR else '> BAR'} {BAR:.0e}")
    sys.exit(0 if keeps else 1)


if __name__ == "__main__":
    main()
