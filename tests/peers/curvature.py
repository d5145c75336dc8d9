#!/usr/bin/env python3
"""The curvature of a LeNet run's training loss in PyTorch, in f64, beside that of `curvature RUN`.

    curvature.py RUN --data DIR [--bin BIN]

RUN is a run of lenet_mnist on MNIST whose minibatch times 10 divides the 60,000 training samples, of which both take all.
Prints for each figure ours, PyTorch's and their relative difference; exits with 1 where one is above 1 %.
"""
import argparse
import json
import pathlib
import subprocess

import torch
import torch.nn.functional as F

import nets
import safetensors_file
from lenet_reference import part

GROUPS, AT_ONCE, LEAST_CHANGE = 10, 2000, 1e-5


def flat(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


class Loss:
    def __init__(self, net, images, labels):
        self.parameters, self.count = list(net.parameters()), len(labels)
        self.parts = list(zip(images.split(AT_ONCE), labels.split(AT_ONCE)))
        self.net = net

    def losses(self):
        for images, labels in self.parts:
            yield F.cross_entropy(self.net(images), labels, reduction="sum") / self.count

    def value(self):
        with torch.no_grad():
            return sum(loss.item() for loss in self.losses())

    def gradient(self):
        return sum(flat(torch.autograd.grad(loss, self.parameters)) for loss in self.losses())

    def product(self, vector):
        total = torch.zeros_like(vector)
        for loss in self.losses():
            gradient = flat(torch.autograd.grad(loss, self.parameters, create_graph=True))
            total += flat(torch.autograd.grad(gradient @ vector, self.parameters))
        return total


def largest_eigenvalue(loss, dimension):
    """By power iteration; the Hessian's largest eigenvalue is the largest in magnitude after a few steps."""
    vector = torch.randn(dimension, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    value = 0.0
    while True:
        vector /= vector.norm()
        product = loss.product(vector)
        value, before = (vector @ product).item(), value
        vector = product
        if abs(value - before) <= LEAST_CHANGE * abs(value):
            return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "build" / "bin")
    arguments = parser.parse_args()
    ours = json.loads(subprocess.run(
        [arguments.bin / "curvature", arguments.run, "--samples", "60000", "--groups", str(GROUPS), "--tolerance", "1e-3",
         "--json"], check=True, stdout=subprocess.PIPE).stdout)
    statistics = json.loads((arguments.run / "manifest.json").read_text())["data"]
    images, labels = part(arguments.data, "train")
    net = nets.LeNet(1, 28, 10).double()
    net.load_state_dict(safetensors_file.read(arguments.run / "model.safetensors"))
    loss = Loss(net, (images.double() - statistics["mean"][0]) / statistics["stddev"][0], labels)

    gradient = loss.gradient()
    # The mean over all pairs of groups, of the same group too, is the square of the mean gradient of all samples.
    samples = ours["samples"]
    rows = {"loss": (ours["loss"], loss.value()),
            "|mean gradient|^2": (ours["gradient2"] + ours["trace"] / samples, (gradient @ gradient).item()),
            "its curvature": (ours["gradient_curvature"] + ours["noise_curvature"] / samples,
                              (gradient @ loss.product(gradient)).item()),
            "largest eigenvalue": (ours["largest"][0]["value"], largest_eigenvalue(loss, len(gradient)))}
    print(f"{samples} samples, {ours['parameters']} parameters")
    worst = 0.0
    for name, (own, peer) in rows.items():
        difference = abs(own - peer) / abs(peer)
        worst = max(worst, difference)
        print(f"{name:<20} {own:>12.6g} {peer:>12.6g} {difference:.1e}")
    raise SystemExit(worst > 0.01)


if __name__ == "__main__":
    main()
