#include "tests/runtime/worker_run.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <numeric>

#include "compiler/passes/gradient_norms.h"
#include "graph/functions.h"
#include "optim/optimizer.h"
#include "runtime/session.h"
#include "tests/support/compile_check.h"

namespace kb::test {
namespace {

Graph model(const WorkerRun& run) {
  Graph g = small_convnet(run.samples);
  if (run.random) {
    // The loss depends on random bits of every sample.
    Tensor bits = random_bits(g, "noise", {run.samples});
    Tensor noise = sum(cast(bits, DType::f32) * 1e-12);
    g.outputs[0].value = (Tensor(g, g.outputs[0].value) * (1.0 + noise)).value();
  }
  return g;
}

// Fills in the samples of global worker `worker` at `step`.
void fill(Session& session, int64_t worker, int64_t step, int64_t workers, int64_t n) {
  auto* images = reinterpret_cast<float*>(session.input("images"));
  const int64_t pixels = session.input_type("images").elements();
  uint32_t word = static_cast<uint32_t>(1 + worker * 977 + step * 7919);
  for (int64_t i = 0; i < pixels; ++i)
    images[i] = static_cast<float>((word = word * 1664525u + 1013904223u) >> 8) / (1 << 24) - 0.5f;
  auto* labels = reinterpret_cast<int32_t*>(session.input("labels"));
  auto* weights = reinterpret_cast<float*>(session.input("weights"));
  for (int64_t i = 0; i < n; ++i) {
    labels[i] = static_cast<int32_t>((worker * n + i + step) % 10);
    weights[i] = 1.0f / static_cast<float>(workers * n);
  }
  session.set_scalar("worker", static_cast<double>(worker));
}

const Optimizer& optimizer_of(const WorkerRun& run) {
  const std::string name = run.optimizer.empty() ? "momentum" : run.optimizer;
  const auto at = std::ranges::find_if(optimizers(), [&](const Optimizer& row) { return row.name == name; });
  ensure(at != optimizers().end(), "a run's optimizer is one of the table");
  return *at;
}

// Returns the scalars of the run. A rule that reads skip_lr gets a rate of its own for biases and norms.
StepScalars scalars_of(const WorkerRun& run) {
  const Optimizer& optimizer = optimizer_of(run);
  if (run.optimizer.empty()) {
    const NamedScalar hyper[] = {{"weight_decay", 1e-4}};
    return {LearningRate({.learning_rate = 0.1}), optimizer, hyper};
  }
  std::vector<NamedScalar> hyper;
  if (optimizer.reads("skip_lr")) hyper.push_back({"skip_lr", 0.05});
  return {LearningRate({.shape = "cosine", .learning_rate = optimizer.learning_rate, .total_steps = 8}), optimizer,
          hyper};
}

void read_norms(const Session& session, WorkerOutcome& outcome) {
  if (session.has_output(kMeanNorm)) {
    outcome.workers_norm.push_back(session.read_scalar(kWorkersNorm));
    outcome.mean_norm.push_back(session.read_scalar(kMeanNorm));
  }
  if (!session.has_output(kLayerOutput + "gradient")) return;
  std::vector<double> layers;
  session.read(kLayerOutput + "gradient", layers);
  outcome.layers_norm.push_back(std::inner_product(layers.begin(), layers.end(), layers.begin(), 0.0));
  session.read(kGradientVector, layers);
  outcome.vector_norm.push_back(std::inner_product(layers.begin(), layers.end(), layers.begin(), 0.0));
}

Overlap profiled_work(Session& session) {
  const Schedule& final = session.compiled().program.at(PartRole::final);
  const Profile profile = session.profile();
  return measured_overlap(final, std::span(profile.steps).last(final.steps.size()));
}

bool in_block(const Variable& parameter) { return parameter.name.starts_with("block."); }

void use_two_groups(CompileOptions& options) {
  const UpdateRule rule = options.groups.at(0).rule;
  options.objectives = {{"loss", "block"}, {"loss", "rest"}};
  options.groups = {{.name = "block", .rule = rule, .owns = in_block}, {.name = "rest", .rule = rule}};
}

void set_scalar(Session& session, const NamedScalar& scalar) {
  for (const char* group : {"", "block.", "rest."}) session.set_scalar(group + std::string(scalar.name), scalar.value);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const WorkerRun& run) {
  return out << run.split.processes << " x " << run.split.virtual_workers;
}

WorkerOutcome run_process(const WorkerRun& run, Backend& backend, int rank) {
  CompileOptions options;
  options.target = backend.target();
  options.workers = {run.split.processes,  run.split.virtual_workers, run.bucket_bytes,
                     run.reduce_precision, run.mean_statistics,       run.gradient_norms};
  options.log_layers = run.log_layers;
  options.precision = run.precision;
  options.groups = {{.rule = update_rule(optimizer_of(run))}};
  if (run.two_groups) use_two_groups(options);
  StateStore store(backend);
  Session session(backend, store, compile(model(run), options));
  store.initialise(7);
  ensure(run.start.empty() || store.load(run.start).empty(), "a run starts from its own tensors");
  StepScalars scalars = scalars_of(run);
  session.set_scalar("seed", 3);
  session.set_scalar("loss_scale_interval", 2);
  session.set_scalar("worker_share", 1.0 / static_cast<double>(options.workers.total()));
  WorkerOutcome outcome;
  const int64_t workers = options.workers.total();
  for (int64_t step = run.first_step; step < run.steps; ++step) {
    for (const NamedScalar& scalar : scalars.at(step)) set_scalar(session, scalar);
    session.set_scalar("step", static_cast<double>(step));
    for (int64_t v = 0; v < run.split.virtual_workers; ++v) {
      fill(session, run.first_worker + rank * run.split.virtual_workers + v, step, workers, run.samples);
      if (run.profiled && v + 1 == run.split.virtual_workers)
        outcome.overlaps.push_back(profiled_work(session));
      else
        session.work(v);
    }
    outcome.losses.push_back(session.read_scalar("loss"));
    read_norms(session, outcome);
  }
  outcome.state = store.state_sha256();
  outcome.tensors = store.canonical();
  if (run.leaves) run.leaves();
  return outcome;
}

void check_clock(const Overlap& overlap) {
  BOOST_TEST(overlap.reductions.size() >= 2u);
  for (const ReductionTimes& one : overlap.reductions) {
    BOOST_TEST(0 <= one.ready);
    BOOST_TEST(one.ready <= one.start);
    BOOST_TEST(one.start <= one.end);
    BOOST_TEST(one.end <= overlap.step);
    BOOST_TEST(one.exposed >= 0);
  }
  BOOST_TEST(overlap.compute > 0);
}

}  // namespace kb::test
