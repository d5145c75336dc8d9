// Scaling rules: the learning rate of a minibatch from that of a reference minibatch.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kb {

struct ScalingRule {
  std::string_view name;
  std::string_view doc;
  double (*factor)(double times);  // factor of the rate when the minibatch is `times` the reference's
  std::string_view format;         // prints the factor, an fmt format of both minibatches: " x {}/{}"; "": no factor
  bool has_gains = false;          // the rate is also multiplied by each step's own gain (optim/adascale.h)
};

std::span<const ScalingRule> scaling_rules();

// A learning rate, and the minibatch for which it was found.
struct ReferenceRate {
  double learning_rate = 0.1;
  int64_t base_minibatch = 0;   // 0: the learning rate holds for any minibatch
  std::string rule = "linear";  // name of a row of scaling_rules()

  // Returns the learning rate of a minibatch, without the gains of its steps. Throws Error on an unknown rule.
  double at(int64_t minibatch) const;
  // Returns in words how at() gets its rate: "0.4 = 0.1 x 1024/256".
  std::string derivation(int64_t minibatch) const;
  // Returns whether each step's own gain multiplies the rate.
  bool has_gains() const;
};

}  // namespace kb
