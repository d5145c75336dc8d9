#include "recipes/orders/order_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "graph/error.h"
#include "runtime/json.h"
#include "runtime/json_reader.h"

namespace kb {
namespace {

void expect_place(bool holds, const std::string& expected, const std::string& got) {
  if (!holds)
    throw Error(fmt::format("a place in an order of gradients\n  expected: {}\n  got:      {}", expected, got));
}

// `before`: number of decided gradients of the workers before this one.
void check_worker(const OrderState& state, size_t number, int64_t before) {
  const OrderWorker& worker = state.workers[number];
  const auto within = [&](const char* name, int64_t value, int64_t least, int64_t most) {
    expect_place(value >= least && value <= most, fmt::format("{} of worker {} in [{}, {}]", name, number, least, most),
                 fmt::format("{}", value));
  };
  within("decided", worker.decided, 0, state.decided - before);
  within("read", worker.read, worker.computes ? 0 : -1, state.version);
  within("piece", worker.piece, worker.computes ? 0 : -1, state.drawn - 1);
  within("begin_ns", worker.begin_ns, 0, state.now_ns);
}

// Checks that every piece that was drawn and is not applied is in one place, and returns how many these are.
int64_t check_open_pieces(const OrderState& state) {
  std::set<int64_t> open;
  const auto take = [&](int64_t piece) {
    expect_place(piece >= 0 && piece < state.drawn && open.insert(piece).second,
                 "each piece that was drawn in one place",
                 fmt::format("piece {} of {} in two or none", piece, state.drawn));
  };
  for (const int64_t piece : state.returned) take(piece);
  for (const OrderWorker& worker : state.workers)
    if (worker.computes) take(worker.piece);
  expect_place(std::is_sorted(state.returned.begin(), state.returned.end()), "returned pieces that rise", "others");
  return std::ssize(open);
}

// Returns how many gradients of an update that is not complete have ended.
int64_t arrived_in(const OrderState& state, const OrderPolicy& policy) {
  if (policy.kind != OrderKind::backup) return 0;
  return std::count_if(state.workers.begin(), state.workers.end(),
                       [&](const OrderWorker& worker) { return !worker.computes && worker.read == state.version; });
}

OrderWorker worker_in(const JsonValue& json) {
  const std::vector<JsonValue> items = json.items();
  if (items.size() != 5) json.refuse("[computes, decided, read, piece, begin_ns]");
  return {items[0].as<bool>(), items[1].as<int64_t>(), items[2].as<int64_t>(), items[3].as<int64_t>(),
          items[4].as<int64_t>()};
}

}  // namespace

void check_state(const OrderState& state, const OrderPolicy& policy, int64_t pieces) {
  check_order(policy, pieces);
  expect_place(std::ssize(state.workers) == policy.all_workers(), fmt::format("{} workers", policy.all_workers()),
               fmt::format("{}", state.workers.size()));
  const bool in_range = state.decided >= 0 && state.now_ns >= 0 && state.drawn >= 0 &&
                        (pieces == 0 || state.drawn <= pieces) && state.version >= 0 &&
                        state.version <= state.drawn / policy.gradients_per_update();
  expect_place(in_range, "numbers from 0 on, pieces of the run, and no more versions than they make",
               state_text(state));
  int64_t decided = 0;
  for (size_t number = 0; number < state.workers.size(); ++number) {
    check_worker(state, number, decided);
    decided += state.workers[number].decided;
  }
  expect_place(decided == state.decided, fmt::format("{} gradients, the sum over workers", decided),
               fmt::format("{}", state.decided));
  const int64_t applied = state.drawn - check_open_pieces(state);
  const int64_t counted = state.version * policy.gradients_per_update() + arrived_in(state, policy);
  expect_place(applied == counted, fmt::format("{} pieces applied, by the version", counted),
               fmt::format("{}", applied));
}

std::string state_text(const OrderState& state) {
  Json workers = Json::array();
  for (const OrderWorker& worker : state.workers)
    workers.push_back(Json::array({worker.computes, worker.decided, worker.read, worker.piece, worker.begin_ns}));
  const Json json = {{"decided", state.decided}, {"version", state.version},   {"drawn", state.drawn},
                     {"now_ns", state.now_ns},   {"returned", state.returned}, {"workers", workers}};
  return json.dump();
}

OrderState parse_state(const std::string& text, const std::string& what) {
  const JsonValue json = parse_json(text, what);
  OrderState state;
  state.decided = json.get<int64_t>("decided");
  state.version = json.get<int64_t>("version");
  state.drawn = json.get<int64_t>("drawn");
  state.now_ns = json.get<int64_t>("now_ns");
  state.returned = json.at("returned").list<int64_t>();
  for (const JsonValue& worker : json.at("workers").items()) state.workers.push_back(worker_in(worker));
  return state;
}

}  // namespace kb
