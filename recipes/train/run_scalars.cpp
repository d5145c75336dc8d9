#include "recipes/train/run_scalars.h"

#include "optim/wrapped_rules.h"

namespace kb {

std::string scalar_prefix(const std::string& group, size_t groups) {
  return groups > 1 && !group.empty() ? group + "." : "";
}

RunScalars::RunScalars(const Rules& own, const std::vector<GroupLearning>& groups, const RunPlan& plan) {
  for (const auto& [name, learning] : groups) {
    if (is_frozen(learning)) continue;
    Group group{scalar_prefix(name, groups.size()), make_scalars(own, learning, plan)};
    constants_.push_back({group.prefix + kClipNorm, learning.clip_norm});
    constants_.push_back({group.prefix + kEmaDecay, learning.ema});
    for (const NamedScalar& scalar : group.scalars.at(0)) all_.push_back({group.prefix + scalar.name, 0});
    if (!group.prefix.empty()) rates_.push_back({"lr." + name, 0});
    groups_.push_back(std::move(group));
  }
}

std::span<const NamedScalar> RunScalars::at(int64_t step) {
  return at(step, {.step = step}, {.step = step > 0 ? step - 1 : 0});
}

std::span<const NamedScalar> RunScalars::at(int64_t done, const SchedulePlace& place, const SchedulePlace& before) {
  if (groups_.size() == 1 && groups_.front().prefix.empty()) return groups_.front().scalars.at(done, place, before);
  size_t at = 0;
  for (Group& group : groups_)
    for (const NamedScalar& scalar : group.scalars.at(done, place, before)) all_[at++].value = scalar.value;
  return all_;
}

std::span<const NamedScalar> RunScalars::rates(int64_t step) {
  size_t at = 0;
  for (const Group& group : groups_)
    if (!group.prefix.empty()) rates_[at++].value = group.scalars.rate().at(step);
  return rates_;
}

}  // namespace kb
