#include "recipes/train/world.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#include "graph/error.h"
#include "recipes/train/line_diff.h"
#include "recipes/train/placement.h"
#include "runtime/sha256.h"
#include "runtime/standard_streams.h"

namespace kb {

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
