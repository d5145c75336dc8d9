#!/usr/bin/env python3
"""The curvature and the sharpness of LeNet's loss over 640 images of MNIST, beside PyTorch and scipy in f64.

    curvature.py --data DIR [--bin BIN]

Trains 100 steps of lenet_mnist on those images alone, in f64 and in f32, and computes loss, gradient and products with
the Hessian for the run's parameters by PyTorch. Prints each figure of both and their relative difference; exits with 1
where one is above 1e-5 (f64; the eigenvalue ends its iteration at such a change) or 1e-3 (f32). The greatest loss by
`sharpness` stands beside the one that ten iterations of scipy's L-BFGS-B find: exits with 1 where it is lower by more
than 1 %.
"""
import argparse
import gzip
import json
import pathlib
import subprocess
import tempfile

import scipy.optimize
import torch
import torch.nn.functional as F

import nets
import safetensors_file

SAMPLES, TESTED, GROUPS, AT_ONCE, LEAST_CHANGE = 640, 100, 10, 320, 1e-6
BARS = {"f64": 1e-5, "f32": 1e-3}
EPSILONS, ITERATIONS, LEAST_SHARE = (1e-3, 5e-4), 10, 0.99  # of Keskar et al. 2017; of the peer's greatest loss


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

    def greatest_in_box(self, epsilon):
        """Maximises as Keskar et al. 2017 do, by ten iterations of L-BFGS-B."""
        centre = flat([p.detach() for p in self.parameters]).numpy().copy()
        widths = epsilon * (abs(centre) + 1)

        def negative(x):
            torch.nn.utils.vector_to_parameters(torch.from_numpy(x.copy()), self.parameters)
            value, gradient = self.value_and_gradient()
            return -value, -gradient.numpy()

        found = scipy.optimize.minimize(negative, centre, jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS},
                                        bounds=list(zip(centre - widths, centre + widths)))
        torch.nn.utils.vector_to_parameters(torch.from_numpy(centre), self.parameters)
        return -found.fun


def answer(binaries, tool, run, *flags):
    words = [binaries / tool, run, "--samples", str(SAMPLES), *flags, "--json"]
    return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE).stdout)


def trained(binaries, data, run, precision):
    """Trains, and returns PyTorch's loss at the run's parameters."""
    subprocess.run([binaries / "lenet_mnist", "--data", data, "--steps", "100", "--seed", "1", "--precision", precision,
                    "--out", run], check=True, stdout=subprocess.DEVNULL)
    facts = json.loads((run / "manifest.json").read_text())["data"]
    net = nets.LeNet(1, 28, 10).double()
    state = safetensors_file.read(run / "checkpoints" / "best.safetensors")  # the state that the tools read
    net.load_state_dict({name: state[name].double() for name in net.state_dict()})
    images = torch.frombuffer(bytearray((data / "train-images-idx3-ubyte").read_bytes()[16:]), dtype=torch.uint8)
    labels = torch.frombuffer(bytearray((data / "train-labels-idx1-ubyte").read_bytes()[8:]), dtype=torch.uint8)
    images = (images.reshape(-1, 1, 28, 28).double() / 255 - facts["mean"][0]) / facts["stddev"][0]
    return Loss(net, images, labels.long())


def curvatures(binaries, run, loss, bar):
    """Yields rows: figure, ours, PyTorch's, whether they differ by no more than the bar."""
    ours = answer(binaries, "curvature", run, "--groups", str(GROUPS), "--tolerance", "1e-4")
    value, gradient = loss.value_and_gradient()
    # `curvature` tells the mean over pairs of different groups; with pairs of a group and itself it is the square of
    # the mean gradient.
    for figure, own, peer in (
            ("loss", ours["loss"], value),
            ("|mean gradient|^2", ours["gradient2"] + ours["trace"] / SAMPLES, (gradient @ gradient).item()),
            ("curvature along it", ours["gradient_curvature"] + ours["noise_curvature"] / SAMPLES,
             (gradient @ loss.product(gradient)).item()),
            ("largest eigenvalue", ours["largest"][0]["value"], loss.largest_eigenvalue(gradient))):
        yield figure, own, peer, abs(own - peer) <= bar * abs(peer)


def sharpnesses(binaries, run, loss):
    """Yields rows: figure, ours, L-BFGS-B's, whether ours is as great."""
    for epsilon in EPSILONS:
        own = answer(binaries, "sharpness", run, "--epsilon", str(epsilon), "--iterations", str(ITERATIONS))["greatest_loss"]
        peer = loss.greatest_in_box(epsilon)
        yield f"greatest loss, {epsilon:g}", own, peer, own >= LEAST_SHARE * peer


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
            run = folder / precision
            loss = trained(arguments.bin, data, run, precision)
            rows = [*curvatures(arguments.bin, run, loss, bar), *sharpnesses(arguments.bin, run, loss)]
            for figure, own, peer, is_row_met in rows:
                is_met = is_met and is_row_met
                print(f"{precision} {figure:<22} {own:>16.9g} {peer:>16.9g} {(own - peer) / abs(peer):+.1e}", flush=True)
    raise SystemExit(not is_met)


if __name__ == "__main__":
    main()
