"""Update rules as their papers have them, one function each, on one tensor: w parameter, g gradient, s what the rule
keeps (zeros at first), h the numbers of the step by name. Each gives the new w.

eta is the learning rate of the step, eta_before that of the step before, peak the greatest of the run, t counts steps
from 1, epoch is what was done before the step; wd is the weight decay of the tensor, 0 where it does not decay.
"""
import math
from types import SimpleNamespace

import torch


def kept(s, name, like):
    return s.get(name, torch.zeros_like(like))


def sgd(w, g, s, h):  # Goyal et al. 2017, eq. 2, with the decay of their section 3
    return w - h.eta * (g + h.wd * w)


def momentum(w, g, s, h):  # Goyal et al. 2017, eq. 9
    s["u"] = h.momentum * kept(s, "u", w) + (g + h.wd * w)
    return w - h.eta * s["u"]


def scaled_momentum(w, g, s, h):  # Goyal et al. 2017, eq. 10 with momentum correction
    s["v"] = h.momentum * (h.eta / h.eta_before) * kept(s, "v", w) + h.eta * (g + h.wd * w)
    return w - s["v"]


def uncorrected_momentum(w, g, s, h):  # Goyal et al. 2017, eq. 10 alone
    s["v"] = h.momentum * kept(s, "v", w) + h.eta * (g + h.wd * w)
    return w - s["v"]


def nesterov(w, g, s, h):
    g = g + h.wd * w
    s["u"] = h.momentum * kept(s, "u", w) + g
    return w - h.eta * (g + h.momentum * s["u"])


def adam_moments(g, s, h):  # Kingma and Ba 2015
    s["m"] = h.beta1 * kept(s, "m", g) + (1 - h.beta1) * g
    s["v"] = h.beta2 * kept(s, "v", g) + (1 - h.beta2) * g**2
    return s["m"] / (1 - h.beta1**h.t), s["v"] / (1 - h.beta2**h.t)


def adam(w, g, s, h):
    m, v = adam_moments(g + h.wd * w, s, h)
    return w - h.eta * m / (v.sqrt() + h.epsilon)


def adamw(w, g, s, h):  # Loshchilov and Hutter 2019
    m, v = adam_moments(g, s, h)
    return w - h.eta * (m / (v.sqrt() + h.epsilon) + h.wd * w)


def nadamw(w, g, s, h):  # AlgoPerf, Dahl et al. 2023
    adam_moments(g, s, h)
    ahead = (h.beta1 * s["m"] + (1 - h.beta1) * g) / (1 - h.beta1**h.t)
    return w - h.eta * (ahead / ((s["v"] / (1 - h.beta2**h.t)).sqrt() + h.epsilon) + h.wd * w)


def lion(w, g, s, h):  # Chen et al. 2023, algorithm 2
    m = kept(s, "m", g)
    s["m"] = h.beta2 * m + (1 - h.beta2) * g
    return w - h.eta * ((h.beta1 * m + (1 - h.beta1) * g).sign() + h.wd * w)


def schedule_free(y, g, s, h):  # Defazio et al. 2024, algorithm 1, with SGD
    return mean_point_step(y, g + h.wd * y, s, h)


def schedule_free_adamw(y, g, s, h):  # algorithm 1; the correction stands inside the root, as in their package
    s["v"] = h.beta2 * kept(s, "v", g) + (1 - h.beta2) * g**2
    return mean_point_step(y, g / ((s["v"] / (1 - h.beta2**h.t)).sqrt() + h.epsilon) + h.wd * y, s, h)


def mean_point_step(y, direction, s, h):
    """The net holds y, where the next gradient is taken; x, which is evaluated, and z begin where y does."""
    z, x = s.get("z", y.clone()) - h.eta * direction, s.get("x", y.clone())
    s["squares"] = s.get("squares", 0.0) + h.eta**2
    share = h.eta**2 / s["squares"]
    s["z"], s["x"] = z, (1 - share) * x + share * z
    return (1 - h.beta) * z + h.beta * s["x"]


def length(x):
    return x.square().sum().sqrt()


def trust_ratio(w, g, h, coefficient, epsilon=0.0, least=0.0):
    """Returns an adapted tensor's factor; for others their own greatest rate over the peak, or 1 without such a rate."""
    if not h.adapts:
        return h.skip_lr / h.peak if h.skip_lr > 0 else 1.0
    if length(w) <= least or length(g) == 0:
        return 1.0
    return coefficient * length(w) / (length(g) + h.weight_decay * length(w) + epsilon)


def lars(w, g, s, h):  # You et al. 2017, algorithm 1
    s["v"] = h.momentum * kept(s, "v", w) + h.eta * trust_ratio(w, g, h, h.trust) * (g + h.wd * w)
    return w - s["v"]


def lars_mlperf(w, g, s, h):  # MLPerf's reference code, in which v has the opposite sign
    update = h.eta * trust_ratio(w, g, h, h.trust, h.epsilon) * (g + h.wd * w)
    s["v"] = h.momentum * kept(s, "v", w) - update
    return w + (h.momentum * s["v"] - update if h.nesterov else s["v"])


def lars_unscaled(w, g, s, h):  # Kumar et al. 2019
    s["u"] = h.momentum * kept(s, "u", w) + trust_ratio(w, g, h, h.trust) * (g + h.wd * w)
    return w - h.eta * s["u"]


def lars_plain(w, g, s, h):
    s["v"] = h.momentum * kept(s, "v", w) + h.eta * trust_ratio(w, g, h, 1.0, least=1e-2) * (g + h.wd * w)
    return w - s["v"]


def larc(w, g, s, h):  # wraps SGD with momentum
    ratio = trust_ratio(w, g, h, h.trust, h.epsilon)
    if h.adapts:
        ratio = min(ratio / h.eta, 1.0)
    s["u"] = h.momentum * kept(s, "u", w) + ratio * (g + h.wd * w)
    return w - h.eta * s["u"]


def lamb(w, g, s, h):  # You et al. 2019
    m, v = adam_moments(g, s, h)
    if not h.bias_correction:
        m, v = s["m"], s["v"]
    update = m / (v.sqrt() + h.epsilon) + h.wd * w
    if not h.adapts:
        return w - h.eta * (h.skip_lr / h.peak if h.skip_lr > 0 else 1.0) * update
    size = min(length(w), h.phi_max) if h.phi_max > 0 else length(w)
    ratio = size / length(update) if length(w) > 0 and length(update) > 0 else 1.0
    return w - h.eta * ratio * update


def rmsprop_warmup(w, g, s, h):  # Akiba et al. 2017; the slope of the second part is that in their code
    center, period = h.center_epoch, h.period_epochs
    if h.epoch < center:
        plain = 0.5 * math.exp(2 * (h.epoch - center) / period)
    else:
        plain = 0.5 + (h.epoch - center) / period if h.epoch < center + period / 2 else 1.0
    rms = (1 - plain) * h.rms_lr / h.eta
    g = g + h.wd * w
    s["square"] = h.beta2 * kept(s, "square", w) + (1 - h.beta2) * g**2
    s["step"] = h.momentum * kept(s, "step", w) - (plain + rms / (s["square"].sqrt() + h.epsilon)) * g
    return w + h.eta * s["step"]


def muon(w, g, s, h):  # Jordan et al. 2024, their code; update_rms as Liu et al. 2025, eq. 4
    s["m"] = kept(s, "m", g).lerp(g, 1 - h.momentum)
    update = g.lerp(s["m"], h.momentum) if h.nesterov else s["m"]
    matrix = update.reshape(len(update), -1)
    rows, columns = matrix.shape
    scale = h.update_rms * max(rows, columns) ** 0.5 if h.update_rms > 0 else max(1, rows / columns) ** 0.5
    return w - h.eta * (scale * newton_schulz(matrix).reshape(w.shape) + h.wd * w)


def newton_schulz(g):
    x = g.T if len(g) > len(g.T) else g
    x = x / (length(x) + 1e-7)
    for _ in range(5):
        a = x @ x.T
        x = 3.4445 * x + (-4.7750 * a + 2.0315 * a @ a) @ x
    return x.T if len(g) > len(g.T) else x


def shampoo(w, g, s, h):  # Gupta et al. 2018, algorithm 1; Anil et al. 2020; roots by eigenvalues
    direction, matrix = [], g.reshape(len(g), -1)
    for i, rows in enumerate(blocks(matrix, 128)):
        line = []
        for j, x in enumerate(blocks(rows.T, 128)):
            left = s[f"left{i}.{j}"] = h.beta2 * s.get(f"left{i}.{j}", 0) + (1 - h.beta2) * x.T @ x
            right = s[f"right{i}.{j}"] = h.beta2 * s.get(f"right{i}.{j}", 0) + (1 - h.beta2) * x @ x.T
            line.append(fourth_root(left, h.ridge) @ x.T @ fourth_root(right, h.ridge))
        direction.append(torch.cat(line, 1))
    direction = torch.cat(direction).reshape(g.shape)
    s["v"] = h.beta2 * kept(s, "v", g) + (1 - h.beta2) * g**2
    graft = length(g / ((s["v"] / (1 - h.beta2**h.t)).sqrt() + h.epsilon))
    s["m"] = h.beta1 * kept(s, "m", g) + (1 - h.beta1) * (graft / length(direction) if graft > 0 else 0) * direction
    return (1 - h.eta * h.wd) * w - h.eta * s["m"] / (1 - h.beta1**h.t)


def blocks(matrix, limit):
    """Returns as many parts of the rows as the limit needs, of one length but for the last."""
    parts = -(-len(matrix) // limit)
    return matrix.split(-(-len(matrix) // parts))


def fourth_root(matrix, ridge):
    values, vectors = torch.linalg.eigh(matrix.double())
    values = values.clamp(min=0)
    norm = values.max() * (values / values.max()).pow(8).sum() ** (1 / 8)
    return (vectors * (values + ridge * norm) ** -0.25 @ vectors.T).to(matrix.dtype)


RULES = {rule.__name__.replace("_", "-"): rule
         for rule in (sgd, momentum, scaled_momentum, uncorrected_momentum, nesterov, adam, adamw, nadamw, lion,
                      schedule_free, schedule_free_adamw, lars, lars_mlperf, lars_unscaled, lars_plain, larc, lamb, rmsprop_warmup,
                      muon, shampoo)}


class Formula:
    """A rule over the parameters of a net, with the two methods of an optimizer that a training loop calls."""

    def __init__(self, named_parameters, trace):
        self.rule, self.trace = RULES[trace["optimizer"]], trace
        self.parameters, self.states = dict(named_parameters), {}
        self.t, self.eta, self.eta_before = 0, None, None

    def zero_grad(self, set_to_none=True):
        for parameter in self.parameters.values():
            parameter.grad = None

    def numbers_for(self, name):
        hyper = self.trace["hyper_parameters"]
        wd = hyper["weight_decay"] if self.trace["decays"][name] else 0.0
        return SimpleNamespace(**{"skip_lr": 0.0, **hyper}, wd=wd, adapts=self.trace["adapts"][name], t=self.t,
                               eta=self.eta, eta_before=self.eta_before, peak=self.trace["learning_rate"],
                               epoch=(self.t - 1) / self.trace["steps_per_epoch"])

    @torch.no_grad()
    def step(self):
        self.t += 1
        for name, parameter in self.parameters.items():
            state = self.states.setdefault(name, {})
            parameter.copy_(self.rule(parameter, parameter.grad, state, self.numbers_for(name)))

    @torch.no_grad()
    def eval(self):
        """Puts the point that is evaluated into the net, if it is not the point of the gradient."""
        for name, parameter in self.parameters.items():
            parameter.copy_(self.states[name].get("x", parameter))


def set_rate(formula, rate):
    formula.eta_before = rate if formula.eta is None else formula.eta
    formula.eta = rate
