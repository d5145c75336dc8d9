#include "recipes/train/worker_gradient.h"

#include <chrono>

#include "graph/functions.h"
#include "optim/kept_gradient.h"
#include "recipes/train/join.h"
#include "recipes/train/run_schedule.h"

namespace kb {

WorkerGradient::WorkerGradient(const LoopParts& parts)
    : parts_(parts),
      batch_(parts.copies.sessions, parts.task.fields),
      fill_(training_fill(parts)),
      figures_(1 + parts.metrics.training.size()) {
  RunSchedule schedule = parts.schedule;
  for (Session* session : parts.copies.sessions) {
    set_constants(*session, parts);
    // A worker's momentum is the same in all steps.
    set_scalars(*session, schedule, schedule.update_of(parts.start.step));
  }
}

const std::vector<double>& WorkerGradient::compute(int64_t worker, int64_t piece) {
  using Clock = std::chrono::steady_clock;
  const int64_t workers = parts_.settled.batch.workers(), step = piece / workers, part = piece % workers;
  const size_t bucket = parts_.order.bucket(step), own = parts_.copies.stores.size();
  Session& session = *parts_.copies.sessions[bucket * own + static_cast<size_t>(worker - parts_.copies.first)];
  const Clock::time_point begin = Clock::now();
  batch_.fit(session);
  batch_.fill(fill_, piece, {kTrainingPart, parts_.task.train.get()});
  batch_.feed(session);
  wait_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  // Random numbers of a sample are those of its place in the run, whoever computes it when.
  session.set_scalar("step", static_cast<double>(step));
  for (const char* name : {"worker", "first_worker"}) session.set_scalar(name, static_cast<double>(part));
  session.step();
  const auto read = [&](double& figure, const std::string& output) {
    session.read(output, value_);
    figure = value_.at(0);
  };
  read(figures_[0], "loss");
  for (size_t i = 0; i < parts_.metrics.training.size(); ++i) read(figures_[i + 1], parts_.metrics.training[i].name);
  return figures_;
}

namespace {

std::string kept_name(const std::vector<ParameterGroup>& groups, const Segment& segment) {
  const std::string& group = groups.at(static_cast<size_t>(segment.group)).name;
  return scalar_prefix(group, groups.size()) + kKeptGradient + "." + segment.name;
}

}  // namespace

Graph apply_graph(const Compiled& training, const std::vector<ParameterGroup>& groups, int64_t gradients) {
  Graph graph("apply", Mode::training);
  Tensor loss;
  for (const Segment& segment : training.space.segments) {
    const Tensor own = parameter(graph, segment.name, segment.role, segment.type, segment.init, segment.rate);
    const Tensor gradient = input(graph, kept_name(groups, segment), segment.type.dtype, segment.type.shape);
    const Tensor product = sum(own * gradient);
    loss = loss.valid() ? loss + product : product;
  }
  join_statistics(graph, training);
  graph.outputs.push_back(
      {"loss", (loss * (1 / static_cast<double>(gradients))).value(), Merge::sum, OutputKind::loss});
  return graph;
}

void apply_gradient(Session& apply, const StateStore& worker, int64_t number) {
  give_views(apply, worker);
  apply.set_scalar("worker", static_cast<double>(number));
  apply.work(number);
}

}  // namespace kb
