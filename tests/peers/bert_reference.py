#!/usr/bin/env python3
"""The recipe bert on a text of bytes, trained by transformers' BertForMaskedLM: its loss on the test part beside ours.

    bert_reference.py --data FILE --run RUN        RUN: a run of `bert --data FILE`, ended; its flags are taken

PyTorch begins at the run's initial weights and takes as many steps at its learning rates, with LAMB of formulas.py, on
windows and masks of its own. Then both nets, ours as the run exported it, predict the same masked places of the test
part. Exit code 1 where our loss is more than 1 % above PyTorch's.
"""
import argparse
import gzip
import json
import pathlib
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

import bert
import compare
import formulas
import safetensors_file

BAR = 1.01
SHARES = {"hidden": 0.8, "random": 0.1}  # of predicted places; the others keep their token


def text_of(path):
    """The training and the test part, as read_byte_text has them: the last hundredth, rounded up, is the test part."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    unpacked = lambda file: gzip.open(file).read() if file.suffix in (".gz", ".dz") else file.read_bytes()
    data = b"".join(unpacked(file) for file in files if file.is_file())
    test = (len(data) + 99) // 100
    tokens = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    return tokens[:-test], tokens[-test:]


class Masks:
    """Hides as many places of each window, all sets of them with one probability."""

    def __init__(self, flags, seed):
        context = int(flags["context"])
        self.count = max(1, round(float(flags["mask-share"]) * context))
        given = int(flags["mask-token"])
        self.mask = given if given >= 0 else int(flags["vocabulary"]) - 1
        self.generator = torch.Generator().manual_seed(seed)

    def __call__(self, windows):
        uniform = lambda shape: torch.rand(shape, generator=self.generator)
        places = uniform(windows.shape).argsort(1)[:, :self.count].sort(1).values
        labels = windows.gather(1, places)
        kind = uniform(places.shape)
        drawn = torch.randint(256, places.shape, generator=self.generator)
        seen = torch.where(kind < SHARES["hidden"], self.mask,
                           torch.where(kind < SHARES["hidden"] + SHARES["random"], drawn, labels))
        return windows.scatter(1, places, seen), places, labels


def loss_of(model, tokens, places, labels, smoothing=0.0):
    """The head is computed at the predicted places alone, as in the recipe."""
    x = model.bert(tokens).last_hidden_state
    predicted = x.gather(1, places.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
    return F.cross_entropy(model.cls(predicted).flatten(0, 1), labels.flatten(), label_smoothing=smoothing)


def rate_at(flags, step, steps, warmup):
    """A gradual warmup from 0, then a polynomial to 0."""
    if flags["schedule"] != "polynomial":
        raise SystemExit(f"expected --schedule polynomial, got {flags['schedule']}")
    peak = float(flags["lr"])
    if step < warmup:
        return peak * step / warmup
    return peak * (1 - (step - warmup) / (steps - warmup))**float(flags["power"])


def windows_of(tokens, context):
    return tokens[:len(tokens) // context * context].long().reshape(-1, context)


def train(model, windows, trace, flags, steps, seed):
    minibatch = trace["minibatch"]
    warmup = round(float(flags["warmup-epochs"]) * flags["steps_per_epoch"])
    optimizer, masks = formulas.Formula(model.named_parameters(), trace), Masks(flags, seed)
    order = torch.randperm(len(windows), generator=masks.generator)
    model.train()
    for step in range(steps):
        formulas.set_rate(optimizer, rate_at(flags, step, steps, warmup))
        rows = torch.arange(step * minibatch, (step + 1) * minibatch) % len(order)
        optimizer.zero_grad()
        loss = loss_of(model, *masks(windows[order[rows]]), trace["label_smoothing"])
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print(f"  step {step + 1} of {steps}: loss {loss.item():.4f}, {time.process_time():.0f} s of the processor",
                  flush=True)


@torch.no_grad()
def test_loss(model, windows, flags):
    """The mean over the test part; masks are those of seed 0 for every model."""
    model.eval()
    masks, losses = Masks(flags, 0), []
    for part in windows.split(64):
        losses.append(loss_of(model, *masks(part)).item() * len(part))
    return sum(losses) / len(windows)


def traced(programs, words, data):
    """The trace of one step under the run's flags: PyTorch's initial weights and LAMB's numbers come from it."""
    given = dict(zip(words[::2], words[1::2]))
    given = {flag: value for flag, value in given.items() if flag not in ("--epochs", "--data")}
    with tempfile.TemporaryDirectory() as folder:
        compare.trace_steps(programs, "bert", {**given, "--steps": "1", "--data": data, "--out": folder})
        trace, initial, *_ = compare.read_trace(pathlib.Path(folder))
    return trace, initial


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--run", type=pathlib.Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments = parser.parse_args()
    manifest = json.loads((arguments.run / "manifest.json").read_text())
    trace, initial = traced(arguments.bin, manifest["arguments"], arguments.data)
    flags = {**trace["flags"], "steps_per_epoch": manifest["steps_per_epoch"]}
    context = int(flags["context"])
    torch.manual_seed(arguments.seed)
    train_windows, test_windows = (windows_of(part, context) for part in text_of(arguments.data))
    ours = bert.model_of(flags, safetensors_file.read(arguments.run / "model.safetensors"), torch.float32)
    theirs = bert.model_of(flags, initial, torch.float32)
    loss = test_loss(ours, test_windows, flags)
    print(f"PyTorch {torch.__version__}; {manifest['steps']} steps of {trace['minibatch']} windows of {context}")
    print(f"our loss {loss:.4f} (the run's own masks: {manifest['result']['loss']:.4f})", flush=True)
    train(theirs, train_windows, trace, flags, manifest["steps"], arguments.seed)
    other = test_loss(theirs, test_windows, flags)
    print(f"our loss {loss:.4f}, PyTorch's {other:.4f}: {loss / other:.4f} of it (<= {BAR})")
    sys.exit(0 if loss <= BAR * other else 1)


if __name__ == "__main__":
    main()
