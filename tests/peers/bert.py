#!/usr/bin/env python3
"""Ten steps of bert here and by BertForMaskedLM of transformers, from the same weights: losses, parameters, LAMB's means.

LAMB is that of formulas.py. Flags go to bert (--layers 3, --token-types 2, --data FILE). A difference is relative to the
greatest absolute value of the tensor. Exit code 1 where a loss differs by more than 1e-9 (f64) or 1e-4 (f32, relative to
the loss), or in f64 a parameter or a mean of LAMB's by more than 1e-9. Biases of keys are left out: they add the same to
all scores of a position, so that their gradients are but rounding.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import torch
import torch.nn.functional as F
import transformers

import compare
import formulas


def config_of(flags):
    dim, context = int(flags["dim"]), int(flags["context"])
    return transformers.BertConfig(
        vocab_size=int(flags["vocabulary"]), hidden_size=dim, num_hidden_layers=int(flags["layers"]),
        num_attention_heads=int(flags["heads"]), intermediate_size=4 * dim, type_vocab_size=int(flags["token-types"]),
        max_position_embeddings=int(flags["positions"]) or context, hidden_dropout_prob=0, attention_probs_dropout_prob=0,
        attn_implementation="eager")


def model_of(flags, initial, dtype):
    model = transformers.BertForMaskedLM(config_of(flags)).to(dtype)
    missing, unexpected = model.load_state_dict(initial, strict=False)
    if unexpected or set(missing) != {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}:
        raise SystemExit(f"other names than BertForMaskedLM's: {unexpected}, without {missing}")
    return model.train()


def run_torch(model, trace, batches):
    optimizer = formulas.Formula(model.named_parameters(), trace)
    losses = []
    for step in range(trace["steps"]):
        formulas.set_rate(optimizer, trace["learning_rates"][step])
        tokens, places, labels = (batches[f"{field}.{step}"].long() for field in ("tokens", "places", "labels"))
        logits = model(tokens).logits
        predicted = logits.gather(1, places.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))
        loss = F.cross_entropy(predicted.flatten(0, 1), labels.flatten(), label_smoothing=trace["label_smoothing"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, optimizer


def compare_steps(programs, precision, words):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([programs / "bert", "trace", "--precision", precision, "--out", folder, *words], check=True,
                       stdout=subprocess.DEVNULL)
        trace, initial, batches, _, final = compare.read_trace(folder)
    model = model_of(trace["flags"], initial, compare.DTYPES[precision])
    losses, optimizer = run_torch(model, trace, batches)
    print(f"PyTorch {torch.__version__}, transformers {transformers.__version__}; bert {precision}, {trace['steps']} steps "
          f"of {trace['minibatch']}, loss {losses[0]:.4f} to {losses[-1]:.4f}")
    tensors = ((name, value, optimizer.states[name]["m"]) for name, value in model.named_parameters()
               if not name.endswith(".key.bias"))
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
