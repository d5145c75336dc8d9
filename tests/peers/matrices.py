#!/usr/bin/env python3
"""Ten steps of a residual net whose matrices learn by our muon or shampoo and the rest by adamw, and the same in PyTorch.

The peers take our gradients of each step, and see a filter (O, I, H, W) as a matrix of O rows. `formula` is formulas.py:
for muon the code of Jordan et al. 2024 in the precision of the run, for shampoo eigenvalues in f64. `torch bf16` is
torch.optim.Muon, which multiplies in bf16 whatever the run's precision is, and `torch` the same with products in that
precision. A difference is that of a parameter tensor after the last step, relative to how far the tensor has come.
Exit code 1 where one is above the bar.
"""
import argparse
import pathlib
import sys
import tempfile

import torch

import compare
import formulas
import optimizers
import safetensors_file

FLAGS = {"--optimizer": "adamw", "--lr": "0.001", "--weight-decay.matrices": "0.1"}
MUON = {**FLAGS, "--optimizer.matrices": "muon", "--lr.matrices": "0.02"}
SHAMPOO = {**FLAGS, "--optimizer.matrices": "shampoo"}
CASES = {"muon: jordan": MUON, "muon: jordan, no Nesterov": {**MUON, "--nesterov.matrices": "0"},
         "muon: liu": {**MUON, "--update-rms.matrices": "0.2"}, "shampoo": SHAMPOO,
         "shampoo, ridge 1e-3": {**SHAMPOO, "--ridge.matrices": "1e-3"}}
EXACT, BF16 = {"f64": 1e-9, "f32": 1e-3}, {"f64": 0.2, "f32": 0.2}
ROUNDED_ROOTS = {"f64": 1e-9, "f32": 1e-2}  # of covariances of a low rank at a ridge of 1e-6


class Formulas:
    """The formula of each group, under the group's own numbers."""

    def __init__(self, parameters, trace):
        matrices, rest = split(parameters, trace)
        self.parts = [(formulas.Formula(part.items(), {**trace, **trace["groups"][group]}), group)
                      for group, part in (("matrices", matrices), ("", rest))]

    def step(self, rates):
        for part, group in self.parts:
            formulas.set_rate(part, rates[group])
            part.step()


class Torch:
    def __init__(self, parameters, trace):
        matrices, rest = split(parameters, trace)
        muon, adamw = (trace["groups"][group]["hyper_parameters"] for group in ("matrices", ""))
        decays = [[p for name, p in rest.items() if trace["decays"][name] == decay] for decay in (True, False)]
        self.parts = {
            "matrices": torch.optim.Muon(matrices.values(), weight_decay=muon["weight_decay"], momentum=muon["momentum"],
                                         nesterov=muon["nesterov"] > 0,
                                         adjust_lr_fn="match_rms_adamw" if muon["update_rms"] > 0 else "original"),
            "": torch.optim.AdamW([{"params": part, "weight_decay": decay} for part, decay in
                                   zip(decays, (adamw["weight_decay"], 0.0)) if part],
                                  betas=(adamw["beta1"], adamw["beta2"]), eps=adamw["epsilon"])}

    def step(self, rates):
        for group, optimizer in self.parts.items():
            compare.set_rate(optimizer, rates[group])
            optimizer.step()


class TorchInPrecision(Torch):
    def step(self, rates):
        own = torch.optim._muon._zeropower_via_newtonschulz
        torch.optim._muon._zeropower_via_newtonschulz = lambda gradient, *_: formulas.newton_schulz(gradient)
        super().step(rates)
        torch.optim._muon._zeropower_via_newtonschulz = own


OF_MUON = {"formula": (Formulas, EXACT), "torch": (TorchInPrecision, EXACT), "torch bf16": (Torch, BF16)}
PEERS = {name: OF_MUON if name.startswith("muon") else
         {"formula": (Formulas, ROUNDED_ROOTS if name == "shampoo" else EXACT)} for name in CASES}


def split(parameters, trace):
    """Returns the matrices and the others. Adapted tensors are the weights, all of which have two axes or more here."""
    is_matrix = trace["adapts"]
    return ({name: p for name, p in parameters.items() if is_matrix[name]},
            {name: p for name, p in parameters.items() if not is_matrix[name]})


def difference_of(peer, folder):
    """The greatest difference of a parameter after the last step, and its tensor."""
    trace, initial, _, _, final = compare.read_trace(folder)
    gradients = safetensors_file.read(folder / "gradients.safetensors")
    matrix_of = lambda x: x.reshape(len(x), -1) if x.dim() > 1 else x
    start = {name: matrix_of(initial[name]) for name in trace["adapts"]}
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in start.items()}
    optimizer = peer(parameters, trace)
    for step in range(trace["steps"]):
        for name, parameter in parameters.items():
            parameter.grad = matrix_of(gradients[f"{name}.{step}"]).clone()
        optimizer.step({group: trace["groups"][group]["learning_rates"][step] for group in trace["groups"]})
    worst = compare.Worst()
    for name, parameter in parameters.items():
        ours = matrix_of(final[name]) - start[name]
        worst.note(name, ours, parameter.detach() - start[name])
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=list(compare.BARS), help="this one alone")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}")
    keeps = True
    for precision in [arguments.precision] if arguments.precision else compare.BARS:
        for case, flags in CASES.items():
            with tempfile.TemporaryDirectory() as folder:
                compare.trace_steps(arguments.bin, "resnet_cifar",
                                    {**optimizers.NET, **optimizers.FALLING_RATE, **flags,
                                     "--precision": precision, "--out": folder}, ["--gradients"])
                for name, (peer, bars) in PEERS[case].items():
                    worst, bar = difference_of(peer, pathlib.Path(folder)), bars[precision]
                    keeps = keeps and worst.value <= bar
                    print(f"{case:<26} {precision} {name:<10} {worst.value:7.1e} {'<=' if worst.value <= bar else '> BAR'} "
                          f"{bar:.0e}  {worst.name}", flush=True)
    sys.exit(0 if keeps else 1)


if __name__ == "__main__":
    main()
