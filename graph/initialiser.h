// Initialisers by name, for the options of layers: {.init = he_normal(fan_out)}. An initialiser is a rule and knows no
// shape. The layer knows the fans of its weight, and makes of the rule the distribution that the graph keeps (Init).
#pragma once
#include <cstdint>
#include <string_view>

#include "graph/graph.h"

namespace kb {

// A fan counts a layer's connections. fan_in: the inputs that one output is a weighted sum of. fan_out: the outputs
// that one input goes to, at a stride of 1.
enum class Fan : uint8_t { in, out };
inline constexpr Fan fan_in = Fan::in, fan_out = Fan::out;

struct Initialiser {
  enum class Rule : uint8_t {
    he_normal_fan_in,
    he_normal_fan_out,
    normal,
    uniform_fan_in,
    glorot_uniform,
    zeros,
    ones,
    truncated_normal,
    orthogonal
  };
  Rule rule = Rule::zeros;
  double std = 0;  // of normal and truncated_normal: standard deviation; of orthogonal: factor
};

// Gives N(0, 2 / fan), by He et al. 2015. In a net with ReLU, fan_in keeps the variance of activations from layer to
// layer, and fan_out that of gradients.
constexpr Initialiser he_normal(Fan fan) {
  return {fan == Fan::in ? Initialiser::Rule::he_normal_fan_in : Initialiser::Rule::he_normal_fan_out};
}
// Gives N(0, std^2). The layer that takes it throws Error unless std is a finite number > 0.
constexpr Initialiser normal(double std) { return {Initialiser::Rule::normal, std}; }
// Gives N(0, std^2) without what lies beyond 2 std, which leaves a standard deviation of 0.88 std: truncated_normal of
// TensorFlow and JAX. PyTorch's trunc_normal_ cuts at -2 and 2, whatever std is. std is as in normal().
constexpr Initialiser truncated_normal(double std) { return {Initialiser::Rule::truncated_normal, std}; }
// Gives `factor` times a random matrix, uniform among those with orthonormal rows, or columns if these are fewer (Saxe
// et al. 2014, arXiv 1312.6120); a weight's axes behind its first count as one, as in PyTorch's orthogonal_. A matrix
// of side m takes about 2 m^3 multiplications. The factor is a finite number > 0.
constexpr Initialiser orthogonal(double factor = 1) { return {Initialiser::Rule::orthogonal, factor}; }
// Gives the uniform distribution on +-1/sqrt(fan_in), PyTorch's default for convolutions and linear layers.
constexpr Initialiser uniform_fan_in() { return {Initialiser::Rule::uniform_fan_in}; }
// Gives the uniform distribution on +-sqrt(6 / (fan_in + fan_out)), by Glorot and Bengio 2010, eq. 16. PyTorch calls it
// xavier_uniform.
constexpr Initialiser glorot_uniform() { return {Initialiser::Rule::glorot_uniform}; }
inline constexpr Initialiser zeros{Initialiser::Rule::zeros}, ones{Initialiser::Rule::ones};

struct Fans {
  double in = 0, out = 0;  // 0: the parameter has no such fan, as the scale of a norm
};

// Returns the distribution of a weight with these fans. Throws Error at the place of the present DSL call, in the name
// of the layer `op`, when the standard deviation is out of range or the weight lacks the fan that the rule reads.
Init resolve(std::string_view op, Initialiser initialiser, const Fans& fans);

}  // namespace kb
