#include "compiler/passes/worker_routines.h"

#include <fmt/format.h>

#include <bit>

namespace kb {
namespace {

std::string_view name(CarryVariable variable) {
  return variable == CarryVariable::below ? "below" : variable == CarryVariable::own ? "own" : "sum";
}

class Caller {
 public:
  explicit Caller(const std::vector<SumGroup>& groups) : groups_(groups) {}

  PartCall call(PartRole role) const { return {static_cast<size_t>(role), {}}; }

  // Runs `micro` for a worker whose own sums are themselves the partial sum of level 0.
  PartCall micro_to_partial() const {
    PartCall micro = call(PartRole::micro);
    for (const SumGroup group : groups_) micro.bindings.push_back({leaf_name(group), partial_name(0, group)});
    return micro;
  }

  // Adds a worker's sums to the partial sum of a level. The last of `levels` carries leaves a new partial sum.
  PartCall carry(int64_t level, int64_t levels) const {
    PartCall carry = call(PartRole::carry);
    for (const SumGroup group : groups_) {
      const std::string leaf = leaf_name(group);
      carry.bindings.push_back({carry_name(CarryVariable::below, group), partial_name(level, group)});
      carry.bindings.push_back({carry_name(CarryVariable::own, group), leaf});
      carry.bindings.push_back(
          {carry_name(CarryVariable::sum, group), level + 1 < levels ? leaf : partial_name(levels, group)});
    }
    return carry;
  }

 private:
  const std::vector<SumGroup>& groups_;
};

}  // namespace

int64_t carry_levels(int64_t virtual_workers) { return std::bit_width(static_cast<uint64_t>(virtual_workers - 1)); }

std::string leaf_name(SumGroup group) { return fmt::format("leaf.{}", name(group)); }

std::string partial_name(int64_t level, SumGroup group) { return fmt::format("partial.{}.{}", level, name(group)); }

std::string carry_name(CarryVariable variable, SumGroup group) {
  return fmt::format("carry.{}.{}", name(variable), name(group));
}

std::optional<SumGroup> sum_group(const Node& node) {
  if (node.op != Op::worker_sum || !node.attrs.has("group")) return {};
  const std::string& text = node.attrs.text("group");
  for (const SumGroup group : {SumGroup::gradient, SumGroup::rest})
    if (text == name(group)) return group;
  throw InternalError("a worker_sum of the unknown group " + text);
}

// These are the workers whose routine goes on with a carry, and so waits for what they leave.
void run_side_by_side(Routines& routines) {
  for (Routine& routine : routines.routines)
    if (routine.size() > 1 && routine.back().part == static_cast<size_t>(PartRole::carry)) routine.front().lane = 1;
}

Routines worker_routines(const std::vector<SumGroup>& groups, int64_t virtual_workers) {
  constexpr size_t kLast = 0, kFirst = 1, kEven = 2;
  const Caller caller(groups);
  const PartCall prepare = caller.call(PartRole::prepare), final = caller.call(PartRole::final);
  if (virtual_workers == 1) return {{{prepare, final}}, {kLast}};
  Routines result{{{final}, {prepare, caller.micro_to_partial()}}, {kFirst}};
  if (virtual_workers > 2) result.routines.push_back({caller.micro_to_partial()});
  for (int64_t levels = 1; levels < carry_levels(virtual_workers); ++levels) {
    Routine routine{caller.call(PartRole::micro)};
    for (int64_t level = 0; level < levels; ++level) routine.push_back(caller.carry(level, levels));
    result.routines.push_back(std::move(routine));
  }
  // A worker with an odd number completes as many partial sums as its number, in binary, ends in ones.
  for (int64_t worker = 1; worker + 1 < virtual_workers; ++worker)
    result.of_worker.push_back(kEven + static_cast<size_t>(std::countr_one(static_cast<uint64_t>(worker))));
  result.of_worker.push_back(kLast);
  return result;
}

}  // namespace kb
