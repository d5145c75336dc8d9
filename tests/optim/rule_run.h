// A RuleRun trains some layers under one of the optimizers with gradients that a test gives. The whole step is
// compiled, in f64 or another precision, and run by a session on the CPU.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/session.h"

namespace kb::test {

using Vector = std::vector<double>;

struct Layer {
  std::string name;
  Vector values = {};
  Role role = Role::weight;
  double rate = 1;
  Dims shape = {};  // empty: a vector
};

// Returns the built-in optimizer of that name.
const Optimizer& optimizer_named(const std::string& name);

class RuleRun {
 public:
  // `options` says which roles have no decay or no adaptation, and in which precision the step is.
  RuleRun(const Optimizer& optimizer, std::vector<NamedScalar> hyper, const std::vector<Layer>& layers,
          CompileOptions options = f64_options());
  RuleRun(const std::string& optimizer, std::vector<NamedScalar> hyper, const std::vector<Layer>& layers,
          CompileOptions options = f64_options())
      : RuleRun(optimizer_named(optimizer), std::move(hyper), layers, std::move(options)) {}

  static CompileOptions f64_options();

  // Takes one step at a learning rate, which also counts as the greatest of the run; an epoch is one step. `gradients`
  // has one gradient per layer, in the order of the layers.
  void step(double rate, const std::vector<Vector>& gradients);

  // Returns the values of a layer, or of a slot such as "velocity.w".
  Vector operator[](const std::string& name) const;
  void set(const std::string& layer, const Vector& values);

 private:
  Compiled compiled(CompileOptions options) const;

  Optimizer optimizer_;
  std::vector<NamedScalar> hyper_;
  std::vector<Layer> layers_;
  std::unique_ptr<Backend> backend_;
  StateStore store_;
  Session session_;
  int64_t steps_ = 0;
  double rate_before_ = 0;
};

}  // namespace kb::test
