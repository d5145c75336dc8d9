"""The event files of a run as TensorBoard's own reader has them, beside metrics.jsonl.

    python tensorboard_events.py [RUN ...] [--bin build/bin]

Every scalar of a step, an evaluation, a test and of the layers' norms has to be there once, at the number of steps done, as
the f32 of what metrics.jsonl says; exit code 1 where one is missing, differs, or is in no line. Without a RUN a run is made
that was stopped and went back to an earlier checkpoint. Needs tensorboard.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

STEP = {"loss": "train/loss", "lr": "train/learning_rate", "samples_per_s": "train/samples_per_s",
        "data_wait_ms": "train/data_wait_ms", "loss_scale": "train/loss_scale"}
NO_SCALAR = {"kind", "step", "epoch", "part", "state", "count", "lr", "seconds", "wall_s"}


def f32(value):
    return math.nan if value is None else struct.unpack("f", struct.pack("f", value))[0]


def points_of(line, layers):
    """(tag, steps done, value) of a line of metrics.jsonl."""
    kind = line["kind"]
    if kind == "step":
        for key, value in line.items():
            if key in STEP or key not in NO_SCALAR and not key.endswith("_mean"):
                yield STEP.get(key, "train/" + key), line["step"] + 1, f32(value)
    if kind == "eval" or kind == "test" and line["state"] == "final":
        for key, value in line.items():
            if key in NO_SCALAR or key.startswith("train_"):
                continue
            averaged = key.startswith("ema_")
            yield f"{line['part']}{'_averaged' * averaged}/{key[4 * averaged:]}", line["step"], f32(value)
    if kind == "layers":
        done = line["step"] + 1
        yield "train/gradient_norm", done, f32(math.hypot(*line["gradient"]))
        for tag, key in (("weight_norm", "weight"), ("gradient_norm", "gradient"), ("trust", "trust")):
            for layer, value in zip(layers, line.get(key, [])):
                if value is not None:
                    yield f"{tag}/{layer}", done, f32(value)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def compare(run):
    layers = json.loads((run / "manifest.json").read_text()).get("layers", [])
    expected = {(tag, step): value for line in lines_of(run / "metrics.jsonl") for tag, step, value in points_of(line, layers)}
    # An evaluation that a stop asked for is no line of the run once it goes on; its point stays.
    cut = {(tag, step) for line in lines_of(run / "metrics.cut.jsonl") if line["kind"] in ("eval", "test")
           for tag, step, _ in points_of(line, layers)}
    reader = EventAccumulator(str(run), size_guidance={"scalars": 0})
    reader.Reload()
    faults, seen = [], set()
    for tag in reader.Tags()["scalars"]:
        for point in reader.Scalars(tag):
            at = (tag, point.step)
            if at in seen:
                faults.append(f"{at} twice")
            seen.add(at)
            if at not in expected:
                if at not in cut:
                    faults.append(f"{at} in no line")
            elif not (math.isclose(expected[at], point.value, rel_tol=1e-6) or
                      math.isnan(expected[at]) and math.isnan(point.value)):
                faults.append(f"{at}: {expected[at]} in metrics.jsonl, {point.value} in TensorBoard")
    faults += [f"{at} missing" for at in expected if at not in seen]
    files = sorted(path.name for path in run.glob("events.out.tfevents.*"))
    print(f"{run}: {len(expected)} points of {len({tag for tag, _ in expected})} tags in {len(files)} files, "
          f"{len(faults)} faults")
    for fault in faults[:10]:
        print("  " + fault)
    return not faults


def run_that_went_back(folder, programs):
    run = folder / "run"
    words = ["--epochs", "2", "--optimizer", "lars", "--lr", "5", "--log-layers", "10st", "--train-metrics", "--validation",
             "1000", "--save-every", "50", "--keep", "20", "--quiet"]
    subprocess.run([programs / "glyphs", *words, "--out", run, "--stop-at", "130st"], check=True)
    subprocess.run([programs / "glyphs", "--resume", run, "--checkpoint", "step-00000050.safetensors", "--stop-at", "2ep",
                    "--quiet"], check=True)
    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=pathlib.Path, nargs="*")
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path(__file__).parents[2] / "build" / "bin")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = arguments.run or [run_that_went_back(pathlib.Path(folder), arguments.bin)]
        return 0 if all([compare(run) for run in runs]) else 1


if __name__ == "__main__":
    sys.exit(main())
