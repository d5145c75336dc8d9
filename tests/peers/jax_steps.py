#!/usr/bin/env python3
"""Times whole training steps in JAX on a CPU, each one jitted function whose state is donated. Called by times.py, once a
process, with the flags of torch_steps.py. Images lie channels_last; with bf16 the parameters stay f32 and products,
convolutions and activations are bf16, statistics of norms f32.
"""
import argparse
import os
import time

import numpy as np

from turns import tell_times


def arguments_of():
    parser = argparse.ArgumentParser()
    parser.add_argument("recipe", choices=["mlp_mnist", "resnet_cifar", "resnet50", "gpt"])
    parser.add_argument("--minibatch", type=int, required=True)
    parser.add_argument("--precision", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--threads", type=int, default=0, help="0: as many as JAX takes")
    for name in ("dim", "layers", "heads", "context", "vocabulary"):
        parser.add_argument(f"--{name}", type=int, default=256, help="of gpt")
    parser.add_argument("--device", choices=["cpu"])
    parser.add_argument("--format", choices=["contiguous", "channels_last"], help="channels_last for images")
    parser.add_argument("--turns", action="store_true", help="step for so many milliseconds for each line of standard input")
    return parser.parse_args()


ARGUMENTS = arguments_of()
if ARGUMENTS.threads:  # XLA takes as many threads as it may run on processors
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:ARGUMENTS.threads])

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

LOW = jnp.bfloat16 if ARGUMENTS.precision == "bf16" else jnp.float32


class Net:
    """Declares parameters when `values` is None, else reads them in the order in which they were declared."""

    def __init__(self, values=None):
        self.values, self.made, self.random = values, [], np.random.default_rng(1)

    def parameter(self, shape, scale):
        if self.values is None:
            value = self.random.standard_normal(shape, np.float32) * np.float32(scale) if scale else np.zeros(shape, np.float32)
            self.made.append(jnp.asarray(value))
            return self.made[-1]
        value = self.values[len(self.made)]
        self.made.append(value)
        return value

    def linear(self, x, outputs):
        w = self.parameter((x.shape[-1], outputs), x.shape[-1] ** -0.5)
        return x @ w.astype(LOW) + self.parameter((outputs,), 0).astype(LOW)

    def conv(self, x, outputs, side, stride=1):
        w = self.parameter((side, side, x.shape[-1], outputs), (side * side * x.shape[-1] / 2) ** -0.5)
        padding = [(side // 2, side // 2)] * 2
        return jax.lax.conv_general_dilated(x, w.astype(LOW), (stride, stride), padding,
                                            dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def norm(self, x, axes):
        """Batch norm over axes (0, 1, 2), layer norm over axis (-1,)."""
        y = x.astype(jnp.float32)
        y = (y - y.mean(axes, keepdims=True)) * jax.lax.rsqrt(y.var(axes, keepdims=True) + 1e-5)
        scale = 1 + self.parameter((x.shape[-1],), 0)
        return (y * scale + self.parameter((x.shape[-1],), 0)).astype(LOW)

    def batch_norm(self, x):
        return self.norm(x, (0, 1, 2))


def mlp(net, x):
    x = x.reshape(x.shape[0], -1)
    for _ in range(2):
        x = jax.nn.relu(net.linear(x, 256))
    return net.linear(x, 10)


def resnet_cifar(net, x):
    x = jax.nn.relu(net.batch_norm(net.conv(x, 16, 3)))
    for channels in (16, 32, 64):
        for block in range(3):
            missing = channels - x.shape[-1]
            stride = 2 if missing else 1
            y = jax.nn.relu(net.batch_norm(net.conv(x, channels, 3, stride)))
            y = net.batch_norm(net.conv(y, channels, 3))
            x = jnp.pad(x[:, ::stride, ::stride], ((0, 0),) * 3 + ((missing // 2, missing - missing // 2),))
            x = jax.nn.relu(y + x)
    return net.linear(x.mean((1, 2)), 10)


def resnet50(net, x):
    x = jax.nn.relu(net.batch_norm(net.conv(x, 64, 7, 2)))
    x = jax.lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), jax.lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                              ((0, 0), (1, 1), (1, 1), (0, 0)))
    for stage, count in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(count):
            stride = 2 if stage > 0 and block == 0 else 1
            y = jax.nn.relu(net.batch_norm(net.conv(x, width, 1)))
            y = jax.nn.relu(net.batch_norm(net.conv(y, width, 3, stride)))
            y = net.batch_norm(net.conv(y, 4 * width, 1))
            if block == 0:
                x = net.batch_norm(net.conv(x, 4 * width, 1, stride))
            x = jax.nn.relu(y + x)
    return net.linear(x.mean((1, 2)), 1000)


def gpt(net, tokens):
    a = ARGUMENTS
    table, places = net.parameter((a.vocabulary, a.dim), 0.02), net.parameter((a.context, a.dim), 0.02)
    x = (table[tokens] + places).astype(LOW)
    for _ in range(a.layers):
        qkv = net.linear(net.norm(x, (-1,)), 3 * a.dim).reshape(*x.shape[:2], 3, a.heads, -1)
        y = jax.nn.dot_product_attention(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], is_causal=True)
        x = x + net.linear(y.reshape(x.shape), a.dim)
        x = x + net.linear(jax.nn.gelu(net.linear(net.norm(x, (-1,)), 4 * a.dim)), a.dim)
    return net.norm(x, (-1,)) @ table.T.astype(LOW)


NETS = {"mlp_mnist": (mlp, (28, 28, 1), 10), "resnet_cifar": (resnet_cifar, (32, 32, 3), 10),
        "resnet50": (resnet50, (224, 224, 3), 1000)}


def sgd(parameters, state, gradients):
    """Momentum 0.9, weight decay 1e-4."""
    momentum = jax.tree.map(lambda m, g, w: 0.9 * m + g + 1e-4 * w, state, gradients, parameters)
    return jax.tree.map(lambda w, m: w - 1e-4 * m, parameters, momentum), momentum


def clipped_adamw(parameters, state, gradients):
    norm = jnp.sqrt(sum((g**2).sum() for g in gradients))
    gradients = [g * jnp.minimum(1, 1 / norm) for g in gradients]
    t = state[0] + 1
    m = [0.9 * m + 0.1 * g for m, g in zip(state[1], gradients)]
    v = [0.95 * v + 0.05 * g**2 for v, g in zip(state[2], gradients)]
    rate = 1e-4 * jnp.sqrt(1 - 0.95**t) / (1 - 0.9**t)
    parameters = [w * (1 - 1e-5) - rate * m / (jnp.sqrt(v) + 1e-8) for w, m, v in zip(parameters, m, v)]
    return parameters, (t, m, v)


def parts():
    """Returns the parameters, the optimizer's state, its update, and the loss of the parameters."""
    random = np.random.default_rng(2)
    if ARGUMENTS.recipe == "gpt":
        tokens = jnp.asarray(random.integers(ARGUMENTS.vocabulary, size=(ARGUMENTS.minibatch, ARGUMENTS.context + 1)))
        model, x, labels = gpt, tokens[:, :-1], tokens[:, 1:]
    else:
        model, shape, classes = NETS[ARGUMENTS.recipe]
        x = jnp.asarray(random.standard_normal((ARGUMENTS.minibatch, *shape), np.float32)).astype(LOW)
        labels = jnp.arange(ARGUMENTS.minibatch) % classes
    net = Net()
    model(net, x)

    def loss(parameters, x, labels):
        logits = model(Net(parameters), x).astype(jnp.float32)
        return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()

    zeros = [jnp.zeros_like(w) for w in net.made]
    if ARGUMENTS.recipe == "gpt":
        return net.made, (jnp.float32(0), zeros, [z + 0 for z in zeros]), clipped_adamw, loss, x, labels
    return net.made, zeros, sgd, loss, x, labels


def main():
    parameters, state, update, loss, x, labels = parts()

    def whole(parameters, state, x, labels):
        value, gradients = jax.value_and_grad(loss)(parameters, x, labels)
        return *update(parameters, state, gradients), value

    step = jax.jit(whole, donate_argnums=(0, 1))

    def seconds_a_step(steps):
        nonlocal parameters, state
        start = time.perf_counter()
        for _ in range(steps):
            parameters, state, value = step(parameters, state, x, labels)
            value.block_until_ready()
        return (time.perf_counter() - start) / steps

    tell_times(seconds_a_step, 1, ARGUMENTS.turns)


if __name__ == "__main__":
    main()
