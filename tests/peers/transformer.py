#!/usr/bin/env python3
"""Ten steps of transformer here and by PyTorch's own layers, from the same weights: losses, parameters, Adam's means.

    transformer.py                       numbers in words under both orders of norms, and one table of embeddings
    transformer.py --data DIR --layers 3 what the flags say, under both orders of norms

Each step is of one bucket and of four workers, whose samples have different numbers of tokens; PyTorch takes the
minibatch as a whole. A difference is relative to the greatest absolute value of the tensor. Exit code 1 where a loss
differs by more than 1e-9 (f64) or 1e-4 (f32, relative to the loss), or in f64 a parameter or a mean of Adam's by more
than 1e-9. The bias of an attention's keys is left out: it moves all of a query's scores by the same, so that its gradient
is 0, and Adam makes steps of what rounding leaves of it.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

import compare
import nets

FLAGS = {"--dim": "32", "--heads": "4", "--hidden": "64", "--dropout": "0", "--minibatch": "32", "--per-worker": "8",
         "--buckets": "2", "--clip-norm": "1", "--warmup-epochs": "0.01", "--threads": "1"}
NUMBERS = {"--numbers": "10000"}
SHARED = {"--data": "synthetic", "--vocabulary": "50", "--bucket": "12"}  # noise has one vocabulary


def model_of(trace, initial, dropout=0.0):
    flags, is_shared = trace["flags"], "embedding.weight" in initial
    sizes = [initial["embedding.weight" if is_shared else f"{side}_embedding.weight"].shape[0] for side in ("source", "target")]
    net = nets.Transformer(*(int(flags[name]) for name in ("dim", "layers", "heads", "hidden")), *sizes, is_shared,
                           flags["norm"] == "pre", dropout).to(compare.DTYPES[trace["precision"]])
    compare.load(net, initial)
    return net.train()


def optimizer_of(net, trace):
    hyper = trace["hyper_parameters"]
    if trace["optimizer"] != "adam" or hyper["weight_decay"] != 0:
        raise SystemExit(f"expected adam without weight decay, got {trace['optimizer']}, {hyper}")
    return torch.optim.Adam(net.parameters(), betas=(hyper["beta1"], hyper["beta2"]), eps=hyper["epsilon"])


def run_torch(net, trace, batches):
    """Returns the losses of all steps, the optimizer, and how many of the steps were clipped."""
    optimizer, clip_norm = optimizer_of(net, trace), float(trace["flags"]["clip-norm"])
    losses, clipped = [], 0
    for step in range(trace["steps"]):
        compare.set_rate(optimizer, trace["learning_rates"][step])
        fields = (batches[f"{name}.{step}"].long() for name in ("source", "source.length", "target", "target.length"))
        loss = nets.translation_loss(net, *fields, trace["label_smoothing"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if clip_norm > 0:
            clipped += torch.nn.utils.clip_grad_norm_(net.parameters(), clip_norm).item() > clip_norm
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer, clipped


def learnt(name, value):
    """Leaves out the keys' bias, the second of three."""
    return torch.cat(value.chunk(3)[::2]) if name.endswith("in_proj_bias") else value


def uneven_tokens(trace, batches):
    """Returns the target tokens of the workers of the step in which they differ most."""
    steps = ([int((part - 1).sum()) for part in batches[f"target.length.{step}"].chunk(trace["workers"])]
             for step in range(trace["steps"]))
    return max(steps, key=lambda tokens: max(tokens) - min(tokens))


def compare_steps(programs, flags):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        compare.trace_steps(programs, "transformer", {**flags, "--out": folder})
        trace, initial, batches, gradient, final = compare.read_trace(folder)
    net = model_of(trace, initial)
    losses, optimizer, clipped = run_torch(net, trace, batches)
    print(f"transformer {trace['precision']}, norm {trace['flags']['norm']}, {trace['steps']} steps of {trace['minibatch']}, "
          f"lengths {sorted(set(trace['lengths']))}, {clipped} clipped, loss {losses[0]:.4f} to {losses[-1]:.4f}; "
          f"the workers' tokens: {uneven_tokens(trace, batches)}")
    tensors = ((name, value, optimizer.state[value]["exp_avg"]) for name, value in net.named_parameters())
    return compare.judge(trace, initial, final, losses, tensors, learnt)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--precision", choices=list(compare.BARS), help="this one alone")
    arguments, words = parser.parse_known_intermixed_args()
    torch.set_num_threads(arguments.threads)
    given = dict(zip(words[::2], words[1::2], strict=True))
    cases = [{**FLAGS, **(given or NUMBERS), "--norm": norm} for norm in ("pre", "post")]
    if not given:
        cases.append({**FLAGS, **SHARED, "--norm": "post"})
    print(f"PyTorch {torch.__version__}")
    keeps = True
    for precision in [arguments.precision] if arguments.precision else compare.BARS:
        for flags in cases:
            keeps = compare_steps(arguments.bin, {**flags, "--precision": precision}) and keeps
    sys.exit(0 if keeps else 1)


if __name__ == "__main__":
    main()
