#!/usr/bin/env python3
"""Step times of nets that no recipe has (other_nets.cpp) here and in PyTorch, in turns as those of times.py.

    other_nets.py [NET ...] [--precision f32] [--rounds 5] [--json FILE]

PyTorch keeps its pages (malloc), runs as it is and by torch.compile, each with contiguous and channels_last images. The
table has the better of the two: median, least and greatest ratio of the rounds, PyTorch's step over ours.
"""
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

import times
from turns import tell_times

MINIBATCH = 64


def normed(before, channels, kernel=1, *more, act=None, **options):
    layers = [nn.Conv2d(before, channels, kernel, *more, bias=False, **options), nn.BatchNorm2d(channels)]
    return layers + ([act()] if act else [])


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def inverted_residual(before, channels, stride):
    wide = 6 * before
    layers = [*normed(before, wide, act=nn.ReLU6), *normed(wide, wide, 3, stride, 1, groups=wide, act=nn.ReLU6),
              *normed(wide, channels)]
    return (Residual if stride == 1 and before == channels else nn.Sequential)(*layers)


def mobilenet():
    layers, before = normed(3, 32, 3, 1, 1, act=nn.ReLU6), 32
    for channels, blocks, stride in ((24, 2, 1), (32, 3, 2), (64, 3, 2), (96, 2, 1)):
        for i in range(blocks):
            layers.append(inverted_residual(before, channels, 1 if i else stride))
            before = channels
    return nn.Sequential(*layers, *normed(before, 320, act=nn.ReLU6), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(320, 10))


class Permute(nn.Module):
    def __init__(self, *axes):
        super().__init__()
        self.axes = axes

    def forward(self, x):
        return x.permute(self.axes)


def convnext():
    last, first = Permute(0, 2, 3, 1), Permute(0, 3, 1, 2)

    def blocks(c):
        return [Residual(nn.Conv2d(c, c, 7, padding=3, groups=c), last, nn.LayerNorm(c), nn.Linear(c, 4 * c), nn.GELU(),
                         nn.Linear(4 * c, c), first) for _ in range(3)]
    return nn.Sequential(nn.Conv2d(3, 48, 4, 4), *blocks(48), last, nn.LayerNorm(48), first, nn.Conv2d(48, 96, 2, 2), *blocks(96),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(96), nn.Linear(96, 10))


class Vit(nn.Module):
    def __init__(self, width=192):
        super().__init__()
        self.patch = nn.Conv2d(3, width, 4, 4)
        self.places = nn.Parameter(0.02 * torch.randn(64, width))
        self.layers = nn.Sequential(*(nn.TransformerEncoderLayer(width, 3, 4 * width, 0.0, batch_first=True, norm_first=True)
                                      for _ in range(4)))
        self.norm, self.fc = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2) + self.places
        return self.fc(self.norm(self.layers(x)).mean(1))


def two_convolutions(before, channels):
    return nn.Sequential(*normed(before, channels, 3, padding=1, act=nn.ReLU), *normed(channels, channels, 3, padding=1, act=nn.ReLU))


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.fine, self.middle, self.coarse = two_convolutions(3, 32), two_convolutions(32, 64), two_convolutions(64, 128)
        self.ups = nn.ModuleList(nn.ConvTranspose2d(2 * c, c, 2, 2, bias=False) for c in (64, 32))
        self.joins = nn.ModuleList(two_convolutions(2 * c, c) for c in (64, 32))
        self.out = nn.Conv2d(32, 10, 1)

    def forward(self, x):
        fine = self.fine(x)
        middle = self.middle(F.max_pool2d(fine, 2))
        x = self.coarse(F.max_pool2d(middle, 2))
        for up, join, beside in zip(self.ups, self.joins, (middle, fine)):
            x = join(torch.cat([up(x), beside], 1))
        return self.out(x).mean((2, 3))


class OfRows(nn.Module):
    def __init__(self, width=512):
        super().__init__()
        self.rnn, self.fc = nn.LSTM(96, width, 2, batch_first=True), nn.Linear(width, 10)

    def forward(self, x):
        return self.fc(self.rnn(x.transpose(1, 2).flatten(2))[0][:, -1])


NETS = {"mobilenet": mobilenet, "convnext": convnext, "vit": Vit, "unet": UNet, "lstm": OfRows}


def side(arguments):
    """PyTorch's side of a pair: steps when it is asked to."""
    torch.set_num_threads(arguments.threads)
    memory_format = torch.channels_last if arguments.format == "channels_last" else torch.contiguous_format
    net = NETS[arguments.names[0]]().to(memory_format=memory_format).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, fused=True)
    images = torch.randn(MINIBATCH, 3, 32, 32).contiguous(memory_format=memory_format)
    labels = torch.arange(MINIBATCH) % 10
    loss_of = lambda: F.cross_entropy(net(images), labels)
    loss_of = torch.compile(loss_of) if arguments.compile else loss_of

    def seconds_a_step(steps):
        begin = time.perf_counter()
        for _ in range(steps):
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=arguments.precision == "bf16"):
                loss = loss_of()
            loss.backward()
            optimizer.step()
            loss.item()
        return (time.perf_counter() - begin) / steps

    tell_times(seconds_a_step, 1, True, lambda: {"parameters": sum(p.numel() for p in net.parameters())})


def main():
    arguments = times.parse_pairs(__doc__, NETS, 5)
    if arguments.side:
        return side(arguments)
    rows = []
    for name in arguments.names or NETS:
        for way, flags in (("eager", []), ("compiled", ["--compile"])):
            ours = [arguments.bin / "other_nets", "bench", "--kind", name, "--data", "synthetic", "--minibatch", str(MINIBATCH),
                    "--precision", arguments.precision, "--turns"]
            theirs = [sys.executable, __file__, name, "--side", "--precision", arguments.precision, *flags]
            found = [{"net": name, "way": way, "format": memory_format,
                      **times.pair(ours, [*theirs, "--format", memory_format], times.MALLOCS["+pages"], arguments.rounds)}
                     for memory_format in times.FORMATS]
            rows.append(min(found, key=lambda row: statistics.median(row["ratios"])))
            ratios = rows[-1]["ratios"]
            print(f"{name:<10} {arguments.precision} {way:<9} {rows[-1]['format']:<13} {statistics.median(ratios):.2f} "
                  f"({ratios[0]:.2f} to {ratios[-1]:.2f})", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
