#!/usr/bin/env python3
"""Three rounds of local training (--policy local) and the formulas of the papers in PyTorch, all in f64.

local_rounds_trace trains by train() and writes the initial parameters, the samples that every step was fed, and the
state after each round. A round has four steps, each of sixteen samples, which the replicas share evenly. A difference
is relative to the greatest absolute value of its tensor. Rows:

- Joined parameters, and those of every replica before the join, after each of three rounds, from PyTorch's gradients
  by formulas that are written here and in formulas.py from the papers.
- SlowMo at a constant rate against outer momentum. Both are Kilobatch.
- A mean after each step, and one replica that is joined by the mean, against synchronous training. Both are Kilobatch;
  parameters, running statistics and slots.
- A round of each paper's lowers a quadratic: the value is the mean loss of all samples after the round over that before
  it.

Exit code 1 where a value is not below its bound, or where the parameters have moved by less than 1e-3.
"""
import argparse
import math
import pathlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from types import SimpleNamespace

import torch
import torch.nn.functional as F

import compare
import formulas
import safetensors_file

STEPS, ROUND, REPLICAS = 12, 4, 4
BETA, BETA_OUTER, BETA_SLOW = 0.9, 0.9, 0.5
PAPERS, SAME_FORMULA, SYNCHRONOUS = 1e-9, 1e-13, 1e-13
RUN = {"--minibatch": "16", "--steps": str(STEPS), "--shards": "2", "--threads": "2"}
# Batch norm over two samples that are nearly alike multiplies the rounding of a join, after twelve steps to 1e-13.
PER_WORKER = {"network": "2", "quadratic": "2", "norm": "4"}
INNER = {
    "momentum": {"lr": 0.05, "momentum": BETA, "weight_decay": 0.01},
    "adamw": {"lr": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "weight_decay": 0.01},
}


def mean(own):
    return torch.stack(own).mean(0)


# A join gives the parameter with which the next round begins. x is the one with which this round began, own are the
# replicas' after their steps, rate is the learning rate of the last of these, s is what the rule keeps.
def local_sgd(x, own, rate, s):  # Stich 2019, "Local SGD converges fast and communicates little", algorithm 1
    return mean(own)


def lookahead(x, own, rate, s):  # Zhang et al. 2019, algorithm 1, alpha 0.5
    (fast,) = own
    return x + 0.5 * (fast - x)


def diloco(x, own, rate, s):  # Douillard et al. 2023, algorithm 1; OuterOpt is Nesterov momentum as PyTorch has it
    delta = mean([x - theta for theta in own])
    s["b"] = BETA_OUTER * formulas.kept(s, "b", x) + delta
    return x - 0.7 * (delta + BETA_OUTER * s["b"])


def slowmo(x, own, rate, s):  # Wang et al. 2019, algorithm 1, alpha 1; its fast rate is that of the round's last step
    s["u"] = BETA_SLOW * formulas.kept(s, "u", x) + (x - mean(own)) / rate
    return x - rate * s["u"]


OUTER = {
    local_sgd: "--outer sgd --outer-lr 1",
    lookahead: "--outer sgd --outer-lr 0.5",
    diloco: f"--outer nesterov --outer-lr 0.7 --outer-momentum {BETA_OUTER}",
    slowmo: f"--outer momentum --outer-lr 1 --outer-momentum {BETA_SLOW} --outer-per-rate",
}


@dataclass
class Case:
    """A paper's algorithm: its join, the replicas, and how these learn."""
    paper: str
    join: object
    replicas: int = REPLICAS
    inner: str = "momentum"
    schedule: str = "constant"
    slots: str = "keep"

    def name(self):
        return f"{self.paper}, {self.inner} within, {self.schedule} rate, slots {self.slots}, R {self.replicas}"

    def words(self):
        return [*inner_words(self.inner, self.schedule), *local_words(self.replicas, ROUND), *OUTER[self.join].split(),
                "--local-slots", self.slots]

    def rate(self, step):  # Loshchilov and Hutter 2017, eq. 5, without restarts
        falls = 0.5 * (1 + math.cos(math.pi * step / STEPS)) if self.schedule == "cosine" else 1.0
        return INNER[self.inner]["lr"] * falls


CASES = [
    *(Case("DiLoCo", diloco, replicas, inner) for inner in INNER for replicas in (REPLICAS, 1)),
    *(Case("SlowMo", slowmo, replicas, schedule=schedule) for schedule in ("constant", "cosine")
      for replicas in (REPLICAS, 1)),
    *(Case("SlowMo", slowmo, schedule="cosine", slots=slots) for slots in ("mean", "zero")),
    Case("Lookahead", lookahead, 1),
    *(Case("local SGD", local_sgd, replicas) for replicas in (REPLICAS, 1)),
    Case("local SGD", local_sgd, slots="mean"),
]


def inner_words(inner, schedule="constant"):
    numbers = [word for name, value in INNER[inner].items() for word in ("--" + name.replace("_", "-"), f"{value:g}")]
    return ["--optimizer", inner, "--schedule", schedule, *numbers]


def local_words(replicas, every):
    return ["--policy", "local", "--replicas", str(replicas), "--every", str(every), "--eval-every", f"{every}st"]


class Programs:
    """Runs local_rounds_trace, once for each command line."""

    def __init__(self, folder):
        self.folder, self.seen = folder, {}

    def run(self, words, model="network"):
        """Returns the tensors of the program's file."""
        flags = {"--model": model, "--per-worker": PER_WORKER[model], **RUN}
        line = [*(word for flag in flags.items() for word in flag), *words]
        if tuple(line) not in self.seen:
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "trace.safetensors"
                subprocess.run([self.folder / "local_rounds_trace", "--to", file, *line], check=True,
                               stdout=subprocess.DEVNULL)
                self.seen[tuple(line)] = safetensors_file.read(file)
        return self.seen[tuple(line)]


def state_of(tensors, done):
    """Returns the tensors after `done` steps by their names."""
    prefix = f"state.{done}."
    state = {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
    if not state:
        raise SystemExit(f"there is no state after {done} steps")
    return state


def minibatch(tensors, step):
    """Returns the minibatch of a step, one row a sample."""
    prefix = f"batch.{step}."
    parts = sorted((int(name.removeprefix(prefix)), part) for name, part in tensors.items() if name.startswith(prefix))
    return torch.cat([part for _, part in parts]).double()


def losses_of(values, samples):
    """Returns the losses of samples: of the network, or of its one layer if it has no second."""
    x, target = samples[:, :2], samples[:, 2:]
    output = F.linear(x, values["fc1.weight"], values["fc1.bias"])
    if "fc2.weight" in values:
        output = F.linear(torch.tanh(output), values["fc2.weight"], values["fc2.bias"])
    return 0.5 * (output - target).square()


def take_step(case, values, slots, samples, step):
    """Returns a replica's parameters after a step, by the inner optimizer; changes its slots."""
    leaves = {name: value.clone().requires_grad_(True) for name, value in values.items()}
    gradients = torch.autograd.grad(losses_of(leaves, samples).mean(), list(leaves.values()))
    hyper, rule = INNER[case.inner], formulas.RULES[case.inner]
    after = {}
    for (name, value), gradient in zip(values.items(), gradients):
        decay = hyper["weight_decay"] if name.endswith(".weight") else 0.0
        numbers = SimpleNamespace(**hyper, eta=case.rate(step), wd=decay, t=step + 1)
        after[name] = rule(value, gradient, slots[name], numbers)
    return after


def settle_slots(slots, how):
    """Maintains, averages or resets the buffers of the replicas' optimizers."""
    for name in slots[0]:
        for slot in slots[0][name]:
            average = mean([own[name][slot] for own in slots])
            for own in slots:
                own[name][slot] = {"keep": own[name][slot], "mean": average, "zero": torch.zeros_like(average)}[how]


def rounds_of(case, tensors):
    """Yields the joined parameters and the replicas' own after each round, from the state before the first."""
    joined = {name: value for name, value in state_of(tensors, 0).items() if name.startswith("fc")}
    kept = {name: {} for name in joined}
    slots = [{name: {} for name in joined} for _ in range(case.replicas)]
    for first in range(0, STEPS, ROUND):
        own = [dict(joined) for _ in slots]
        settle_slots(slots, case.slots)
        for step in range(first, first + ROUND):
            shares = minibatch(tensors, step).chunk(case.replicas)
            own = [take_step(case, *replica, step) for replica in zip(own, slots, shares, strict=True)]
        joined = {name: case.join(value, [replica[name] for replica in own], case.rate(first + ROUND - 1), kept[name])
                  for name, value in joined.items()}
        yield joined, own


class Table:
    """Prints a row for each comparison, and remembers whether all keep their bounds."""

    def __init__(self):
        self.keeps = True

    def begin(self, value):
        print(f"\n{'case':<70}  {value:>19}  {'bound':>6}  ok")

    def row(self, case, worst, bound, moved=1.0):
        ok = worst.value < bound and moved > 1e-3
        self.keeps = self.keeps and ok
        print(f"{case:<70}  {worst.value:19.2g}  {bound:6.0e}  {'yes' if ok else 'NO '}  {worst.name}", flush=True)


def moved(tensors):
    """Returns the greatest relative change of a parameter."""
    first, last = state_of(tensors, 0), state_of(tensors, STEPS)
    return max(compare.difference(last[name], value) for name, value in first.items() if name.startswith("fc"))


def rows_of_papers(programs, table, cases):
    for case in cases:
        tensors, worst = programs.run(case.words()), compare.Worst()
        for number, (joined, own) in enumerate(rounds_of(case, tensors), 1):
            state = state_of(tensors, number * ROUND)
            for prefix, values in (("", joined), *((f"replica.{r}.", values) for r, values in enumerate(own))):
                for name, value in values.items():
                    worst.note(f"{prefix}{name} of round {number}", state[prefix + name], value)
        table.row(case.name(), worst, PAPERS, moved(tensors))


def rows_of_slow_momentum(programs, table):
    for replicas in (REPLICAS, 1):
        words, worst = Case("SlowMo", slowmo, replicas).words(), compare.Worst()
        slow, plain = (state_of(programs.run(line), STEPS)
                       for line in (words, [word for word in words if word != "--outer-per-rate"]))
        for name, value in plain.items():
            if not name.startswith("outer."):  # it has another unit
                worst.note(name, slow[name], value)
        table.row(f"SlowMo at a constant rate, outer momentum, R {replicas}", worst, SAME_FORMULA)


def rows_of_synchronous_training(programs, table):
    inner = inner_words("momentum")
    for model in ("network", "norm"):
        sync = programs.run([*inner, "--eval-every", f"{STEPS}st"], model)
        for replicas, every in ((REPLICAS, 1), (1, 1), (1, 5), (1, STEPS)):
            joined = state_of(programs.run([*inner, *local_words(replicas, every)], model), STEPS)
            worst = compare.Worst()
            for name, value in state_of(sync, STEPS).items():
                if name.startswith("velocity."):
                    ours = mean([joined[f"replica.{replica}.{name}"] for replica in range(replicas)])
                else:
                    ours = joined[name]
                worst.note(name, ours, value)
            table.row(f"synchronous training, mean, {model}, R {replicas}, H {every}", worst, SYNCHRONOUS, moved(sync))


def rows_of_a_quadratic(programs, table, cases):
    for case in cases:
        tensors, worst = programs.run(case.words(), "quadratic"), compare.Worst()
        before, after = (losses_of(state_of(tensors, done), tensors["samples"].double()).mean().item()
                         for done in (0, ROUND))
        worst.value, worst.name = after / before, f"loss {before:.4f} to {after:.4f}"
        table.row(f"quadratic, {case.name()}", worst, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"PyTorch {torch.__version__}; local_rounds_trace f64, {STEPS} steps, rounds of {ROUND}")
    programs, table = Programs(arguments.bin), Table()
    table.begin("relative difference")
    rows_of_papers(programs, table, CASES)
    rows_of_slow_momentum(programs, table)
    rows_of_synchronous_training(programs, table)
    table.begin("loss after / before")
    rows_of_a_quadratic(programs, table, CASES)
    sys.exit(0 if table.keeps else 1)


if __name__ == "__main__":
    main()
