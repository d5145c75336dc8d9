// A step on an axis of time: what its lanes did when, every part with the user's lines that it comes from, and how much
// memory was live meanwhile. Pictures and traces are written from it, so that both name the same parts.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/schedule/describe_steps.h"
#include "recipes/perf/memory_answer.h"
#include "runtime/profile.h"

namespace kb {

// communication: all-reduces, beside the compute that starts and awaits them. copy: inputs and results of a device of
// its own memory.
enum class Lane : uint8_t { compute, communication, copy };
std::string_view name(Lane lane);

struct Box {
  // "resnet_cifar.12": step 12 of the program, as `inspect` numbers it; "resnet_cifar.all_reduce.3"; "copy.inputs".
  std::string id;
  Lane lane = Lane::compute;
  double start = 0, milliseconds = 0;
  std::string name;   // "conv 3x3  layer1.0.conv1"
  std::string what;   // "conv 3x3": `name` without its scope
  std::string kind;   // a fusion class; "all_reduce"; "copy"
  std::string place;  // "resnet.cpp:21, resnet.cpp:27": the user's lines of its nodes, or of what it hands on
  int64_t bytes = 0, flops = 0;
  std::vector<std::string> writes;  // buffers, as --dump schedule names them
  int32_t reduction = -1;           // that it starts, is, or waits for
  Phase phase = Phase::forward;     // of Lane::compute alone
  std::string step = {};            // "conv2d layer1.0.conv1", as --dump schedule names it

  double end() const { return start + milliseconds; }
};

// "1.23 s", "12.3 ms", "45.6 us".
std::string milliseconds_text(double milliseconds);

// Bytes that are live from `start` until the next.
struct LiveBytes {
  double start = 0;
  int64_t bytes = 0;
};

struct Timeline {
  std::string title;               // what was timed or predicted
  std::string device;              // where
  std::vector<std::string> notes;  // more lines
  double milliseconds = 0;         // to the last end
  std::vector<Box> boxes;          // lane after lane, by start
  std::vector<LiveBytes> memory;   // of the planned arena
  int64_t arena_bytes = 0;
  Peak peak;
  std::string peak_id;  // the box at which most is live
  double peak_start = 0;

  std::vector<const Box*> of(Lane lane) const;
};

// Boxes of Lane::compute one behind the other that are of one phase.
struct PhaseRun {
  Phase phase = Phase::forward;
  double start = 0, end = 0;
};
std::vector<PhaseRun> phase_runs(const Timeline& timeline);

// Function that returns what an all-reduce sums, for people.
using ReductionName = std::function<std::string(int32_t reduction)>;

// Returns the timeline of the programs whose steps `profile` holds, measured or predicted; no title, device or notes.
Timeline make_timeline(std::span<const Schedule* const> programs, const Profile& profile,
                       const ReductionName& reduction_name);

}  // namespace kb
