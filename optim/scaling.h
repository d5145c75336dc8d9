// How the learning rate of a minibatch follows from that of a reference minibatch.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kb {

struct ScalingRule {
  std::string_view name;
  std::string_view doc;
  double (*factor)(double times);  // of the learning rate, for a minibatch so many times the reference
  std::string_view format;         // of the factor in words, from both minibatches
  bool has_gains = false;          // each step's own gain multiplies the rate (optim/adascale.h)
};

std::span<const ScalingRule> scaling_rules();

// A learning rate and the minibatch for which it was found.
struct ReferenceRate {
  double learning_rate = 0.1;
  int64_t base_minibatch = 0;   // 0: it holds as it is, for any
  std::string rule = "linear";  // a row of scaling_rules()

  // The learning rate of a minibatch, without the gains of its steps. Throws Error on an unknown rule.
  double at(int64_t minibatch) const;
  // Returns how at() comes to its rate, as text: "0.4 = 0.1 x 1024/256".
  std::string derivation(int64_t minibatch) const;
  // True where each step's own gain multiplies the rate.
  bool has_gains() const;
};

}  // namespace kb
