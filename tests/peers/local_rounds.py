#!/usr/bin/env python3
"""Three rounds of four steps of local training, and the same in PyTorch: losses, joined parameters, running statistics.

Lookahead (Zhang et al. 2019) is one replica that goes half the way; DiLoCo (Douillard et al. 2023) is torch.optim.SGD
with Nesterov momentum over the mean of joined less own parameters; SlowMo (Wang et al. 2019, algorithm 1) divides that
mean by the inner rate, under a schedule that falls, and takes buffers that are averaged at a join. Inner steps are
torch.optim.SGD with momentum and weight decay. Exit code 1 where a difference is above the bar.
"""
import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F

import compare
import safetensors_file

NET = {"--norm": "batch", "--minibatch": "32", "--per-worker": "8", "--lr": "0.01",
       "--warmup": "none", "--schedule": "cosine", "--steps": "12"}
LOCAL = {"--policy": "local", "--every": "4", "--augment": "none"}
CASES = {
    "mean": {"--replicas": "4"},
    "Lookahead": {"--replicas": "1", "--outer-lr": "0.5"},
    "DiLoCo": {"--replicas": "4", "--outer": "nesterov", "--outer-lr": "0.7", "--outer-momentum": "0.9"},
    "SlowMo": {"--replicas": "4", "--outer": "momentum", "--outer-lr": "1", "--outer-momentum": "0.5",
               "--local-slots": "mean"},
}
SWITCHES = {"SlowMo": ["--outer-per-rate"]}
BARS = {"f64": 1e-9, "f32": 1e-3}


class Outer:
    """The joined parameters, and the update of a round from the replicas'."""

    def __init__(self, case, parameters):
        self.case = case
        self.joined = [torch.nn.Parameter(p.detach().clone()) for p in parameters]
        self.diloco = torch.optim.SGD(self.joined, lr=0.7, momentum=0.9, nesterov=True)
        self.slow = [torch.zeros_like(p) for p in self.joined]

    @torch.no_grad()
    def join(self, replicas, rate):
        means = [torch.stack([replica[i].detach() for replica in replicas]).mean(0) for i in range(len(self.joined))]
        if self.case == "DiLoCo":
            for joined, mean in zip(self.joined, means):
                joined.grad = joined - mean
            self.diloco.step()
            return
        for joined, mean, slow in zip(self.joined, means, self.slow):
            if self.case == "mean":
                joined.copy_(mean)
            elif self.case == "Lookahead":
                joined += 0.5 * (mean - joined)
            else:
                slow.mul_(0.5).add_((joined - mean) / rate)
                joined -= rate * slow


@torch.no_grad()
def average_buffers(optimizers, parameters):
    for slots in zip(*(list(own) for own in parameters)):
        buffers = [optimizer.state[p]["momentum_buffer"] for optimizer, p in zip(optimizers, slots)]
        mean = torch.stack(buffers).mean(0)
        for buffer in buffers:
            buffer.copy_(mean)


def run(case, folder):
    """Returns PyTorch's losses, joined parameters and first replica's net. `folder`: a trace of the synchronous training,
    which has the same first weights and samples."""
    trace, initial, batches, _, _ = compare.read_trace(folder)
    net = compare.build_net(trace, initial)
    count = int(CASES[case]["--replicas"])
    nets = [copy.deepcopy(net) for _ in range(count)]
    parameters = [list(own.parameters()) for own in nets]
    optimizers = [compare.optimizer_for(own, trace) for own in nets]
    outer = Outer(case, parameters[0])
    dtype = compare.DTYPES[trace["precision"]]
    mean, stddev = (torch.tensor(trace[key], dtype=torch.float64).to(dtype).reshape(-1, 1, 1)
                    for key in ("mean", "stddev"))
    losses = []
    for step in range(trace["steps"]):
        rate, total = trace["learning_rates"][step], 0.0
        images = ((batches[f"images.{step}"].to(dtype) / 255 - mean) / stddev).chunk(count)
        labels = batches[f"labels.{step}"].long().chunk(count)
        for replica, optimizer, x, y in zip(nets, optimizers, images, labels):
            compare.set_rate(optimizer, rate)
            optimizer.zero_grad(set_to_none=True)
            # Each worker has batch norm's statistics of its own; running ones are those of the first.
            parts = list(zip(x.split(8), y.split(8)))
            for i, (images_of_worker, labels_of_worker) in enumerate(parts):
                kept = copy.deepcopy({name: b for name, b in replica.named_buffers()}) if i > 0 else None
                loss = F.cross_entropy(replica(images_of_worker), labels_of_worker) / len(parts)
                loss.backward()
                total += loss.item() / count
                if kept:
                    for name, buffer in replica.named_buffers():
                        buffer.copy_(kept[name])
            optimizer.step()
        losses.append(total)
        if (step + 1) % 4 == 0:
            outer.join(parameters, rate)
            with torch.no_grad():
                for own in parameters:
                    for parameter, joined in zip(own, outer.joined):
                        parameter.copy_(joined)
                for replica in nets[1:]:
                    for own, first in zip(replica.buffers(), nets[0].buffers()):
                        own.copy_(first)
            if case == "SlowMo":
                average_buffers(optimizers, parameters)
    return losses, dict(zip((name for name, _ in net.named_parameters()), outer.joined)), nets[0]


def train(programs, folder, flags, switches):
    """Trains in the folder RUN of `folder`; returns the losses of the steps and the final tensors."""
    words = [word for flag in flags.items() for word in flag] + switches
    out = folder / "run"
    subprocess.run([programs / "lenet_mnist", *words, "--quiet", "--out", out], check=True, stdout=subprocess.DEVNULL)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [line["loss"] for line in lines if line["kind"] == "step"], safetensors_file.read(out / "model.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=list(BARS), help="this one alone")
    parser.add_argument("--data", required=True, help="folder with MNIST, or the one above it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"PyTorch {torch.__version__}")
    keeps = True
    for precision in [arguments.precision] if arguments.precision else BARS:
        for case, flags in CASES.items():
            with tempfile.TemporaryDirectory() as folder:
                both = {**NET, "--data": arguments.data, "--precision": precision, "--threads": str(arguments.threads)}
                compare.trace_steps(arguments.bin, "lenet_mnist", {**both, "--out": folder})
                losses, joined, net = run(case, pathlib.Path(folder))
                ours, final = train(arguments.bin, pathlib.Path(folder), {**both, **LOCAL, **flags},
                                    SWITCHES.get(case, []))
            worst = compare.Worst()
            for name, parameter in joined.items():
                worst.note(name, final[name], parameter.detach())
            for name, buffer in net.named_buffers():
                if not name.endswith("num_batches_tracked"):
                    worst.note(name, final[name], buffer)
            apart = max(abs(own - theirs) / abs(theirs) for own, theirs in zip(ours, losses, strict=True))
            value, bar = max(worst.value, apart), BARS[precision]
            keeps = keeps and value <= bar
            print(f"{case:<10} {precision} losses {apart:7.1e}, tensors {worst.value:7.1e} {worst.name} "
                  f"{'<=' if value <= bar else '> BAR'} {bar:.0e}", flush=True)
    sys.exit(0 if keeps else 1)


if __name__ == "__main__":
    main()
