// A small net that trains on a backend, step by step.
#pragma once
#include "compiler/pipeline.h"
#include "runtime/session.h"
#include "runtime/state_store.h"
#include "tests/compile_check.h"

namespace kb::test {

// A training session of small_convnet with momentum, its values from one seed.
struct NetSession {
  explicit NetSession(Backend& backend, uint32_t seed = 3, int64_t samples = 6);

  // Fills every input and sets the scalars as step `i` has them.
  void fill(uint32_t i);
  void step(uint32_t i) {
    fill(i);
    session.step();
  }

  const Graph graph;
  StateStore store;
  Session session;
};

// Each loss of six steps, read as late as the backend likes, whose images are lent from `blocks` blocks in turn.
std::vector<double> losses_of_lent(Backend& backend, size_t blocks);

struct Trained {
  std::vector<double> losses;
  std::vector<NamedTensor> state;
};
// Steps `from` to `to`, each loss read as late as the backend likes; the state in the end.
Trained train(NetSession& net, uint32_t from, uint32_t to);
Trained train(Backend& backend, uint32_t steps);

// Two cores, two shards: what the fake GPU's library has, too. It rounds where a GPU does.
std::unique_ptr<Backend> small_cpu();

// Fails the running test where an element differs by more than `bound` times the largest of its tensor (at least 1e-3).
void check_state(const std::vector<NamedTensor>& expected, const std::vector<NamedTensor>& got, double bound);
// Losses too, by more than `bound`.
void check_close(const Trained& expected, const Trained& got, double bound);
// No bit differs.
void check_equal(const Trained& expected, const Trained& got);

}  // namespace kb::test
