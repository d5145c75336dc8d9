#include "recipes/train/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>

#include "recipes/config/network.h"
#include "recipes/config/plan.h"
#include "recipes/train/interrupt.h"
#include "recipes/train/line_diff.h"
#include "recipes/train/placement.h"
#include "runtime/comm/open.h"
#include "runtime/launch.h"
#include "runtime/sha256.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

// Longer than any process may be at work that the others wait for: the heartbeat finds one that stands still.
constexpr double kMessageSeconds = 900;

}  // namespace

World::World(std::unique_ptr<Communicator> communicator) : communicator_(std::move(communicator)) {
  if (size() > 1)
    heartbeat_ = std::make_unique<Heartbeat>(*communicator_, HeartbeatOptions{.asked = Interrupt::number});
  processors_ = share_of_processors(*communicator_);
}

void World::at_step(int64_t step) {
  if (heartbeat_) heartbeat_->at_step(step);
}

void World::at(std::string_view place) {
  if (heartbeat_) heartbeat_->at_work(place);
}

void World::at_worker(int64_t worker) {
  if (!heartbeat_) return;
  std::array<char, 40> place;
  const auto end = fmt::format_to_n(place.data(), place.size(), "virtual worker {}", worker).out;
  heartbeat_->at({place.data(), static_cast<size_t>(end - place.data())});
}

std::string World::note() const {
  if (!heartbeat_ || heartbeat_->note().empty()) return "";
  return fmt::format(
      "NOTE: machines do not hear of each other: {}; a process of another machine that stops is found "
      "when a message is under way for {:.0f} s",
      heartbeat_->note(), kMessageSeconds);
}

World::~World() {
  if (!ticket_ || std::uncaught_exceptions() > 0) return;
  try {
    communicator_->wait(*ticket_);
  } catch (const Error& error) {
    print_error(fmt::format("rank {}: {}", rank(), error.what()));
  }
}

// Texts are long and ranks many: those that differ travel alone.
void World::check_alike(const Facts& facts) {
  for (const auto& [name, own] : facts) {
    const std::vector<std::string> hashes = communicator_->all_gather(sha256_hex(own));
    const auto other = std::find_if(hashes.begin(), hashes.end(), [&](const auto& hash) { return hash != hashes[0]; });
    if (other == hashes.end()) continue;
    const auto differs = other - hashes.begin();
    const std::vector<std::string> texts = communicator_->all_gather(leads() || rank() == differs ? own : "");
    throw Error(
        fmt::format("the processes of a run must be alike, but {} of rank {} differs (- rank 0, + rank {})\n{}\n"
                    "  hint:     every process needs the same program, flags, data and kind of processor",
                    name, differs, differs, line_diff(texts[0], texts[static_cast<size_t>(differs)])));
  }
}

std::string World::leaders(const std::string& text) { return communicator_->all_gather(text)[0]; }

bool World::begin() {
  if (size() == 1) return Interrupt::number() == 0;
  return note().empty() ? heartbeat_->begin() : !any(Interrupt::number() != 0);
}

bool World::is_over() const {
  if (size() == 1) return Interrupt::number() != 0;
  return note().empty() && heartbeat_->is_over();
}

int World::stop_signal() {
  if (size() == 1) return Interrupt::number();
  if (note().empty()) return heartbeat_->stop_reason();
  int number = 0;
  for (const std::string& one : communicator_->all_gather(std::to_string(Interrupt::number())))
    number = std::max(number, std::stoi(one));
  return number;
}

// Keeps the first signal; a second ends a process that is alone. Several processes the launcher ends all at once.
void World::remember_signals() { Interrupt::remember(size() == 1); }

// Collective call where machines do not hear of each other. Returns whether any process wanted to at the call before,
// without waiting for the slowest at this call.
bool World::any(bool wanted) {
  bool any_did = false;
  if (ticket_) {
    communicator_->wait(*ticket_);
    any_did = wanted_ > 0;
  }
  wanted_ = wanted ? 1 : 0;
  ticket_ = communicator_->all_reduce(reinterpret_cast<std::byte*>(&wanted_), 1, DType::i32);
  return any_did;
}

namespace {

// Throws UsageError where flags ask one kind of device for what only the other has.
void check_device(const RunConfig& config) {
  const Algorithm algorithm = config.all_reduce;
  const bool on_cpus = algorithm != Algorithm::halving_doubling && algorithm != Algorithm::nccl;
  if (config.device == DeviceChoice::cuda && on_cpus)
    throw UsageError(
        fmt::format("--all-reduce {}: expected halving-doubling or nccl, which GPUs have\n  or:       --device cpu",
                    word_of(kAllReduces, config.all_reduce)));
  if (config.device == DeviceChoice::cpu && algorithm == Algorithm::nccl)
    throw UsageError("--all-reduce nccl: expected GPUs, which it sums on\n  or:       --all-reduce mpi");
  if (config.device == DeviceChoice::cuda && config.net)
    throw UsageError(
        "--net: it slows down messages that go through the host's memory, and GPUs send theirs themselves\n  or:       "
        "--device cpu; or ./run inspect RECIPE --explain-overlap --processes P --net L,B, which predicts");
}

void check_flags(const RunConfig& config, const Launcher& launcher) {
  if (config.net && launcher.processes == 1 && config.processes == 1)
    throw UsageError(
        "--net: expected several processes, got one, which sends nothing\n  hint:     --processes P; or ./run "
        "inspect RECIPE --explain-overlap --processes P --net L,B, which predicts");
  if (config.all_reduce != Algorithm::halving_doubling && !config.fast)
    throw UsageError(fmt::format("--all-reduce {}: its sums depend on sizes and on the library: it needs --fast",
                                 word_of(kAllReduces, config.all_reduce)));
  check_device(config);
}

}  // namespace

std::optional<int> launch_processes(const RunConfig& config, bool resumes, const std::vector<std::string>& command) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  if (config.processes == 1 || options.launcher.processes != 1) return std::nullopt;
  check_flags(config, options.launcher);
  if (!resumes) batch_plan(config);  // a fault of the flags is told once, not by every process
  return run_launcher(mpirun_command(options.mpirun, static_cast<int>(config.processes), command));
}

std::unique_ptr<World> join_world(RunConfig& config) {
  const RuntimeOptions options = RuntimeOptions::from_environment();
  check_flags(config, options.launcher);
  CommunicatorOptions wanted{.algorithm = config.all_reduce, .timeout = kMessageSeconds};
  if (wanted.algorithm == Algorithm::nccl) wanted.algorithm = Algorithm::halving_doubling;  // of the host's own sums
  if (config.net) wanted.throttle = &*config.net;
  auto world = std::make_unique<World>(open_communicator(wanted, options.launcher));
  if (config.processes > 1 && config.processes != world->size())
    throw UsageError(fmt::format("--processes: {} started {} of them, got {}\n  hint:     leave --processes out",
                                 options.launcher.name, world->size(), config.processes));
  config.processes = world->size();
  return world;
}

int64_t threads_of(const RunConfig& config, const World& world) {
  return config.threads > 0 || world.size() == 1 ? config.threads : world.processors();
}

std::string threads_note(int64_t threads, int processors) {
  if (threads <= processors) return "";
  return fmt::format(
      "NOTE: --threads {}: a process's share of the processors is {}, so that threads take them from each other; "
      "without --threads it has as many",
      threads, processors);
}

}  // namespace kb
