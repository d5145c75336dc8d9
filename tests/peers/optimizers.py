#!/usr/bin/env python3
"""Ten steps of a residual net under each of our optimizers, and the same in PyTorch.

    optimizers.py                   all cases of the table below
    optimizers.py lars lamb         those of some optimizers
    optimizers.py --list            what the cases are

Each peer takes the steps by itself from our initial weights: `formula` is the update rule of the paper, tensor by
tensor (formulas.py), `torch` is torch.optim's, `timm` is timm's, `schedulefree` is that package's (each left out where it is
not installed, and said so).
In f64 the formulas take whole steps: PyTorch's gradients, of our batches, where its steps have led. The others, and
all in f32, take our gradients of each step: in f32 the gradients themselves differ by more than the bar, whatever the
optimizer. A difference is that of a parameter tensor after the last step, relative to the tensor's greatest absolute
value. Exit code 1 where one is above the bar of its precision.
"""
import argparse
import pathlib
import sys
import tempfile
from dataclasses import dataclass, field

import torch

import compare
import formulas
import safetensors_file

try:
    import timm
    import timm.optim
except ImportError:
    timm = None
try:
    import schedulefree
except ImportError:
    schedulefree = None

NET = {"--depth": "20", "--dataset": "synthetic", "--minibatch": "64", "--steps": "10"}
# This schedule makes the rate of the tenth step a fortieth of that of the first. So a velocity that includes the rate
# differs from one that does not, and from one that includes the rate of another step.
FALLING_RATE = {"--schedule": "cosine", "--warmup": "none", "--scaling": "none"}


@dataclass
class Case:
    """One row: our optimizer under some flags, and the peers that take the same steps."""
    optimizer: str
    flags: dict
    peers: tuple = ("formula",)
    constant_rate: bool = False
    name: str = field(init=False)

    def __post_init__(self):
        words = [f"{flag[2:]} {value}" for flag, value in self.flags.items() if flag not in NOT_NAMED]
        self.name = " ".join([self.optimizer, *words, *(["constant rate"] if self.constant_rate else [])])


# A case's name leaves these flags out. Their values keep the steps small, because a step multiplies the rounding of the
# step before.
NOT_NAMED = ("--lr", "--skip-lr", "--trust", "--rms-lr", "--center-epoch", "--period-epochs")
LAYER_WISE = {"--lr": "1", "--skip-lr": "0.001", "--weight-decay": "0.0005"}
ADAM = {"--lr": "1e-4", "--weight-decay": "0.01"}
SGD = {"--lr": "0.001", "--weight-decay": "0.0005"}
CASES = [
    Case("sgd", SGD, ("formula", "torch")),
    Case("momentum", SGD, ("formula", "torch")),
    Case("scaled-momentum", SGD),
    Case("uncorrected-momentum", SGD),
    Case("nesterov", SGD, ("formula", "torch")),
    Case("adam", ADAM, ("formula", "torch")),
    Case("adamw", ADAM, ("formula", "torch")),
    Case("nadamw", ADAM, ("formula", "timm")),
    Case("lion", ADAM, ("formula", "timm")),
    Case("schedule-free", SGD),
    Case("schedule-free", SGD, ("formula", "schedulefree"), constant_rate=True),
    Case("schedule-free-adamw", ADAM),
    Case("schedule-free-adamw", ADAM, ("formula", "schedulefree"), constant_rate=True),
    Case("lars", LAYER_WISE),
    Case("lars", LAYER_WISE, ("formula", "timm"), constant_rate=True),
    Case("lars", {**LAYER_WISE, "--weight-decay": "0"}, ("formula", "timm"), constant_rate=True),
    Case("lars-mlperf", {**LAYER_WISE, "--epsilon": "1e-5"}),
    Case("lars-mlperf", {**LAYER_WISE, "--epsilon": "1e-5", "--nesterov": "1"}),
    Case("lars-mlperf", {**LAYER_WISE, "--epsilon": "1e-5"}, ("formula", "timm"), constant_rate=True),
    Case("lars-mlperf", {**LAYER_WISE, "--epsilon": "1e-5", "--nesterov": "1"}, ("formula", "timm"),
         constant_rate=True),
    Case("lars-unscaled", LAYER_WISE, ("formula", "timm")),
    Case("lars-plain", {**LAYER_WISE, "--lr": "0.001", "--skip-lr": "0.0001"}),
    Case("larc", {"--lr": "0.01", "--trust": "0.001", "--skip-lr": "0.001", "--weight-decay": "0.0005"},
         ("formula", "timm")),
    Case("larc", {"--lr": "0.001", "--trust": "0.01", "--weight-decay": "0"}, ("formula", "timm")),
    Case("lamb", {"--lr": "1e-4"}, ("formula", "timm")),
    Case("lamb", {"--lr": "1e-4", "--bias-correction": "0"}, ("formula", "timm")),
    Case("lamb", {"--lr": "1e-4", "--phi-max": "3"}),
    # An epoch has 64 steps: plain SGD has at least half of the update from the sixth step on, and all of it from the
    # ninth on.
    Case("rmsprop-warmup", {"--lr": "0.001", "--rms-lr": "1e-5", "--epsilon": "1e-4", "--center-epoch": "0.07",
                            "--period-epochs": "0.1", "--weight-decay": "0.0005"}),
]


def skip_scale(trace):
    """Returns the factor of a rate for layers that are not adapted: their greatest rate over the run's greatest."""
    own = trace["hyper_parameters"].get("skip_lr", 0)
    return own / trace["learning_rate"] if own > 0 else 1.0


def groups_of(net, trace):
    """Returns one group of the adapted tensors, which are those that decay, and one of the others."""
    if trace["adapts"] != trace["decays"]:
        raise SystemExit("this script knows one group of tensors without decay and without adaptation")
    adapts, decay = trace["adapts"], trace["hyper_parameters"]["weight_decay"]
    tensors = [[p for name, p in net.named_parameters() if adapts[name] == adapted] for adapted in (True, False)]
    return [{"params": tensors[0], "weight_decay": decay, "rate_scale": 1.0},
            {"params": tensors[1], "weight_decay": 0.0, "rate_scale": skip_scale(trace)}]


def set_rate(optimizer, rate):
    for group in optimizer.param_groups:
        group["lr"] = rate * group["rate_scale"]


def torch_optimizer(net, trace):
    hyper, groups, rate = trace["hyper_parameters"], groups_of(net, trace), trace["learning_rate"]
    name = trace["optimizer"]
    if name.startswith("adam"):
        kind = torch.optim.AdamW if name == "adamw" else torch.optim.Adam
        return kind(groups, lr=rate, betas=(hyper["beta1"], hyper["beta2"]), eps=hyper["epsilon"])
    return torch.optim.SGD(groups, lr=rate, momentum=hyper.get("momentum", 0), nesterov=name == "nesterov")


def timm_optimizer(net, trace):
    """Options under which timm's rules are ours.

    Lars: the velocity is free of the rate, as in lars-unscaled and larc; lars and lars-mlperf hold it inside, and
    coincide at a constant rate alone. Its epsilon is 0 where ours has none; the weights are adapted without decay too
    (always_adapt), the others never; trust_clip is LARC's. Lamb: its clipping of the whole gradient is off.
    """
    hyper, groups, rate = trace["hyper_parameters"], groups_of(net, trace), trace["learning_rate"]
    if trace["optimizer"] == "nadamw":
        return timm.optim.NAdamW(groups, lr=rate, betas=(hyper["beta1"], hyper["beta2"]), eps=hyper["epsilon"])
    if trace["optimizer"] == "lion":
        return timm.optim.Lion(groups, lr=rate, betas=(hyper["beta1"], hyper["beta2"]))
    groups[0]["always_adapt"] = True
    if trace["optimizer"] == "lamb":
        return timm.optim.Lamb(groups, lr=rate, betas=(hyper["beta1"], hyper["beta2"]), eps=hyper["epsilon"],
                               bias_correction=hyper["bias_correction"] > 0, max_grad_norm=None)
    return timm.optim.Lars(groups, lr=rate, momentum=hyper["momentum"], trust_coeff=hyper["trust"],
                           eps=hyper.get("epsilon", 0.0), nesterov=hyper.get("nesterov", 0) > 0,
                           trust_clip=trace["optimizer"] == "larc")


def schedulefree_optimizer(net, trace):
    """The package weighs points by the greatest rate so far, the paper by the step's: they agree while it does not
    fall. Its warmup is off, as the rate is set from outside."""
    hyper, groups, rate = trace["hyper_parameters"], groups_of(net, trace), trace["learning_rate"]
    if trace["optimizer"] == "schedule-free":
        optimizer = schedulefree.SGDScheduleFree(groups, lr=rate, momentum=hyper["beta"])
    else:
        optimizer = schedulefree.AdamWScheduleFree(groups, lr=rate, betas=(hyper["beta"], hyper["beta2"]),
                                                   eps=hyper["epsilon"])
    optimizer.train()
    return optimizer


def formula_optimizer(net, trace):
    return formulas.Formula(net.named_parameters(), trace)


PEERS = {"formula": (formula_optimizer, formulas.set_rate), "torch": (torch_optimizer, set_rate),
         "timm": (timm_optimizer, set_rate), "schedulefree": (schedulefree_optimizer, set_rate)}
MISSING = {name for name, package in (("timm", timm), ("schedulefree", schedulefree)) if package is None}


def take_steps_of(gradients, net, trace, optimizer, rate_setter):
    for step in range(trace["steps"]):
        rate_setter(optimizer, trace["learning_rates"][step])
        for name, parameter in net.named_parameters():
            parameter.grad = gradients[f"{name}.{step}"].clone()
        optimizer.step()


def difference_of(peer, folder):
    """The greatest difference of a parameter after the last step, and its tensor."""
    trace, initial, batches, _, final = compare.read_trace(folder)
    make, rate_setter = PEERS[peer]
    net = compare.build_net(trace, initial)
    optimizer = make(net, trace)
    if trace["precision"] == "f64" and peer == "formula":
        compare.run_torch(net, trace, batches, torch.float64, optimizer, rate_setter)
    else:
        take_steps_of(safetensors_file.read(folder / "gradients.safetensors"), net, trace, optimizer, rate_setter)
    if hasattr(optimizer, "eval"):
        optimizer.eval()
    worst = compare.Worst()
    for name, parameter in net.named_parameters():
        worst.note(name, final[name], parameter.detach())
    return worst


def moved(folder):
    """The greatest relative change of an adapted tensor: the steps are to be small, and not zero."""
    trace, initial, _, _, final = compare.read_trace(folder)
    return max(compare.difference(final[name], initial[name]) for name, adapts in trace["adapts"].items() if adapts)


def run_case(case, programs, precision):
    """Prints a line for each peer; returns whether none differs by more than allowed."""
    rate = compare.CONSTANT_RATE if case.constant_rate else FALLING_RATE
    bar, keeps = compare.BARS[precision], True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        flags = {**NET, **rate, "--optimizer": case.optimizer, **case.flags, "--precision": precision, "--out": name}
        compare.trace_steps(programs, "resnet_cifar", flags, ["--gradients"])
        change = moved(folder)
        for peer in case.peers:
            if peer in MISSING:
                continue
            worst = difference_of(peer, folder)
            kept = worst.value <= bar
            keeps = keeps and kept
            print(f"{case.name:<74} {precision} {peer:<12} {worst.value:7.1e} {'<=' if kept else '> BAR'} {bar:.0e}  "
                  f"{worst.name}; moved by {change:.0e}", flush=True)
    return keeps


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    known = list(dict.fromkeys(case.optimizer for case in CASES))
    parser.add_argument("optimizers", nargs="*", metavar="OPTIMIZER", help=", ".join(known))
    parser.add_argument("--precision", choices=list(compare.BARS), help="this one alone")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    parser.add_argument("--list", action="store_true", help="names the cases, and runs none")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.optimizers if name not in known]
    if unknown:
        parser.error(f"expected optimizers of {', '.join(known)}, got {', '.join(unknown)}")
    cases = [case for case in CASES if case.optimizer in (arguments.optimizers or known)]
    if arguments.list:
        print("\n".join(f"{case.name}: {', '.join(case.peers)}" for case in cases))
        return
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}" + "".join(f", {name} is not installed (pip install {name}): its rows are left "
                                                   "out" for name in sorted(MISSING)))
    keeps = [run_case(case, arguments.bin, precision) for case in cases
             for precision in ([arguments.precision] if arguments.precision else compare.BARS)]
    sys.exit(0 if all(keeps) else 1)


if __name__ == "__main__":
    main()
