#!/usr/bin/env python3
"""The same steps here and in PyTorch: losses, gradients of step 0, parameters and running statistics after the last.

    compare.py                      all cases of the table below
    compare.py resnet_cifar20       some of them
    compare.py --trace DIR          one folder that ./run trace_steps wrote

A difference is relative to the greatest absolute value of the tensor (of a loss: to the loss). Exit code 1 where the
losses differ by more than the bar of their precision.
"""
import argparse
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

import nets
import safetensors_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
BARS = {"f64": 1e-9, "f32": 1e-4}
DTYPES = {"f64": torch.float64, "f32": torch.float32}
# A case has its recipe and its flags. In f32 a step multiplies the rounding of the step before by a factor that grows
# with the learning rate, between PyTorch's two memory formats as much as between PyTorch and us. So a net with batch
# norm is compared at a rate as low as a warmup's.
CONSTANT_RATE = {"--schedule": "constant", "--warmup": "none", "--scaling": "none"}
CASES = {
    "mlp": ("mlp_mnist", {"--dataset": "synthetic", "--minibatch": "64"}),
    "lenet": ("lenet_mnist", {"--dataset": "synthetic", "--minibatch": "64"}),
    "lenet_norm": ("lenet_mnist",
                   {"--dataset": "synthetic", "--minibatch": "64", "--norm": "batch", "--lr": "0.0001"}),
    "resnet_cifar20": ("resnet_cifar",
                       {"--depth": "20", "--dataset": "synthetic", "--minibatch": "64", "--lr": "0.001"}),
    "resnet_cifar20_group": ("resnet_cifar", {"--depth": "20", "--dataset": "synthetic", "--minibatch": "64",
                                              "--lr": "0.001", "--norm": "group"}),
    "resnet50_64x64": ("resnet50", {"--side": "64", "--minibatch": "16", "--optimizer": "momentum", "--lr": "0.001"}),
}


def difference(ours, theirs):
    return ((ours - theirs).abs().max() / theirs.abs().max().clamp_min(torch.finfo(theirs.dtype).tiny)).item()


class Worst:
    """The greatest difference over tensors, and its tensor."""

    def __init__(self):
        self.value, self.name = 0.0, "-"

    def note(self, name, ours, theirs):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise SystemExit(f"{name}: {ours.dtype} {list(ours.shape)}, PyTorch has {theirs.dtype} {list(theirs.shape)}")
        value = difference(ours, theirs)
        if not (value <= self.value or math.isnan(self.value)):
            self.value, self.name = value, name


def load(net, tensors):
    """Puts tensors into the net by name; exits when one does not fit. (PyTorch's count of a norm's batches is left out.)"""
    state = {name: value for name, value in net.state_dict().items() if not name.endswith("num_batches_tracked")}
    if state.keys() != tensors.keys():
        raise SystemExit(f"other names than PyTorch's: {sorted(state.keys() ^ tensors.keys())}")
    net.load_state_dict(tensors, strict=False)


def optimizer_for(net, trace):
    if trace["optimizer"] != "momentum":
        raise SystemExit(f"compare.py takes steps of momentum, optimizers.py those of {trace['optimizer']}")
    decays, hyper = trace["decays"], trace["hyper_parameters"]
    groups = [{"params": [p for name, p in net.named_parameters() if decays[name] == decay],
               "weight_decay": hyper["weight_decay"] if decay else 0.0} for decay in (True, False)]
    return torch.optim.SGD([g for g in groups if g["params"]], lr=trace["learning_rate"], momentum=hyper["momentum"])


def set_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate


def run_torch(net, trace, batches, dtype, optimizer, set_rate=set_rate):
    """Returns the losses of all steps and the gradients of the first."""
    mean, stddev = (torch.tensor(trace[key], dtype=torch.float64).to(dtype).reshape(-1, 1, 1)
                    for key in ("mean", "stddev"))
    losses, gradients = [], {}
    for step in range(trace["steps"]):
        set_rate(optimizer, trace["learning_rates"][step])
        images = (batches[f"images.{step}"].to(dtype) / 255 - mean) / stddev
        labels = batches[f"labels.{step}"].long()
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(net(images), labels, label_smoothing=trace["label_smoothing"])
        loss.backward()
        if step == 0:
            gradients = {name: p.grad.clone() for name, p in net.named_parameters()}
        optimizer.step()
        losses.append(loss.item())
    return losses, gradients


def read_trace(folder):
    """Returns trace.json, then the tensors of the other files."""
    return (json.loads((folder / "trace.json").read_text()),
            *(safetensors_file.read(folder / f"{name}.safetensors")
              for name in ("initial", "batches", "gradient", "final")))


def build_net(trace, initial):
    net = nets.build(trace["recipe"], trace["shape"], trace["classes"], trace["flags"]).to(DTYPES[trace["precision"]])
    load(net, initial)
    return net.train()


def compare(folder):
    """Compares the steps of one folder; returns whether the losses differ by no more than allowed."""
    trace, initial, batches, gradient, final = read_trace(folder)
    net = build_net(trace, initial)
    optimizer = optimizer_for(net, trace)
    losses, gradients = run_torch(net, trace, batches, DTYPES[trace["precision"]], optimizer)

    apart = [abs(ours - theirs) / abs(theirs) for ours, theirs in zip(trace["losses"], losses)]
    worst = {what: Worst() for what in ("gradient", "parameter", "running", "velocity")}
    for name, parameter in net.named_parameters():
        worst["gradient"].note(name, gradient[name], gradients[name])
        worst["parameter"].note(name, final[name], parameter.detach())
        worst["velocity"].note(name, final["velocity." + name], optimizer.state[parameter]["momentum_buffer"])
    for name, buffer in net.named_buffers():
        if not name.endswith("num_batches_tracked"):
            worst["running"].note(name, final[name], buffer)

    bar = BARS[trace["precision"]]
    keeps = max(apart) <= bar
    print(f"{trace['recipe']} {trace['precision']}, minibatch {trace['minibatch']}, {trace['steps']} steps, "
          f"loss {losses[0]:.4f} to {losses[-1]:.4f}")
    print(f"  losses     {max(apart):.2e} {'<=' if keeps else '> BAR'} {bar:.0e}   "
          + " ".join(f"{x:.0e}" for x in apart))
    for what, found in worst.items():
        print(f"  {what:<10} {found.value:.2e} {found.name}")
    return keeps


def judge(trace, initial, final, losses, tensors, part=lambda name, value: value):
    """Prints the greatest differences of losses, parameters and means of gradients from PyTorch's, and returns whether
    they keep the bars of the precision: in f32 the losses alone. tensors: name, parameter and mean of each tensor; part
    takes the judged part out of a tensor. "moved" is how far our parameters moved: where nothing did, nothing is judged."""
    worst = {what: Worst() for what in ("loss", "parameter", "moved", "mean")}
    for step, (ours, theirs) in enumerate(zip(trace["losses"], losses)):
        worst["loss"].note(f"of step {step}", *(torch.tensor(x, dtype=torch.float64) for x in (ours, theirs)))
    for name, parameter, mean in tensors:
        for what, ours, theirs in (("parameter", final[name], parameter.detach()), ("moved", initial[name], final[name]),
                                   ("mean", final["exp_avg." + name], mean)):
            worst[what].note(name, part(name, ours), part(name, theirs))
    for what, found in worst.items():
        print(f"  {what:<10} {found.value:.2e} {found.name}")
    precision = trace["precision"]
    judged = ("loss", "parameter", "mean") if precision == "f64" else ("loss",)
    return all(worst[what].value <= BARS[precision] for what in judged) and worst["moved"].value > 1e-3


def trace_steps(programs, recipe, flags, switches=()):
    words = [word for flag in flags.items() for word in flag] + list(switches)
    subprocess.run([programs / "trace_steps", recipe, *words], check=True, stdout=subprocess.DEVNULL)


def trace(programs, case, given):
    recipe, flags = CASES[case]
    trace_steps(programs, recipe, {**CONSTANT_RATE, **flags, **given})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    parser.add_argument("--trace", type=pathlib.Path, help="a folder of ./run trace_steps")
    parser.add_argument("--precision", choices=list(BARS), help="this one alone")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "bin")
    arguments, flags = parser.parse_known_intermixed_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}")
    if arguments.trace:
        sys.exit(0 if compare(arguments.trace) else 1)
    unknown = [case for case in arguments.cases if case not in CASES]
    if unknown:
        parser.error(f"expected cases of {', '.join(CASES)}, got {', '.join(unknown)}")
    given = dict(zip(flags[::2], flags[1::2], strict=True))
    keeps = True
    for case in arguments.cases or CASES:
        for precision in [arguments.precision] if arguments.precision else BARS:
            with tempfile.TemporaryDirectory() as folder:
                trace(arguments.bin, case, {**given, "--precision": precision, "--out": folder})
                keeps = compare(pathlib.Path(folder)) and keeps
    sys.exit(0 if keeps else 1)


if __name__ == "__main__":
    main()
