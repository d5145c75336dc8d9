"""The event files of a run as TensorBoard's own reader has them, beside metrics.jsonl.

    python tensorboard_events.py [RUN ...] [--bin build/bin]

Every scalar of a step, an evaluation, a test and of the layers' norms has to be there once, at the number of steps done, as
the f32 of what metrics.jsonl says; every layer's histograms have to be there, that of the gradient with the norm of its line;
and HParams itself has to answer with the flags of the manifest, and with the last points as metrics. Exit code 1 where one is
missing, differs, or is in no line. Without a RUN a run is made that was stopped and went back to an earlier checkpoint. Needs
tensorboard.
"""
import argparse
import json
import math
import pathlib
import struct
import subprocess
import sys
import tempfile

from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.context import RequestContext
from tensorboard.plugins import base_plugin
from tensorboard.plugins.hparams import api_pb2, backend_context, get_experiment, list_session_groups

STEP = {"loss": "train/loss", "lr": "train/learning_rate", "samples_per_s": "train/samples_per_s",
        "data_wait_ms": "train/data_wait_ms", "loss_scale": "train/loss_scale"}
NO_SCALAR = {"kind", "step", "epoch", "part", "state", "count", "lr", "seconds", "wall_s"}


def f32(value):
    return math.nan if value is None else struct.unpack("f", struct.pack("f", value))[0]


def points_of(line, layers, last):
    """Returns (tag, steps done, value) for a line of metrics.jsonl; `last` is the steps done at the end."""
    kind = line["kind"]
    if kind == "test" and line["state"] == "best":
        yield from (("test_best/" + key, last, f32(value)) for key, value in line.items()
                    if key not in NO_SCALAR and not key.startswith("ema_"))
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


def histogram_faults(reader, lines, layers):
    """Yields faults of the histograms; every line of layers has two for each layer."""
    tags = [f"{kind}/{layer}" for layer in layers for kind in ("weight", "gradient")]
    there = {(tag, event.step): event.histogram_value for tag in reader.Tags()["histograms"] for event in reader.Histograms(tag)}
    expected = {(tag, line["step"] + 1) for line in lines for tag in tags}
    yield from (f"histogram {at} missing" for at in expected - there.keys())
    yield from (f"histogram {at} in no line" for at in there.keys() - expected)
    for at, histogram in there.items():
        if sum(histogram.bucket) != histogram.num or histogram.bucket_limit[-1] != histogram.max:
            yield f"histogram {at}: {histogram}"
    for line in lines:
        for layer, norm in zip(layers, line["gradient"]):
            histogram = there.get((f"gradient/{layer}", line["step"] + 1))
            if histogram and not math.isclose(math.sqrt(histogram.sum_squares), norm, rel_tol=1e-4, abs_tol=1e-30):
                yield f"gradient/{layer} of step {line['step']}: {math.sqrt(histogram.sum_squares)}, {norm} in its line"


def hparams_faults(run, reader):
    """Yields faults in the answer of TensorBoard's HParams: one session, with the manifest's flags and the last points."""
    manifest = json.loads((run / "manifest.json").read_text())
    multiplexer = plugin_event_multiplexer.EventMultiplexer()
    multiplexer.AddRun(str(run), "run")
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, str(run))
    context, request = backend_context.Context(base_plugin.TBContext(data_provider=provider)), RequestContext()
    experiment = get_experiment.Handler(request, context, "", api_pb2.GetExperimentRequest()).run()
    asked = api_pb2.ListSessionGroupsRequest(slice_size=9, start_index=0, include_metrics=True)
    asked.allowed_statuses.extend([api_pb2.STATUS_UNKNOWN, api_pb2.STATUS_SUCCESS, api_pb2.STATUS_FAILURE])
    for info in experiment.hparam_infos:
        asked.col_params.add(hparam=info.name)
    for info in experiment.metric_infos:
        asked.col_params.add().metric.CopyFrom(info.name)
    groups = list_session_groups.Handler(request, context, "", asked).run().session_groups
    if len(groups) != 1:
        yield f"HParams: {len(groups)} sessions, expected one"
        return
    flags = {name: getattr(value, value.WhichOneof("kind")) for name, value in groups[0].hparams.items()}
    expected = {"recipe": manifest["recipe"], **manifest["flags"]}
    # TensorBoard keeps the flags of a resumed run's first file, and --resume may change some of them.
    yield from (f"HParams: {name} is {flags.get(name)}, {value} in the manifest" for name, value in expected.items()
                if name not in flags or "resumed" not in manifest and flags[name] != value and str(flags[name]) != str(value))
    yield from (f"HParams: {name} is no flag of the run" for name in flags.keys() - expected.keys())
    metrics = {value.name.tag: value.value for value in groups[0].metric_values}
    for tag in reader.Tags()["scalars"]:
        last = reader.Scalars(tag)[-1].value
        if not (metrics.get(tag) == last or math.isnan(last)):
            yield f"HParams: {tag} is {metrics.get(tag)}, its last point {last}"
    how = manifest.get("ended", {}).get("how")
    status = {None: api_pb2.STATUS_UNKNOWN, "interrupted": api_pb2.STATUS_UNKNOWN, "diverged": api_pb2.STATUS_FAILURE}
    if groups[0].sessions[0].status != status.get(how, api_pb2.STATUS_SUCCESS):
        yield f"HParams: status {groups[0].sessions[0].status} of a run that ended so: {how}"


def compare(run):
    layers = json.loads((run / "manifest.json").read_text()).get("layers", [])
    lines = lines_of(run / "metrics.jsonl")
    last = max((line["step"] + (line["kind"] == "step") for line in lines if line["kind"] in ("step", "eval")), default=0)
    expected = {(tag, step): value for line in lines for tag, step, value in points_of(line, layers, last)}
    # An evaluation that a stop caused is no line of the run once it is resumed; its point stays.
    cut = {(tag, step) for line in lines_of(run / "metrics.cut.jsonl") if line["kind"] in ("eval", "test")
           for tag, step, _ in points_of(line, layers, line["step"])}
    reader = EventAccumulator(str(run), size_guidance={"scalars": 0, "histograms": 0})
    reader.Reload()
    faults = [*histogram_faults(reader, [line for line in lines if line["kind"] == "layers"], layers), *hparams_faults(run, reader)]
    seen = set()
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
