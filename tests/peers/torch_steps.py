#!/usr/bin/env python3
"""Times whole training steps or evaluations in PyTorch; one JSON object. Called by times.py, once a process.

The optimizer is fused. On a GPU no step waits for its loss: steps are timed in groups, each from one wait for the device
to the next.
"""
import argparse
import contextlib
import time

import torch
import torch.nn.functional as F

import nets
from turns import tell_times

GROUP = 10  # steps on a GPU between two waits
SHAPES = {"mlp_mnist": ((1, 28, 28), 10), "lenet_mnist": ((1, 28, 28), 10), "resnet_cifar": ((3, 32, 32), 10),
          "resnet50": ((3, 224, 224), 1000)}
SIZES = ("dim", "layers", "heads", "context", "vocabulary", "hidden", "bucket")  # flags that recipes without images have


def image_parts(arguments):
    """Returns the net, its optimizer, and a function of it that gives the loss of one minibatch of noise."""
    memory_format = getattr(torch, arguments.format + ("_format" if arguments.format == "contiguous" else ""))
    shape, classes = SHAPES[arguments.recipe]
    net = nets.build(arguments.recipe, shape, classes, {}).to(arguments.device, memory_format=memory_format).train()
    images = torch.randn(arguments.minibatch, *shape).to(arguments.device, memory_format=memory_format)
    labels = (torch.arange(arguments.minibatch) % classes).to(arguments.device)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4, fused=True)
    return net, optimizer, lambda net: F.cross_entropy(net(images), labels)


def gpt_parts(arguments):
    """As image_parts, with the optimizer of the recipe gpt, whose gradients are clipped."""
    sizes = (getattr(arguments, name) for name in ("dim", "layers", "heads", "context", "vocabulary"))
    net = nets.Gpt(*sizes).to(arguments.device).train()
    tokens = torch.randint(arguments.vocabulary, (arguments.minibatch, arguments.context + 1), device=arguments.device)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    return net, optimizer, lambda net: F.cross_entropy(net(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())


def transformer_parts(arguments):
    """As image_parts. All sequences are as long as the bucket; the net masks padding as it would elsewhere."""
    sizes = (getattr(arguments, name) for name in ("dim", "layers", "heads", "hidden", "vocabulary", "vocabulary"))
    net = nets.Transformer(*sizes, True, arguments.norm == "pre", arguments.dropout).to(arguments.device).train()
    shape = (arguments.minibatch, arguments.bucket)
    source, target = (torch.randint(1, arguments.vocabulary, shape, device=arguments.device) for _ in range(2))
    lengths = torch.full(shape[:1], arguments.bucket, device=arguments.device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-4, betas=(0.9, 0.98), eps=1e-9, fused=True)
    return net, optimizer, lambda net: nets.translation_loss(net, source, lengths, target, lengths, 0.1)


def bert_parts(arguments):
    """As image_parts, by BertForMaskedLM of transformers, which computes the logits of the predicted places alone."""
    import transformers
    config = transformers.BertConfig(
        vocab_size=arguments.vocabulary, hidden_size=arguments.dim, num_hidden_layers=arguments.layers,
        num_attention_heads=arguments.heads, intermediate_size=4 * arguments.dim, type_vocab_size=1,
        max_position_embeddings=arguments.context, hidden_dropout_prob=arguments.dropout,
        attention_probs_dropout_prob=arguments.dropout, attn_implementation="sdpa")
    net = transformers.BertForMaskedLM(config).to(arguments.device).train()
    tokens = torch.randint(arguments.vocabulary, (arguments.minibatch, arguments.context), device=arguments.device)
    count = round(0.15 * arguments.context)
    places = torch.rand(tokens.shape, device=arguments.device).argsort(1)[:, :count].sort(1).values
    places = (places + arguments.context * torch.arange(arguments.minibatch, device=arguments.device)[:, None]).flatten()
    labels = torch.randint(arguments.vocabulary, places.shape, device=arguments.device)

    def loss_of(net):
        features = net.bert(tokens).last_hidden_state.flatten(0, 1)
        return F.cross_entropy(net.cls(features[places]), labels)

    return net, torch.optim.AdamW(net.parameters(), lr=1e-4, weight_decay=0.01, fused=True), loss_of


PARTS = {"gpt": gpt_parts, "transformer": transformer_parts, "bert": bert_parts}


def stepper(arguments, net, optimizer, loss_of):
    """Returns a function that makes a step of the net, compiled if the arguments ask for it: a training step or an evaluation."""
    cuda = arguments.device == "cuda"
    if arguments.compile:  # the loss too
        loss_of = torch.compile(loss_of, mode="reduce-overhead" if cuda else "default")
    low = arguments.precision == "bf16"
    cast = (lambda: torch.autocast(arguments.device, torch.bfloat16)) if low else contextlib.nullcontext

    def evaluation():
        with torch.inference_mode(), cast():
            loss_of(net)

    if arguments.evaluate:
        net.eval()
        return evaluation

    def step():
        if arguments.compile and cuda:
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        with cast():
            loss = loss_of(net)
        loss.backward()
        if arguments.recipe == "gpt":
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()

    return step


def parsed(words=None):
    """Returns the arguments of these words, or of the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe", choices=[*SHAPES, *PARTS])
    parser.add_argument("--minibatch", type=int, required=True)
    parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="f32")
    parser.add_argument("--format", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as PyTorch takes")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--compile", action="store_true", help="torch.compile, on a GPU with CUDA graphs")
    for name in SIZES:
        parser.add_argument(f"--{name}", type=int, default=256, help="of " + " and ".join(PARTS))
    parser.add_argument("--dropout", type=float, default=0, help="of transformer and bert")
    parser.add_argument("--optimizer", choices=["adamw"], help="what bench takes")
    parser.add_argument("--norm", choices=["pre", "post"], default="pre", help="of transformer")
    parser.add_argument("--turns", action="store_true", help="step for so many milliseconds for each line of standard input")
    parser.add_argument("--evaluate", action="store_true", help="evaluate the loss, without gradients, in place of training")
    parser.add_argument("--first", action="store_true", help="end after a first step, which is told")
    parser.add_argument("--data", choices=["synthetic"], help="what bench takes")
    return parser.parse_args(words)


def main():
    arguments = parsed()
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    # Without this, convolutions in f32 would take tf32 on a GPU, which ours do not.
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = arguments.precision == "tf32"
    cuda = arguments.device == "cuda"
    step = stepper(arguments, *PARTS.get(arguments.recipe, image_parts)(arguments))

    def seconds_a_step(steps):
        start = time.perf_counter()
        for _ in range(steps):
            step()
        if cuda:
            torch.cuda.synchronize()
        return (time.perf_counter() - start) / steps

    if arguments.first:
        seconds_a_step(1)
        return print("first step done", flush=True)
    group = GROUP if cuda else 1
    tell_times(seconds_a_step, group, arguments.turns,
               lambda: {"peak_bytes": torch.cuda.max_memory_allocated()} if cuda else {})


if __name__ == "__main__":
    main()
