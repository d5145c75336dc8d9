#include "runtime/cuda/lanes.h"

#include <algorithm>

namespace kb::cuda {

Lanes::Lanes(const OpenDevice& device, const RunnerParts& parts)
    : device_(device),
      are_two_(std::ranges::any_of(parts.lanes, [](int32_t lane) { return lane > 0; })),
      opened_(device.driver),
      beside_(device.driver) {
  for (const RunnerParts::Routine& routine : parts.routines) segments_.push_back(segments_of(parts, routine));
}

std::vector<Segment> Lanes::segments_of(const RunnerParts& parts, const RunnerParts::Routine& routine) const {
  std::vector<Segment> segments;
  for (const size_t program : routine) {
    const bool beside = are_two_ && parts.lanes[program] > 0;
    const bool opens = are_two_ && !beside && parts.schedules[program]->role == PartRole::micro;
    if (segments.empty() || opens || segments.back().beside != beside) segments.push_back({{}, beside, opens});
    segments.back().programs.push_back(program);
  }
  return segments;
}

void Lanes::begin(const Segment& segment) {
  if (!are_two_) return;
  if (segment.beside)
    opened_.wait_on(device_.beside);
  else if (segment.opens)
    opened_.record(device_.compute);
  else if (has_run_beside_)
    beside_.wait_on(device_.compute);
}

void Lanes::end(const Segment& segment) {
  if (!segment.beside) return;
  beside_.record(device_.beside);
  has_run_beside_ = true;
}

}  // namespace kb::cuda
