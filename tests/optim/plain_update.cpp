#include "tests/optim/plain_update.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <vector>

namespace kb::test {
namespace {

using Vector = std::vector<double>;

double norm(const Vector& x) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  return std::sqrt(squares);
}

// A layer and its gradient, with what the rules have in common.
struct PlainLayer {
  std::span<Plain> p;
  Vector g, d, w, decayed;  // decayed: g + lambda d w
  const PlainStep& s;

  PlainLayer(std::span<Plain> layer, std::span<const double> gradient, std::span<const double> decay,
             const PlainStep& step)
      : p(layer), g(gradient.begin(), gradient.end()), d(decay.begin(), decay.end()), s(step) {
    for (size_t i = 0; i < p.size(); ++i) {
      w.push_back(p[i].w);
      decayed.push_back(g[i] + s["weight_decay"] * d[i] * w[i]);
    }
  }

  // Returns the factor that a layer without adaptation has in place of the trust ratio.
  double skipped() const { return s["skip_lr"] > 0 ? s["skip_lr"] / s.peak : 1; }
  // Returns the trust ratio: coefficient |w| / (|g| + lambda |w| + epsilon) / rate.
  double trust(double coefficient, double least = 0, double epsilon = 0, double rate = 1) const {
    if (!s.adapted) return skipped();
    const double of_w = norm(w), of_g = norm(g), decay = norm(d) > 0 ? s["weight_decay"] : 0;
    if (of_w <= least || of_g == 0) return 1;
    return coefficient * of_w / (of_g + decay * of_w + epsilon) / rate;
  }
  // Takes the step v <- m v + eta trust (g + lambda w); w <- w - v.
  void scaled(double trust) const {
    for (size_t i = 0; i < p.size(); ++i) {
      p[i].a = s["momentum"] * p[i].a + s.eta * trust * decayed[i];
      p[i].w -= p[i].a;
    }
  }
  // Takes the step u <- m u + trust (g + lambda w); w <- w - eta u.
  void unscaled(double trust) const {
    for (size_t i = 0; i < p.size(); ++i) {
      p[i].a = s["momentum"] * p[i].a + trust * decayed[i];
      p[i].w -= s.eta * p[i].a;
    }
  }
  double adam_direction(size_t i, double of, bool corrected = true) const {
    const double b1 = s["beta1"], b2 = s["beta2"];
    p[i].a = b1 * p[i].a + (1 - b1) * of;
    p[i].b = b2 * p[i].b + (1 - b2) * of * of;
    const double m = corrected ? p[i].a / (1 - std::pow(b1, s.t)) : p[i].a;
    const double v = corrected ? p[i].b / (1 - std::pow(b2, s.t)) : p[i].b;
    return m / (std::sqrt(v) + s["epsilon"]);
  }
};

// NAdamW as AlgoPerf's reference has it: the mean is moved towards the gradient twice, once to keep it and once for the
// step.
void nadamw(PlainLayer& l) {
  const double b1 = l.s["beta1"], b2 = l.s["beta2"], unbias1 = 1 - std::pow(b1, l.s.t),
               unbias2 = 1 - std::pow(b2, l.s.t);
  for (size_t i = 0; i < l.p.size(); ++i) {
    Plain& p = l.p[i];
    p.a += (1 - b1) * (l.g[i] - p.a);
    p.b += (1 - b2) * (l.g[i] * l.g[i] - p.b);
    const double ahead = p.a + (1 - b1) * (l.g[i] - p.a);
    p.w *= 1 - l.s.eta * l.s["weight_decay"] * l.d[i];
    p.w -= l.s.eta / unbias1 * ahead / (std::sqrt(p.b) / std::sqrt(unbias2) + l.s["epsilon"]);
  }
}

// Lion: Chen et al. 2023, algorithm 2.
void lion(PlainLayer& l) {
  const double b1 = l.s["beta1"], b2 = l.s["beta2"];
  for (size_t i = 0; i < l.p.size(); ++i) {
    const double c = b1 * l.p[i].a + (1 - b1) * l.g[i], sign = c > 0 ? 1 : c < 0 ? -1 : 0;
    l.p[i].w -= l.s.eta * (sign + l.s["weight_decay"] * l.d[i] * l.w[i]);
    l.p[i].a = b2 * l.p[i].a + (1 - b2) * l.g[i];
  }
}

// Defazio et al. 2024, algorithm 1, with x kept as w and z as w + a. direction(i, y) is the direction of element i at
// y.
template <class Direction>
void schedule_free(PlainLayer& l, Direction&& direction) {
  const double beta = l.s["beta"], c = l.s.eta * l.s.eta / l.s.squares;
  for (size_t i = 0; i < l.p.size(); ++i) {
    const double x = l.p[i].w, z = x + l.p[i].a, y = (1 - beta) * z + beta * x;
    const double next_z = z - l.s.eta * direction(i, y), next_x = (1 - c) * x + c * next_z;
    l.p[i].w = next_x;
    l.p[i].a = next_z - next_x;
  }
}

void schedule_free_sgd(PlainLayer& l) {
  schedule_free(l, [&](size_t i, double y) { return l.g[i] + l.s["weight_decay"] * l.d[i] * y; });
}

void schedule_free_adamw(PlainLayer& l) {
  schedule_free(l, [&](size_t i, double y) {
    double& v = l.p[i].b;
    v = l.s["beta2"] * v + (1 - l.s["beta2"]) * l.g[i] * l.g[i];
    const double corrected = v / (1 - std::pow(l.s["beta2"], l.s.t));
    return l.g[i] / (std::sqrt(corrected) + l.s["epsilon"]) + l.s["weight_decay"] * l.d[i] * y;
  });
}

void lars_mlperf(PlainLayer& l) {
  const double m = l.s["momentum"], trust = l.trust(l.s["trust"], 0, l.s["epsilon"]);
  for (size_t i = 0; i < l.p.size(); ++i) {
    const double move = l.s.eta * trust * l.decayed[i];
    l.p[i].a = m * l.p[i].a + move;
    l.p[i].w -= l.s["nesterov"] > 0 ? m * l.p[i].a + move : l.p[i].a;
  }
}

void larc(PlainLayer& l) {
  const double trust = l.trust(l.s["trust"], 0, l.s["epsilon"], l.s.eta);
  l.unscaled(l.s.adapted ? std::min(trust, 1.0) : trust);
}

void lamb(PlainLayer& l) {
  Vector u;
  for (size_t i = 0; i < l.p.size(); ++i)
    u.push_back(l.adam_direction(i, l.g[i], l.s["bias_correction"] > 0) + l.s["weight_decay"] * l.d[i] * l.w[i]);
  const double of_w = norm(l.w), of_u = norm(u), most = l.s["phi_max"];
  double trust = of_w > 0 && of_u > 0 ? (most > 0 ? std::min(of_w, most) : of_w) / of_u : 1;
  if (!l.s.adapted) trust = l.skipped();
  for (size_t i = 0; i < l.p.size(); ++i) l.p[i].w -= l.s.eta * trust * u[i];
}

// Akiba et al. 2017: `plain` is the share of plain SGD in the step, which grows with the epochs.
void rmsprop_warmup(PlainLayer& l) {
  const double center = l.s["center_epoch"], period = l.s["period_epochs"], at = l.s.epoch;
  double plain = 1;
  if (at < center)
    plain = 0.5 * std::exp(2 * (at - center) / period);
  else if (at < center + period / 2)
    plain = 0.5 + (at - center) / period;
  const double rms = (1 - plain) * l.s["rms_lr"] / l.s.eta;
  for (size_t i = 0; i < l.p.size(); ++i) {
    const double g = l.decayed[i];
    l.p[i].b = l.s["beta2"] * l.p[i].b + (1 - l.s["beta2"]) * g * g;
    l.p[i].a = l.s["momentum"] * l.p[i].a - (plain + rms / (std::sqrt(l.p[i].b) + l.s["epsilon"])) * g;
    l.p[i].w += l.s.eta * l.p[i].a;
  }
}

const std::map<std::string, void (*)(PlainLayer&)>& formulas() {
  static const std::map<std::string, void (*)(PlainLayer&)> table = {
      {"sgd",
       [](PlainLayer& l) {
         for (size_t i = 0; i < l.p.size(); ++i) l.p[i].w -= l.s.eta * l.decayed[i];
       }},
      {"momentum", [](PlainLayer& l) { l.unscaled(1); }},
      {"scaled-momentum",
       [](PlainLayer& l) {
         for (Plain& p : l.p) p.a *= l.s.before > 0 ? l.s.eta / l.s.before : 1;
         l.scaled(1);
       }},
      {"uncorrected-momentum", [](PlainLayer& l) { l.scaled(1); }},
      {"nesterov",
       [](PlainLayer& l) {
         for (size_t i = 0; i < l.p.size(); ++i) {
           l.p[i].a = l.s["momentum"] * l.p[i].a + l.decayed[i];
           l.p[i].w -= l.s.eta * (l.decayed[i] + l.s["momentum"] * l.p[i].a);
         }
       }},
      {"adam",
       [](PlainLayer& l) {
         for (size_t i = 0; i < l.p.size(); ++i) l.p[i].w -= l.s.eta * l.adam_direction(i, l.decayed[i]);
       }},
      {"adamw",
       [](PlainLayer& l) {
         for (size_t i = 0; i < l.p.size(); ++i) {
           l.p[i].w -= l.s.eta * l.s["weight_decay"] * l.d[i] * l.w[i];
           l.p[i].w -= l.s.eta * l.adam_direction(i, l.g[i]);
         }
       }},
      {"nadamw", nadamw},
      {"lion", lion},
      {"schedule-free", schedule_free_sgd},
      {"schedule-free-adamw", schedule_free_adamw},
      {"lars", [](PlainLayer& l) { l.scaled(l.trust(l.s["trust"])); }},
      {"lars-mlperf", lars_mlperf},
      {"lars-unscaled", [](PlainLayer& l) { l.unscaled(l.trust(l.s["trust"])); }},
      {"lars-plain", [](PlainLayer& l) { l.scaled(l.trust(1, 1e-2)); }},
      {"larc", larc},
      {"lamb", lamb},
      {"rmsprop-warmup", rmsprop_warmup},
  };
  return table;
}

}  // namespace

double PlainStep::operator[](const std::string& name) const {
  for (const NamedScalar& scalar : hyper)
    if (scalar.name == name) return scalar.value;
  BOOST_FAIL("the formula reads '" << name << "', which the optimizer has not");
  return 0;
}

void plain_update(const std::string& name, std::span<Plain> layer, std::span<const double> gradient,
                  std::span<const double> decay, const PlainStep& s) {
  const auto formula = formulas().find(name);
  BOOST_REQUIRE_MESSAGE(formula != formulas().end(), "no formula for " << name);
  PlainLayer one(layer, gradient, decay, s);
  formula->second(one);
}

}  // namespace kb::test
