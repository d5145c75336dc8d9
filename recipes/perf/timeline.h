// A training step on an axis of time: what its lanes did when, with the user's source lines of every part, and how much
// memory was live meanwhile. Pictures and traces are both written from it, so they name the same parts. All times are
// in milliseconds from the start of the step.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/describe_steps.h"
#include "recipes/perf/memory_answer.h"
#include "runtime/profile.h"

namespace kb {

// communication: all-reduces, which run beside the compute that starts and awaits them. copy: copies of inputs and
// results from and to a device that has its own memory.
enum class Lane : uint8_t { compute, communication, copy };
std::string_view name(Lane lane);

// One part of the step: a schedule step, an all-reduce or a copy.
struct Box {
  // "resnet_cifar.12" for step 12 of a program, as `inspect` numbers it; "resnet_cifar.all_reduce.3"; "copy.inputs".
  std::string id;
  Lane lane = Lane::compute;
  double start = 0, milliseconds = 0;
  std::string name;   // text in the box, "conv 3x3  layer1.0.conv1"
  std::string what;   // `name` without its scope, "conv 3x3"
  std::string kind;   // name of a fusion class, or "all_reduce", or "copy"
  std::string place;  // the user's source lines of its nodes, or of what it hands on, "resnet.cpp:21, resnet.cpp:27"
  int64_t bytes = 0, flops = 0;
  std::vector<std::string> writes;  // buffers that it writes, as --dump schedule names them
  int32_t reduction = -1;           // number of the all-reduce that it starts, is, or waits for; else -1
  Phase phase = Phase::forward;     // its phase if it is in Lane::compute
  std::string step = {};            // name of the step in --dump schedule, "conv2d layer1.0.conv1"

  double end() const { return start + milliseconds; }
};

// Returns a text such as "1.23 s", "12.3 ms" or "45.6 us".
std::string milliseconds_text(double milliseconds);

// Bytes of the arena that are live from `start` until the next entry.
struct LiveBytes {
  double start = 0;
  int64_t bytes = 0;
};

struct Timeline {
  std::string title;               // name of what was timed or predicted
  std::string device;              // device that it ran on
  std::vector<std::string> notes;  // further lines below title and device
  double milliseconds = 0;         // end of the last box
  std::vector<Box> boxes;          // sorted by lane, then by start
  std::vector<LiveBytes> memory;   // live memory of the planned arena, in the order of time
  int64_t arena_bytes = 0;         // bytes of the largest arena
  Peak peak;
  std::string peak_id;    // id of the box at which most bytes are live
  double peak_start = 0;  // start of this box

  std::vector<const Box*> of(Lane lane) const;  // returns the boxes of a lane
};

// Consecutive boxes of Lane::compute that belong to one phase.
struct PhaseRun {
  Phase phase = Phase::forward;
  double start = 0, end = 0;
};
std::vector<PhaseRun> phase_runs(const Timeline& timeline);

// Function that returns a text for people that says what an all-reduce sums.
using ReductionName = std::function<std::string(int32_t reduction)>;

// Returns the timeline of programs from their measured or predicted times, without title, device and notes.
Timeline make_timeline(std::span<const Schedule* const> programs, const Profile& profile,
                       const ReductionName& reduction_name);

}  // namespace kb
