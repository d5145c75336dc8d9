#include "recipes/train/world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <sstream>

#include "graph/error.h"
#include "recipes/train/line_diff.h"
#include "runtime/input_file.h"
#include "runtime/sha256.h"
#include "runtime/standard_streams.h"

namespace kb {

std::string Processors::text() const {
  std::string text = fmt::format("{} {} |", machine, fmt::join(numbers, " "));
  for (const CpuQuota& quota : quotas) text += fmt::format(" {}:{}", quota.group, quota.processors);
  return text;
}

Processors Processors::parse(const std::string& text) {
  std::istringstream words(text.substr(0, text.find('|')));
  Processors result;
  words >> result.machine;
  for (int number = 0; words >> number;) result.numbers.push_back(number);
  std::istringstream quotas(text.substr(std::min(text.find('|'), text.size() - 1) + 1));
  char colon = 0;
  for (CpuQuota quota; quotas >> quota.group >> colon >> quota.processors;) result.quotas.push_back(quota);
  return result;
}

Processors own_processors() {
  // The boot id names the machine: it belongs to the running kernel, which containers share with their host.
  Processors result{.machine = "", .numbers = affinity(), .quotas = cpu_quotas()};
  std::istringstream(read_file("/proc/sys/kernel/random/boot_id")) >> result.machine;
  return result;
}

int share_of_processors(const std::vector<Processors>& ranks, size_t rank) {
  const Processors& own = ranks.at(rank);
  const auto users = [&](const auto& has) {
    return static_cast<double>(std::count_if(ranks.begin(), ranks.end(), [&](const Processors& other) {
      return other.machine == own.machine && has(other);
    }));
  };
  double share = 0;
  for (const int number : own.numbers)
    share += 1.0 / users([&](const Processors& other) {
               return std::find(other.numbers.begin(), other.numbers.end(), number) != other.numbers.end();
             });
  for (const CpuQuota& quota : own.quotas)
    share = std::min(share, processors_of(quota) / users([&](const Processors& other) {
                              return std::any_of(other.quotas.begin(), other.quotas.end(),
                                                 [&](const CpuQuota& its) { return its.group == quota.group; });
                            }));
  return std::max(1, static_cast<int>(share + 1e-6));
}

int share_of_processors(Communicator& communicator) {
  if (communicator.size() == 1) return usable_processors();
  std::vector<Processors> ranks;
  for (const std::string& text : communicator.all_gather(own_processors().text()))
    ranks.push_back(Processors::parse(text));
  return share_of_processors(ranks, static_cast<size_t>(communicator.rank()));
}

World::World(std::unique_ptr<Communicator> communicator, std::function<int()> asked)
    : asked_(std::move(asked)),
      communicator_(std::make_unique<MeasuredCommunicator>(std::move(communicator))),
      leads_(communicator_->rank() == 0) {
  if (size() > 1)
    heartbeat_ = std::make_unique<Heartbeat>(*communicator_, HeartbeatOptions{.asked = [this] { return reason(); }});
  processors_ = share_of_processors(*communicator_);
}

// The heartbeat's thread calls this function too.
int World::reason() const {
  const int own = own_reason_.load();
  return own != 0 || !asked_ ? own : asked_();
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
  std::snprintf(place.data(), place.size(), "virtual worker %lld", static_cast<long long>(worker));
  heartbeat_->at(place.data());
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

// Texts may be long and ranks many, so that hashes are compared first. Only two texts that differ are exchanged.
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

Communicator& World::part() {
  parted_ = std::exchange(communicator_, std::make_unique<MeasuredCommunicator>(make_local_communicator()));
  return *parted_;
}

void World::rejoin() { communicator_ = std::move(parted_); }

std::string World::broadcast(const std::string& text) { return communicator_->all_gather(text)[0]; }

bool World::begin() {
  if (size() == 1) return reason() == 0;
  return note().empty() ? heartbeat_->begin() : !any(reason() != 0);
}

bool World::is_over() const {
  if (size() == 1) return reason() != 0;
  return note().empty() && heartbeat_->is_over();
}

void World::stop(int reason) {
  int none = 0;
  own_reason_.compare_exchange_strong(none, reason);
}

int World::stop_reason() {
  if (size() == 1) return reason();
  if (note().empty()) return heartbeat_->stop_reason();
  int number = 0;
  for (const std::string& one : communicator_->all_gather(std::to_string(reason())))
    number = std::max(number, std::stoi(one));
  return number;
}

// Collective call, used if machines do not hear of each other. Returns whether any process had `wanted` set in the call
// before: the answer to this call is awaited in the next one, so that no process waits for the slowest.
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

int64_t threads_of(int64_t asked, const World& world) {
  return asked > 0 || world.size() == 1 ? asked : world.processors();
}

std::string threads_note(int64_t threads, int processors) {
  if (threads <= processors) return "";
  return fmt::format(
      "NOTE: machine.threads = {}: a process's share of the processors is {}, so that threads take them from each "
      "other; "
      "at 0 it has as many",
      threads, processors);
}

}  // namespace kb
