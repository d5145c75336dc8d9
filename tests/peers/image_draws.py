#!/usr/bin/env python3
"""What training draws for an image, beside torchvision: boxes of RandomResizedCrop and factors of ColorJitter.

    image_draws.py [--count 20000] [--bin build/bin]

Area, aspect ratio and place of the boxes in several images are compared by Kolmogorov and Smirnov's test of two samples, the
share of boxes that are the one in the middle, which both take after ten that do not fit, by Fisher's test ("middle" and
torchvision's share; the statistic is the ratio of odds). Colours are compared as the affine map of a pixel that brightness,
contrast and saturation make together without limits between them. Lighting is held to a normal distribution. Exit code 1
where a p-value beside torchvision is below 1e-4. Needs scipy.
"""
import argparse
import math
import pathlib
import random
import subprocess
import sys

import numpy
import torch
from scipy import stats
from torchvision.transforms import ColorJitter, v2

SIZES = [(500, 375), (375, 500), (224, 224), (700, 300), (1000, 300), (40, 31), (5, 4)]
GRAY = numpy.array([0.299, 0.587, 0.114])
LEAST = 1e-4


def rows(program, *words):
    text = subprocess.run([program, *map(str, words)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return numpy.array([[float(word) for word in line.split()] for line in text.splitlines()])


def torchvision_boxes(width, height, count):
    crop, image = v2.RandomResizedCrop(224), torch.empty(3, height, width, device="meta")
    drawn = [crop.make_params([image]) for _ in range(count)]
    return numpy.array([[box["left"], box["top"], box["width"], box["height"]] for box in drawn])


def fallback(width, height):
    """The box that torchvision takes in the middle when ten have not fitted."""
    box = width, height
    if width / height < 3 / 4:
        box = width, round(width / (3 / 4))
    if width / height > 4 / 3:
        box = round(height * (4 / 3)), height
    return [(width - box[0]) // 2, (height - box[1]) // 2, *box]


def jitter_map(mean):
    """Matrix and shift of a draw of torchvision's ColorJitter, for an image of this mean colour."""
    order, brightness, contrast, saturation, _ = ColorJitter.get_params([0.6, 1.4], [0.6, 1.4], [0.6, 1.4], None)
    matrix, shift = numpy.eye(3), numpy.zeros(3)
    for which in order:
        if which == 0:
            step, add = brightness * numpy.eye(3), 0
        elif which == 1:
            step, add = contrast * numpy.eye(3), (1 - contrast) * GRAY @ (matrix @ mean + shift)
        elif which == 2:
            step, add = saturation * numpy.eye(3) + (1 - saturation) * numpy.outer(numpy.ones(3), GRAY), 0
        else:
            continue
        matrix, shift = step @ matrix, step @ shift + add
    return [*matrix.flatten(), *shift]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build/bin")
    arguments = parser.parse_args()
    program, count = arguments.bin / "image_draws", arguments.count
    torch.manual_seed(1)
    random.seed(1)
    worst = 1.0
    print(f"{'image':<10} {'of its box':<14} {'statistic':>9} {'p':>8}")

    def tell(image, what, found):
        nonlocal worst
        worst = min(worst, found.pvalue)
        print(f"{image:<10} {what:<14} {found.statistic:>9.4f} {found.pvalue:>8.4f}")

    for width, height in SIZES:
        image, theirs = f"{width}x{height}", torchvision_boxes(width, height, count)
        ours = rows(program, "boxes", width, height, count)
        for what, of in {"area": lambda b: b[:, 2] * b[:, 3], "ratio": lambda b: b[:, 2] / b[:, 3], "left": lambda b: b[:, 0],
                         "top": lambda b: b[:, 1], "middle across": lambda b: b[:, 0] + b[:, 2] / 2}.items():
            tell(image, what, stats.ks_2samp(of(ours), of(theirs)))
        middle = [int((boxes == fallback(width, height)).all(1).sum()) for boxes in (ours, theirs)]
        tell(image, f"middle {middle[1] / count:.4f}", stats.fisher_exact([middle, [count - n for n in middle]]))

    ours = rows(program, "colours", 0, count)
    theirs = numpy.array([jitter_map(numpy.array([120, 100, 80])) for _ in range(count)])
    for index, what in ((0, "red of red"), (1, "red of green"), (5, "green of blue"), (8, "blue of blue"), (9, "shift of red")):
        tell("jitter", what, stats.ks_2samp(ours[:, index], theirs[:, index]))

    light = rows(program, "colours", 1, count)[:, 9] / 255
    components = numpy.array([-0.5675, 0.7192, 0.4009]) * [0.2175, 0.0188, 0.0045]
    deviation = 0.1 * math.sqrt((components ** 2).sum())
    found = stats.kstest(light / deviation, "norm")
    print(f"lighting: deviation {light.std() / deviation:.4f} of the formula's, kurtosis {stats.kurtosis(light):.3f}, "
          f"distance from a normal distribution {found.statistic:.4f}")
    return 1 if worst < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
