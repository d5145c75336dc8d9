// Some layers whose gradients a test gives, under one of the optimizers: a whole step, compiled in f64 (or another
// precision) and run by a session of the CPU.
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
  Vector values;
  Role role = Role::weight;
};

// The built-in optimizer of that name.
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

  // One step at a learning rate, which is taken for the greatest of the run too; an epoch is one step. `gradients` are
  // those of the layers in their order.
  void step(double rate, const std::vector<Vector>& gradients);

  // A layer's values, or a slot's: "velocity.w".
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
