#!/usr/bin/env python3
"""Ten steps of the tutorial's two networks here and in PyTorch, in f64, with an optimizer for each network.

Both optimizers step at once from the same old values: each loss's gradient is taken for its own network before either
is changed. A difference is relative to the greatest absolute value of the tensor. Exit code 1 where a loss, a
parameter or a mean of Adam's differs by more than 1e-9.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

import compare
import safetensors_file



def layer(values, scope, x):
    return F.linear(x, values[f"{scope}.weight"], values[f"{scope}.bias"])


def made_of(values, noise):
    return torch.sigmoid(layer(values, "generator.image", F.relu(layer(values, "generator.hidden", noise))))


def odds(values, images):
    hidden = F.leaky_relu(layer(values, "discriminator.hidden", images), 0.2)
    return layer(values, "discriminator.odds", hidden).squeeze(1)


def losses_of(values, images, noise):
    made = made_of(values, noise)
    of_made = odds(values, made)
    generator = F.softplus(-of_made).mean()
    return generator, (F.softplus(-odds(values, images)) + F.softplus(of_made)).mean()


def run_torch(trace, initial, batches):
    values = {name: tensor.clone().requires_grad_(True) for name, tensor in initial.items()}
    groups = {group: {name: value for name, value in values.items() if name.startswith(group + ".")}
              for group in trace["groups"]}
    optimizers = {}
    for group, facts in trace["groups"].items():
        hyper = facts["hyper_parameters"]
        optimizers[group] = torch.optim.Adam(groups[group].values(), betas=(hyper["beta1"], hyper["beta2"]),
                                             eps=hyper["epsilon"])
    losses = []
    for step in range(trace["steps"]):
        images = batches[f"images.{step}"].double().flatten(1) / 255
        generator, discriminator = losses_of(values, images, batches[f"noise.{step}"].double())
        for group, loss in (("generator", generator), ("discriminator", discriminator)):
            gradients = torch.autograd.grad(loss, list(groups[group].values()), retain_graph=True)
            for value, gradient in zip(groups[group].values(), gradients):
                value.grad = gradient
        for group, optimizer in optimizers.items():
            optimizer.param_groups[0]["lr"] = trace["groups"][group]["learning_rates"][step]
            optimizer.step()
        losses.append((generator + discriminator).item())
    means = {name: optimizers[group].state[value]["exp_avg"] for group in groups for name, value in groups[group].items()}
    return losses, values, means


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments, flags = parser.parse_known_intermixed_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([arguments.bin / "two_networks", "trace", "--precision", "f64", "--out", folder, *flags],
                       check=True, stdout=subprocess.DEVNULL)
        trace, initial, batches, _, final = compare.read_trace(folder)
    losses, values, means = run_torch(trace, initial, batches)
    rates = ", ".join(f"{group} {facts['learning_rate']:g}" for group, facts in trace["groups"].items())
    print(f"PyTorch {torch.__version__}; two_networks f64, {trace['steps']} steps of {trace['minibatch']}, rates {rates}")
    tensors = ((name, value, means[name]) for name, value in values.items())
    sys.exit(0 if compare.judge(trace, initial, final, losses, tensors) else 1)


if __name__ == "__main__":
    main()
