#!/usr/bin/env python3
"""Step times here and in PyTorch, in turn, so that both see the same machine.

    times.py                               all cases but those for a GPU alone (gpt124m), f32 and bf16
    times.py resnet50 --precision f32      one of them
    times.py --rounds 5 --json times.json
    times.py --device cuda resnet50        on a GPU, against torch.compile

A round runs each side once, in a process of its own: ours, then PyTorch contiguous and channels_last, each with malloc
as it is and with one that keeps its pages; on a GPU PyTorch as it is and compiled (torch.compile with CUDA graphs).
--ways and --formats, names with commas between, leave some of that out.
PyTorch's time is that of its better memory format; a ratio is PyTorch's over ours, of medians and of least times over
all rounds; of a GPU's memory at its fullest, ours over PyTorch's.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
GPT_FLAGS = ["--dim", "128", "--layers", "4", "--heads", "4", "--context", "128", "--vocabulary", "256"]
# Radford et al. 2019, the least of its models: 64 samples are 65,536 tokens.
GPT_124M_FLAGS = ["--dim", "768", "--layers", "12", "--heads", "12", "--context", "1024", "--vocabulary", "50257"]
# The base model of Vaswani et al. 2017 (table 3), 32 pairs of 64 tokens each: 2,048 tokens a side.
TRANSFORMER_FLAGS = ["--dim", "512", "--layers", "6", "--heads", "8", "--hidden", "2048", "--vocabulary", "37000", "--dropout",
                     "0.1", "--norm", "post", "--bucket", "64", "--data", "synthetic"]
# The recipe of a case, its minibatch, and flags that both sides take.
CASES = {"resnet50": ("resnet50", 16, []), "resnet_cifar20": ("resnet_cifar", 128, []), "mlp16": ("mlp_mnist", 16, []),
         "mlp128": ("mlp_mnist", 128, []), "gpt": ("gpt", 16, GPT_FLAGS),
         "transformer": ("transformer", 32, TRANSFORMER_FLAGS), "gpt124m": ("gpt", 64, GPT_124M_FLAGS)}
BY_NAME_ONLY = ("gpt124m",)  # cases that a CPU would take minutes for
ONE_FORMAT = ("mlp_mnist", "gpt", "transformer")  # recipes without images, for which a memory format means nothing
MALLOCS = {"default": {}, "page-keeping": {"MALLOC_MMAP_THRESHOLD_": "8589934592",
                                           "MALLOC_TRIM_THRESHOLD_": "17179869184",
                                           "MALLOC_TOP_PAD_": "268435456"}}
# The ways to run PyTorch: name, environment, flags of torch_steps.py.
WAYS = {"cpu": [(name, environment, []) for name, environment in MALLOCS.items()],
        "cuda": [("eager", {}, []), ("compiled", {}, ["--compile"])]}
GPU_MINIBATCH = {"resnet50": 256}  # the other cases keep their minibatch
FORMATS = ("contiguous", "channels_last")


def last_json(command, extra=None):
    done = subprocess.run(command, env={**os.environ, **(extra or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        last_lines = "\n".join(done.stderr.splitlines()[-20:])
        raise SystemExit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{last_lines}")
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(recipe, minibatch, case_flags, precision, rounds, bench, threads, device, ways, formats):
    """Returns {side: {median, min, peak}} in ms and bytes; a side is "ours" or (way, format). PyTorch tells bytes on a GPU only."""
    samples = {}
    for _ in range(rounds):
        ours = last_json([bench, recipe, *case_flags, "--minibatch", str(minibatch), "--precision", precision, "--json",
                          "--device", device, *(["--threads", str(threads)] if threads else [])])
        samples.setdefault("ours", []).append(ours)
        for way, environment, flags in ways:
            for memory_format in formats if recipe not in ONE_FORMAT else FORMATS[:1]:
                theirs = last_json([sys.executable, pathlib.Path(__file__).with_name("torch_steps.py"), recipe, *case_flags,
                                    "--minibatch", str(minibatch), "--precision", precision, "--format", memory_format,
                                    "--device", device, "--threads", str(ours["threads"] if device == "cpu" else 0),
                                    *flags], environment)
                samples.setdefault((way, memory_format), []).append(theirs)
    return {side: {"median": statistics.median(s["step_ms_median"] for s in found),
                   "min": min(s["step_ms_min"] for s in found),
                   "peak": max(s.get("peak_bytes", 0) for s in found)} for side, found in samples.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--precision", choices=["f32", "bf16"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=0, help="of both sides; 0 = as many as bench takes")
    parser.add_argument("--device", choices=list(WAYS), default="cpu")
    parser.add_argument("--ways", default="", help="how PyTorch is run; all where not given")
    parser.add_argument("--formats", default=",".join(FORMATS), help="its memory formats")
    parser.add_argument("--json", type=pathlib.Path, help="file for the figures")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    arguments = parser.parse_args()
    ways = [way for way in WAYS[arguments.device] if not arguments.ways or way[0] in arguments.ways.split(",")]
    formats = [name for name in FORMATS if name in arguments.formats.split(",")]
    if not ways or not formats:
        parser.error("expected ways of " + ", ".join(way[0] for way in WAYS[arguments.device]) +
                     " and formats of " + ", ".join(FORMATS))
    unknown = [case for case in arguments.cases if case not in CASES]
    if unknown:
        parser.error(f"expected cases of {', '.join(CASES)}, got {', '.join(unknown)}")

    bench = arguments.bin / "bench"
    if not bench.exists():
        parser.error(f"expected {bench}, which `./run bench --help` builds")

    rows = []
    print(f"{'case':<15} {'n':>4} {'dtype':<5} {'torch':<13} {'ours ms':>9} {'torch ms':>9} {'format':<13} "
          f"{'median':>7} {'min':>6}" + (f" {'memory':>7}" if arguments.device == "cuda" else ""), flush=True)
    for precision in [arguments.precision] if arguments.precision else ["f32", "bf16"]:
        for case in arguments.cases or [name for name in CASES if name not in BY_NAME_ONLY]:
            recipe, minibatch, case_flags = CASES[case]
            if arguments.device == "cuda":
                minibatch = GPU_MINIBATCH.get(case, minibatch)
            found = measure(recipe, minibatch, case_flags, precision, arguments.rounds, bench,
                            arguments.threads, arguments.device, ways, formats)
            ours = found.pop("ours")
            for way, _, _ in ways:
                sides = {side: value for side, value in found.items() if side[0] == way}
                best = min(sides, key=lambda side: sides[side]["median"])
                theirs = sides[best]
                row = {"case": case, "minibatch": minibatch, "precision": precision, "torch": way,
                       "format": best[1], "ours_ms": ours, "torch_ms": theirs,
                       "all_torch_ms": {side[1]: value for side, value in sides.items()},
                       "ratio_median": theirs["median"] / ours["median"], "ratio_min": theirs["min"] / ours["min"]}
                rows.append(row)
                print(f"{case:<15} {minibatch:>4} {precision:<5} {way:<13} {ours['median']:>9.3f} "
                      f"{theirs['median']:>9.3f} {best[1]:<13} {row['ratio_median']:>7.2f} {row['ratio_min']:>6.2f}" +
                      (f" {ours['peak'] / theirs['peak']:>7.2f}" if theirs["peak"] else ""), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rounds": arguments.rounds, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
