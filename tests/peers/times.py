#!/usr/bin/env python3
"""Step times here and in PyTorch or JAX, in turn, so that both see the same machine.

    times.py                               all cases but those for a GPU alone (gpt124m), f32 and bf16
    times.py resnet50 --precision f32      one of them
    times.py --rounds 5 --json times.json
    times.py --device cuda resnet50        on a GPU
    times.py --evaluate resnet50           the evaluation of a minibatch, beside inference_mode; not with JAX
    times.py --jax PYTHON mlp128           beside JAX too, which that interpreter has (not lenet, bert, transformer)

PyTorch runs as it is (eager) and by torch.compile; on a CPU with malloc as it is and with one that keeps its pages, on a
GPU compiled code runs by CUDA graphs. Images lie contiguous or channels_last. --ways and --formats, names with commas
between, leave some of that out. For each of these ways our program and PyTorch's are started side by side, and then step
in turns of a second or more, one waiting for the other: a round is a turn of each. Its ratio is PyTorch's median step
over ours. The table has the median, the least and the greatest ratio of the rounds, in PyTorch's better memory format,
and the ratio of the least steps of all; of a GPU's memory at its fullest, ours over PyTorch's.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
GPT_FLAGS = ["--dim", "128", "--layers", "4", "--heads", "4", "--context", "128", "--vocabulary", "256"]
# Radford et al. 2019, the least of its models: 64 samples are 65,536 tokens.
GPT_124M_FLAGS = ["--dim", "768", "--layers", "12", "--heads", "12", "--context", "1024", "--vocabulary", "50257"]
# The base model of Vaswani et al. 2017 (table 3), 32 pairs of 64 tokens each: 2,048 tokens a side.
TRANSFORMER_FLAGS = ["--dim", "512", "--layers", "6", "--heads", "8", "--hidden", "2048", "--vocabulary", "37000", "--dropout",
                     "0.1", "--norm", "post", "--bucket", "64", "--data", "synthetic"]
# A third of the layers of BERT's base model, at two thirds of its width: 16 samples of 128 tokens.
BERT_FLAGS = ["--dim", "512", "--layers", "4", "--heads", "8", "--context", "128", "--vocabulary", "30522", "--dropout", "0.1",
              "--optimizer", "adamw", "--data", "synthetic"]
# The recipe of a case, its minibatch, and flags that both sides take.
CASES = {"resnet50": ("resnet50", 16, []), "resnet_cifar20": ("resnet_cifar", 128, []), "mlp16": ("mlp_mnist", 16, []),
         "mlp128": ("mlp_mnist", 128, []), "lenet": ("lenet_mnist", 128, []),
         "gpt": ("gpt", 16, GPT_FLAGS), "bert": ("bert", 16, BERT_FLAGS),
         "transformer": ("transformer", 32, TRANSFORMER_FLAGS), "gpt124m": ("gpt", 64, GPT_124M_FLAGS)}
BY_NAME_ONLY = ("gpt124m",)  # cases that a CPU would take minutes for
NOT_IN_JAX = ("lenet", "bert", "transformer")
ONE_FORMAT = ("mlp_mnist", "gpt", "transformer", "bert")  # recipes without images, for which a memory format means nothing
MALLOCS = {"": {}, "+pages": {"MALLOC_MMAP_THRESHOLD_": "8589934592", "MALLOC_TRIM_THRESHOLD_": "17179869184",
                               "MALLOC_TOP_PAD_": "268435456"}}
# The ways to run a peer: name, environment, flags of torch_steps.py.
WAYS = {"cpu": [(name + malloc, environment, flags) for name, flags in (("eager", []), ("compiled", ["--compile"]))
                for malloc, environment in MALLOCS.items()],
        "cuda": [("eager", {}, []), ("compiled", {}, ["--compile"])]}
JAX = ("jax", {}, [])
GPU_MINIBATCH = {"resnet50": 256}  # the other cases keep their minibatch
FORMATS = ("contiguous", "channels_last")
TURN_MS = 1000


class Side:
    """A program that steps when it is asked to. `told` is what it says of itself."""

    def __init__(self, command, environment=None):
        self.command = command
        self.process = subprocess.Popen(command, env={**os.environ, **(environment or {})}, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=(errors := tempfile.TemporaryFile("w+")), text=True)
        self.errors = errors
        self.told = self.next_json()

    def next_json(self):
        for line in self.process.stdout:
            if line.startswith(("{", "[")):
                return json.loads(line)
        self.errors.seek(0)
        last_lines = "".join(self.errors.readlines()[-20:])
        raise SystemExit(f"{' '.join(map(str, self.command))}: exit code {self.process.wait()}\n{last_lines}")

    def turn(self, milliseconds):
        """Returns the milliseconds of each step of a turn."""
        print(milliseconds, file=self.process.stdin, flush=True)
        return self.next_json()

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def pair(ours, theirs, environment, rounds):
    """Lets two commands step in turns. Returns their medians and least times in ms, the ratios, their bytes at most."""
    sides = [Side(ours)]
    sides.append(Side([*theirs, "--threads", str(sides[0].told["threads"])], environment))
    times = [[side.turn(TURN_MS) for side in sides] for _ in range(rounds)]
    for side in sides:
        side.end()
    medians = [[statistics.median(turn) for turn in both] for both in times]
    least = [min(min(both[side]) for both in times) for side in range(2)]
    return {"ours_ms": statistics.median(ours for ours, _ in medians), "ours_ms_min": least[0],
            "peer_ms": statistics.median(theirs for _, theirs in medians), "peer_ms_min": least[1],
            "ratios": sorted(theirs / ours for ours, theirs in medians), "ratio_min": least[1] / least[0],
            "peaks": [side.told.get("peak_bytes", 0) for side in sides]}


def measure(case, precision, way, arguments):
    """Returns the pair of the peer's better memory format."""
    recipe, minibatch, flags = CASES[case]
    if arguments.device == "cuda":
        minibatch = GPU_MINIBATCH.get(case, minibatch)
    common = [recipe, *flags, "--minibatch", str(minibatch), "--precision", precision, "--device", arguments.device, "--turns",
              *(["--evaluate"] if arguments.evaluate else [])]
    name, environment, way_flags = way
    peer = [arguments.jax, HERE / "jax_steps.py"] if way == JAX else [sys.executable, HERE / "torch_steps.py"]
    formats = FORMATS[:1] if recipe in ONE_FORMAT else FORMATS[1:] if way == JAX else arguments.formats
    found = []
    for memory_format in formats:
        found.append({"case": case, "minibatch": minibatch, "precision": precision, "peer": name, "format": memory_format,
                      **pair([arguments.bin / "bench", *common, "--threads", str(arguments.threads)],
                             [*peer, *common, "--format", memory_format, *way_flags], environment, arguments.rounds)})
    return min(found, key=lambda row: statistics.median(row["ratios"]))


def parse_pairs(description, names, rounds, compile_help=argparse.SUPPRESS):
    """Parses the command line of a script that pairs our programs with PyTorch's, each of which is a call with --side."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names))
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds that are timed (%(default)s)")
    parser.add_argument("--compile", action="store_true", help=compile_help)
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    parser.add_argument("--side", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--format", help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in names]
    if unknown:
        parser.error(f"expected {', '.join(names)}, got {', '.join(unknown)}")
    return arguments


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], help="f32 and bf16 where not given; tf32 on a GPU")
    parser.add_argument("--rounds", type=int, default=9, help="turns of each side (%(default)s)")
    parser.add_argument("--threads", type=int, default=0, help="of both sides; 0 = as many as bench takes")
    parser.add_argument("--device", choices=list(WAYS), default="cpu")
    parser.add_argument("--evaluate", action="store_true", help="evaluations of a minibatch in place of training steps")
    parser.add_argument("--ways", default="", help="how a peer is run; all where not given")
    parser.add_argument("--formats", default=",".join(FORMATS), help="memory formats of PyTorch")
    parser.add_argument("--jax", metavar="PYTHON", help="interpreter that has JAX; on a CPU")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    parser.add_argument("--bin", type=pathlib.Path, default=HERE.parents[1] / "build" / "bin")
    arguments = parser.parse_args()
    cuda = arguments.device == "cuda"
    ways = [*WAYS[arguments.device], *([JAX] if arguments.jax and not cuda else [])]
    ways = [way for way in ways if not arguments.ways or way[0] in arguments.ways.split(",")]
    arguments.formats = [name for name in FORMATS if name in arguments.formats.split(",")]
    if arguments.evaluate and arguments.jax:
        parser.error("--evaluate: expected no --jax")
    if not ways or not arguments.formats:
        parser.error("expected ways of " + ", ".join(way[0] for way in [*WAYS[arguments.device], JAX]) +
                     " and formats of " + ", ".join(FORMATS))
    unknown = [case for case in arguments.cases if case not in CASES]
    if unknown:
        parser.error(f"expected cases of {', '.join(CASES)}, got {', '.join(unknown)}")

    if not (arguments.bin / "bench").exists():
        parser.error(f"expected {arguments.bin / 'bench'}, which `./run bench --help` builds")

    rows = []
    print(f"{'case':<15} {'n':>4} {'dtype':<5} {'peer':<14} {'format':<13} {'ours ms':>9} {'peer ms':>9} {'median':>7} "
          f"{'least':>6} {'most':>6} {'of min':>6}" + (f" {'memory':>7}" if cuda else ""), flush=True)
    for precision in [arguments.precision] if arguments.precision else ["f32", "bf16"]:
        for case in arguments.cases or [name for name in CASES if name not in BY_NAME_ONLY]:
            for way in ways:
                if way == JAX and case in NOT_IN_JAX:
                    continue
                row = measure(case, precision, way, arguments)
                rows.append(row)
                ratios = row["ratios"]
                print(f"{case:<15} {row['minibatch']:>4} {precision:<5} {row['peer']:<14} {row['format']:<13} "
                      f"{row['ours_ms']:>9.3f} {row['peer_ms']:>9.3f} {statistics.median(ratios):>7.2f} {ratios[0]:>6.2f} "
                      f"{ratios[-1]:>6.2f} {row['ratio_min']:>6.2f}" +
                      (f" {row['peaks'][0] / row['peaks'][1]:>7.2f}" if cuda else ""), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": arguments.rounds, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
