#!/usr/bin/env python3
"""Ten steps of gpt here and by GPT2LMHeadModel of transformers, from the same weights: losses, parameters, AdamW's means.

Flags go to gpt (--layers 3, --label-smoothing 0.1, --data FILE). A difference is relative to the greatest absolute
value of the tensor. Exit code 1 where a loss differs by more than 1e-9 (f64) or 1e-4 (f32, relative to the loss), or in
f64 a parameter or a mean of AdamW's by more than 1e-9.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
import transformers

import compare


def model_of(flags, initial, dtype):
    config = transformers.GPT2Config(
        vocab_size=int(flags["vocabulary"]), n_positions=int(flags["context"]), n_embd=int(flags["dim"]), n_layer=int(flags["layers"]),
        n_head=int(flags["heads"]), resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, attn_implementation="eager")
    model = transformers.GPT2LMHeadModel(config).to(dtype)
    missing, unexpected = model.load_state_dict(initial, strict=False)
    if unexpected or set(missing) != {"lm_head.weight"}:
        raise SystemExit(f"other names than GPT2LMHeadModel's: {unexpected}, without {missing}")
    return model.train()


def optimizer_of(model, trace):
    hyper = trace["hyper_parameters"]
    groups = [{"params": [p for name, p in model.named_parameters() if trace["decays"][name] == decays],
               "weight_decay": hyper["weight_decay"] if decays else 0.0} for decays in (True, False)]
    return torch.optim.AdamW(groups, lr=trace["learning_rate"], betas=(hyper["beta1"], hyper["beta2"]),
                             eps=hyper["epsilon"])


def run_torch(model, trace, batches, clip_norm):
    optimizer = optimizer_of(model, trace)
    losses = []
    for step in range(trace["steps"]):
        compare.set_rate(optimizer, trace["learning_rates"][step])
        tokens = batches[f"tokens.{step}"].long()
        logits = model(tokens[:, :-1]).logits
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(), label_smoothing=trace["label_smoothing"])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        if clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip_norm)
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


def compare_steps(programs, precision, words):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([programs / "gpt", "trace", "--precision", precision, "--out", folder, *words], check=True,
                       stdout=subprocess.DEVNULL)
        trace, initial, batches, _, final = compare.read_trace(folder)
    model = model_of(trace["flags"], initial, compare.DTYPES[precision])
    losses, optimizer = run_torch(model, trace, batches, float(trace["flags"]["clip-norm"]))
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}; gpt {precision}, {trace['steps']} steps "
          f"of {trace['minibatch']}, loss {losses[0]:.4f} to {losses[-1]:.4f}")
    tensors = ((name, value, optimizer.state[value]["exp_avg"]) for name, value in model.named_parameters())
    return compare.judge(trace, initial, final, losses, tensors)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=compare.ROOT / "build" / "bin")
    parser.add_argument("--precision", choices=("f64", "f32"), action="append")
    arguments, words = parser.parse_known_intermixed_args()
    results = [compare_steps(arguments.bin, precision, words) for precision in arguments.precision or ("f64", "f32")]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
