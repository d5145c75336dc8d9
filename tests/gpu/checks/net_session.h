// A small net that a backend trains step by step.
#pragma once
#include "compiler/pipeline/pipeline.h"
#include "runtime/session.h"
#include "runtime/state_store.h"
#include "tests/support/compile_check.h"

namespace kb::test {

// A training session of small_convnet with momentum. Its values follow from one seed.
struct NetSession {
  explicit NetSession(Backend& backend, uint32_t seed = 3, int64_t samples = 6);

  // Fills every input and sets the scalars of step `i`.
  void fill(uint32_t i);
  void step(uint32_t i) {
    fill(i);
    session.step();
  }

  const Graph graph;
  StateStore store;
  Session session;
};

// Returns the loss of each of six steps, read as late as the backend allows. The images are lent from `blocks` blocks
// in turn.
std::vector<double> losses_of_lent(Backend& backend, size_t blocks);

struct Trained {
  std::vector<double> losses;
  std::vector<NamedTensor> state;
};
// Trains steps `from` to `end`, reading each loss as late as the backend allows, and returns the losses and the last
// state.
Trained train(NetSession& net, uint32_t from, uint32_t end);
Trained train(Backend& backend, uint32_t steps);

// Makes a CPU backend with two cores and two shards, as the fake GPU's library has. It rounds where a GPU does.
std::unique_ptr<Backend> small_cpu();

// Fails the running test when an element differs by more than `bound` times the greatest of its tensor (at least 1e-3).
void check_state(const std::vector<NamedTensor>& expected, const std::vector<NamedTensor>& got, double bound);
// Also fails it when a loss differs by more than `bound`.
void check_close(const Trained& expected, const Trained& got, double bound);
// Fails the running test when a bit differs.
void check_equal(const Trained& expected, const Trained& got);

}  // namespace kb::test
