#!/usr/bin/env python3
"""The curvature of LeNet's loss over 640 images of MNIST by `curvature`, beside PyTorch in f64.

    curvature.py --data DIR [--bin BIN]

Trains 100 steps of lenet_mnist on those images alone, in f64 and in f32, and computes loss, gradient and products with
the Hessian for the run's parameters by PyTorch. Prints each figure of both and their relative difference; exits with 1
where one is above 1e-5 (f64; the eigenvalue ends its iteration at such a change) or 1e-3 (f32).
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

import torch
import torch.nn.functional as F

import nets
import safetensors_file

SAMPLES, TESTED, GROUPS, AT_ONCE, LEAST_CHANGE = 640, 100, 10, 320, 1e-6
BARS = {"f64": 1e-5, "f32": 1e-3}


def write_first(data, folder):
    """Writes the first images of both parts of MNIST, as a variant of it."""
    for name, count in (("train", SAMPLES), ("t10k", TESTED)):
        for kind, header, size in (("images-idx3", 16, 784), ("labels-idx1", 8, 1)):
            with gzip.open(data / f"{name}-{kind}-ubyte.gz") as file:
                whole = file.read(header + count * size)
            counted = whole[:4] + count.to_bytes(4, "big") + whole[8:]
            (folder / f"{name}-{kind}-ubyte").write_bytes(counted)
    (folder / "variant.txt").write_text(f"train {SAMPLES}\ntest {TESTED}\n")


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


class Loss:
    def __init__(self, net, images, labels):
        self.net, self.parameters, self.count = net, list(net.parameters()), len(labels)
        self.parts = list(zip(images.split(AT_ONCE), labels.split(AT_ONCE)))

    def losses(self):
        for images, labels in self.parts:
            yield F.cross_entropy(self.net(images), labels, reduction="sum") / self.count

    def value_and_gradient(self):
        value, gradient = 0.0, 0.0
        for loss in self.losses():
            value += loss.item()
            gradient = gradient + flat(torch.autograd.grad(loss, self.parameters))
        return value, gradient

    def product(self, vector):
        total = torch.zeros_like(vector)
        for loss in self.losses():
            gradient = flat(torch.autograd.grad(loss, self.parameters, create_graph=True))
            total += flat(torch.autograd.grad(gradient @ vector, self.parameters))
        return total

    def largest_eigenvalue(self, vector):
        """By power iteration, which finds the eigenvalue that is the largest in magnitude."""
        value = 0.0
        while True:
            vector = vector / vector.norm()
            product = self.product(vector)
            value, before = (vector @ product).item(), value
            if abs(value - before) <= LEAST_CHANGE * abs(value):
                return value
            vector = product


def figures(binaries, data, run, precision):
    """Trains, and returns {figure: (ours, PyTorch's)}."""
    subprocess.run([binaries / "lenet_mnist", "--data", data, "--steps", "100", "--seed", "1", "--precision", precision,
                    "--out", run], check=True, stdout=subprocess.DEVNULL)
    ours = json.loads(subprocess.run(
        [binaries / "curvature", run, "--samples", str(SAMPLES), "--groups", str(GROUPS), "--tolerance", "1e-4", "--json"],
        check=True, stdout=subprocess.PIPE).stdout)
    facts = json.loads((run / "manifest.json").read_text())["data"]
    net = nets.LeNet(1, 28, 10).double()
    state = safetensors_file.read(run / "checkpoints" / "best.safetensors")  # the state that `curvature` reads
    net.load_state_dict({name: state[name].double() for name in net.state_dict()})
    images = torch.frombuffer(bytearray((data / "train-images-idx3-ubyte").read_bytes()[16:]), dtype=torch.uint8)
    labels = torch.frombuffer(bytearray((data / "train-labels-idx1-ubyte").read_bytes()[8:]), dtype=torch.uint8)
    images = (images.reshape(-1, 1, 28, 28).double() / 255 - facts["mean"][0]) / facts["stddev"][0]
    loss = Loss(net, images, labels.long())
    value, gradient = loss.value_and_gradient()
    # `curvature` tells the mean over pairs of different groups; with pairs of a group and itself it is the square of
    # the mean gradient.
    return {"loss": (ours["loss"], value),
            "|mean gradient|^2": (ours["gradient2"] + ours["trace"] / SAMPLES, (gradient @ gradient).item()),
            "curvature along it": (ours["gradient_curvature"] + ours["noise_curvature"] / SAMPLES,
                                   (gradient @ loss.product(gradient)).item()),
            "largest eigenvalue": (ours["largest"][0]["value"], loss.largest_eigenvalue(gradient))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the folder of MNIST")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "build" / "bin")
    arguments = parser.parse_args()
    is_met = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        data = folder / "data"
        data.mkdir()
        write_first(arguments.data, data)
        for precision, bar in BARS.items():
            for figure, (own, peer) in figures(arguments.bin, data, folder / precision, precision).items():
                difference = abs(own - peer) / abs(peer)
                is_met = is_met and difference <= bar
                print(f"{precision} {figure:<20} {own:>16.9g} {peer:>16.9g} {difference:.1e}", flush=True)
    raise SystemExit(not is_met)


if __name__ == "__main__":
    main()
