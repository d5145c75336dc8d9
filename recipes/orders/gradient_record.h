// One gradient of an order, and its fate.
#pragma once
#include <cstdint>
#include <optional>

#include "recipes/config/values.h"

namespace kb {

// dropped: the gradient ended too late to count. abandoned: its worker was stopped before it ended.
enum class GradientFate : uint8_t { applied, dropped, abandoned };
inline constexpr Choice<GradientFate> kGradientFates[] = {
    {"applied", GradientFate::applied}, {"dropped", GradientFate::dropped}, {"abandoned", GradientFate::abandoned}};

struct GradientRecord {
  int64_t number = 0;  // in the order in which fates are decided, from 0
  int64_t worker = 0;
  int64_t count = 0;  // among the gradients of its worker, from 0
  int64_t read = 0;   // version of the parameters that it is computed at; the initial ones are version 0
  // Version of the parameters that it is applied to, if it is. The update makes version `applied_to` + 1.
  std::optional<int64_t> applied_to = std::nullopt;
  GradientFate fate = GradientFate::applied;
  int64_t begin_ns = 0, end_ns = 0;  // times of the virtual clock at which the worker began and ended to compute it
  // Piece of the minibatches that it is computed of: n = kn / k samples. The first minibatch of the run in its order of
  // samples has the pieces 0 to k - 1, the next one k to 2 k - 1.
  int64_t piece = 0;

  // Returns the number of updates between reading the parameters and applying the gradient, which must be applied.
  int64_t staleness() const { return applied_to.value() - read; }
  bool operator==(const GradientRecord&) const = default;
};

}  // namespace kb
