#include "recipes/run/step_picture.h"

#include <fmt/format.h>

#include "recipes/config/run_plan.h"
#include "recipes/perf/overlap_report.h"
#include "recipes/report/picture.h"
#include "recipes/run/run_folder.h"
#include "runtime/atomic_file.h"

namespace kb {
namespace {

constexpr int64_t kWarm = 20;  // number of steps up to the one that is drawn

std::string programs_text(const Compiled& compiled, std::span<const Schedule* const> programs) {
  std::vector<std::string> parts;
  for (const Schedule* schedule : programs)
    if (!schedule->steps.empty()) parts.push_back(fmt::format("{} ({} steps)", schedule->name, schedule->steps.size()));
  const int64_t workers = compiled.workers.virtual_workers;
  const std::string what = workers == 1
                               ? "a whole step"
                               : fmt::format("the last of {} virtual workers, then all sums and the update", workers);
  return fmt::format("{}: {}", what, fmt::join(parts, ", "));
}

std::string sums_text(const Timeline& timeline) {
  double communication = 0, exposed = 0;
  for (const Box& box : timeline.boxes) {
    if (box.lane == Lane::communication) communication += box.milliseconds;
    if (box.kind == name(FusionClass::wait)) exposed += box.milliseconds;
  }
  const std::string text = milliseconds_text(timeline.milliseconds);
  if (timeline.of(Lane::communication).empty()) return text;
  return fmt::format("{}; communication {}, of which compute waits for {}", text, milliseconds_text(communication),
                     milliseconds_text(exposed));
}

std::string beside_the_arena(const Compiled& compiled) {
  const MemoryAnswer memory = memory_answer(compiled);
  return fmt::format("beside the arena: parameters {}, optimizer state {}, prepared copies {}, inputs {}",
                     bytes_text(memory.parameters), bytes_text(memory.optimizer), bytes_text(memory.prepared),
                     bytes_text(memory.inputs));
}

}  // namespace

bool wants_picture(const RunConfig& config) { return !config.out.picture.empty() || !config.out.trace.empty(); }

void check_picture_files(const RunConfig& config) {
  for (const std::string& file : {config.out.picture, config.out.trace}) {
    if (file.empty()) continue;
    for (const std::string& run : {config.out.folder, config.resume.run})
      if (!run.empty() && is_own_file(run, file))
        throw UsageError(fmt::format("--picture, --trace: {} is a file of the run's own; name another", file));
    AtomicFile probe(file);
  }
}

Timeline step_timeline(const Compiled& compiled, std::span<const Schedule* const> programs, const Profile& profile,
                       const PictureWords& words) {
  Timeline timeline =
      make_timeline(programs, profile, [&](int32_t reduction) { return reduction_contents(compiled, reduction); });
  timeline.title = words.what;
  timeline.device = words.device;
  timeline.notes = {programs_text(compiled, programs), sums_text(timeline), beside_the_arena(compiled)};
  return timeline;
}

std::string write_pictures(const RunConfig& config, const Timeline& timeline, const std::vector<std::string>& events) {
  std::vector<std::string> where;
  if (!config.out.picture.empty()) {
    write_file_atomically(config.out.picture, picture_svg(timeline));
    where.push_back("picture " + config.out.picture);
  }
  if (!config.out.trace.empty()) {
    write_file_atomically(config.out.trace, trace_json(events));
    where.push_back(fmt::format("trace {} (for ui.perfetto.dev)", config.out.trace));
  }
  return fmt::format("{}: {}", timeline.title, fmt::join(where, ", "));
}

StepPicture::StepPicture(const Recipe& recipe, const RunConfig& config, std::string device, World& world,
                         Console& console, int64_t begin, int64_t end)
    : recipe_(recipe), config_(config), device_(std::move(device)), world_(world), console_(console) {
  if (wants_picture(config) && begin < end) step_ = std::min(begin + kWarm, end) - 1;
}

void StepPicture::draw(const Session& session, const Profile& profile) const {
  const BatchPlan batch = batch_plan(config_);
  const std::string rank = world_.size() > 1 ? fmt::format("rank {} of {}: ", world_.rank(), world_.size()) : "";
  const PictureWords words{fmt::format("{}, {}: step {}, measured", recipe_.name, batch.derivation(), step_),
                           rank + device_};
  const Timeline timeline = step_timeline(session.compiled(), session.profiled(), profile, words);
  std::vector<std::string> events;
  if (!config_.out.trace.empty()) events = world_.communicator().all_gather(trace_events(timeline, world_.rank()));
  if (world_.leads()) console_.line(write_pictures(config_, timeline, events));
}

}  // namespace kb
