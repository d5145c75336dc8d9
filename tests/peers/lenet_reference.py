#!/usr/bin/env python3
"""LeNet trained by PyTorch under the schedule of lenet_mnist: test errors of a few seeds, for recipes/BENCHMARKS.md.

    lenet_reference.py --data DIR                        MNIST, 6 epochs
    lenet_reference.py --data DIR --dataset fashion-mnist --epochs 10

The net has the same 16 and 32 feature maps, PyTorch's own initial weights; SGD with momentum 0.9, minibatch 64, rate
0.05 that falls by a cosine over the steps, weight decay 5e-4 on weights alone.
"""
import argparse
import gzip
import math
import pathlib

import numpy as np
import torch
import torch.nn.functional as F

import nets

MINIBATCH, RATE, MOMENTUM, DECAY = 64, 0.05, 0.9, 5e-4


def idx(path, header):
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=header)


def part(folder, name):
    images = idx(folder / f"{name}-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
    labels = idx(folder / f"{name}-labels-idx1-ubyte.gz", 8)
    return torch.from_numpy(images.astype(np.float32) / 255), torch.from_numpy(labels.astype(np.int64))


def error_of(net, images, labels):
    net.eval()
    with torch.no_grad():
        wrong = sum((net(x).argmax(1) != y).sum().item() for x, y in zip(images.split(1000), labels.split(1000)))
    return 100 * wrong / len(labels)


def train(seed, epochs, train_part, test_part):
    torch.manual_seed(seed)
    images, labels = train_part
    net = nets.LeNet(1, 28, 10)
    weights = [p for p in net.parameters() if p.dim() > 1]
    others = [p for p in net.parameters() if p.dim() == 1]
    optimizer = torch.optim.SGD([{"params": weights, "weight_decay": DECAY}, {"params": others}], lr=RATE,
                                momentum=MOMENTUM)
    steps_per_epoch = len(labels) // MINIBATCH
    steps = epochs * steps_per_epoch
    for step in range(steps):
        if step % steps_per_epoch == 0:
            order = torch.randperm(len(labels))
        at = order[(step % steps_per_epoch) * MINIBATCH:][:MINIBATCH]
        for group in optimizer.param_groups:
            group["lr"] = RATE * (1 + math.cos(math.pi * step / steps)) / 2
        net.train()
        optimizer.zero_grad()
        F.cross_entropy(net(images[at]), labels[at]).backward()
        optimizer.step()
    return error_of(net, *test_part)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder that has the data sets' folders")
    parser.add_argument("--dataset", default="mnist")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    train_part, test_part = part(options.data / options.dataset, "train"), part(options.data / options.dataset, "t10k")
    mean, deviation = train_part[0].mean(), train_part[0].std()
    train_part, test_part = [((x - mean) / deviation, y) for x, y in (train_part, test_part)]
    errors = [train(seed, options.epochs, train_part, test_part) for seed in range(1, options.seeds + 1)]
    print(f"{options.dataset}, {options.epochs} epochs:", ", ".join(f"{e:.2f}" for e in errors), "%, mean",
          f"{sum(errors) / len(errors):.2f} %")


if __name__ == "__main__":
    main()
