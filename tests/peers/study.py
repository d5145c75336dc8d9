#!/usr/bin/env python3
"""What ./run study leaves, read by pandas: the example of recipes/answer/README.md runs as it stands there, and the fit is held
against one that numpy makes in another way.

    study.py [--bin build/bin]

Needs pandas. MLPerf's reference convergence points of ResNet-50 go through the tool; the example's B_crit must be that
of study.json's line, and the least squares of log S, found by closing grids, with k = 1 and free, its fits. Exit code 1 where one is not.
"""
import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import pandas

ROOT = pathlib.Path(__file__).parents[2]
IMAGENET = 1281167  # number of training images
# These are minibatches and their mean epochs to 75.9 % (mlcommons/logging, rcps_resnet.json).
EPOCHS = {1632: 35.0, 3264: 35.2, 4096: 40.0, 8192: 42.0, 13056: 45.4, 32768: 56.0, 49152: 68.0, 58880: 79.9, 65536: 84.5,
          67840: 85.9}


def example():
    """Returns the lines of Python in the README."""
    section = (ROOT / "recipes/answer/README.md").read_text()
    return re.search(r"```python\n(.*?)```", section, re.DOTALL).group(1)


def closed_in(low, high, cost):
    """Returns the place of the least cost, by grids that become finer around it."""
    for _ in range(12):
        places = numpy.linspace(low, high, 41)
        best = numpy.argmin([cost(place) for place in places])
        low, high = places[max(best - 1, 0)], places[min(best + 1, 40)]
    return places[best]


def log_fit(minibatch, steps, k):
    """Returns B_crit, S_min and the sum of squares of a least-squares fit of log S, in which S_min is a mean."""
    def rest(log_b_crit):
        return numpy.log(steps) - numpy.log1p((numpy.exp(log_b_crit) / minibatch) ** k) / k
    place = closed_in(numpy.log(minibatch.min() / 100), numpy.log(minibatch.max() * 100), lambda at: rest(at).var())
    return numpy.exp(place), numpy.exp(rest(place).mean()), rest(place).var() * len(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/bin")
    program = (parser.parse_args().bin / "study").resolve()
    lines = example()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pandas.DataFrame({"minibatch": EPOCHS.keys(), "epochs": EPOCHS.values()}).to_csv("runs.csv")
        subprocess.run([program, "runs.csv", "--samples-per-epoch", str(IMAGENET), "--out", "runs/study"], check=True,
                       stdout=subprocess.DEVNULL)
        answer = json.loads(pathlib.Path("runs/study/study.json").read_text())
        table = pandas.read_csv("runs/study/study.csv")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(lines, {})  # runs the example word for word
    measured = table.minibatch.to_numpy(float), table.steps.to_numpy()
    k = numpy.exp(closed_in(numpy.log(1 / 8), numpy.log(8), lambda at: log_fit(*measured, numpy.exp(at))[2]))
    b_crit, s_min, squares = log_fit(*measured, 1)
    free_b_crit, free_s_min, free_squares = log_fit(*measured, k)
    fit, of_one, test = answer["fit"], answer["fit_with_k_1"], answer["law_test"]
    pairs = {"B_crit of the example": (float(said.getvalue().split()[-1]), answer["line"]["b_crit"]),
             "B_crit with k 1": (of_one["b_crit"]["value"], b_crit),
             "S_min with k 1": (of_one["s_min"]["value"], s_min),
             "k": (fit["k"]["value"], k),
             "B_crit with k free": (fit["b_crit"]["value"], free_b_crit),
             "S_min with k free": (fit["s_min"]["value"], free_s_min),
             "F": (test["f"], (squares - free_squares) / (free_squares / test["degrees"]))}
    worst = 0.0
    for name, (ours, theirs) in pairs.items():
        worst = max(worst, abs(ours / theirs - 1))
        print(f"{name}: {ours:.6g}, {theirs:.6g}")
    print(f"example of {len(lines.splitlines())} lines, pandas {pandas.__version__}: differences up to {worst:.1e}")
    return 1 if worst > 1e-4 or len(lines.splitlines()) > 5 else 0


if __name__ == "__main__":
    sys.exit(main())
