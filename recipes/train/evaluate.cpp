#include "recipes/train/evaluate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "recipes/train/residency.h"

namespace kb {
namespace {

std::vector<GatheredMetric> with_loss(const ComputedMetrics& metrics) {
  std::vector<GatheredMetric> all = {metrics.loss};
  all.insert(all.end(), metrics.gathered.begin(), metrics.gathered.end());
  return all;
}

std::vector<Gathered> outputs_of(const std::vector<GatheredMetric>& metrics) {
  std::vector<Gathered> outputs;
  for (const GatheredMetric& metric : metrics)
    outputs.insert(outputs.end(), metric.outputs.begin(), metric.outputs.end());
  outputs.push_back({.output = "count"});
  return outputs;
}

}  // namespace

Evaluator::Evaluator(std::vector<Session*> sessions, const std::vector<Field>& fields, const ComputedMetrics& metrics,
                     const Source& source, Order order, const char* part, World& world)
    : sessions_(std::move(sessions)),
      world_(world),
      order_(std::move(order)),
      fill_(source.gather(order_, 0)),
      names_{part, &source},
      count_(source.count()),
      metrics_(with_loss(metrics)),
      outputs_(outputs_of(metrics_)) {
  for (int i = 0; i < sessions_.front()->depth(); ++i) slots_.emplace_back(sessions_, fields);
  fill_tables(*sessions_.front(), fields, source, part);
}

// Returns how many numbers a batch contributes to an output: the elements of one sum, or those of a row for each of its
// samples; 0 if none of its samples has a row that is kept.
int64_t Evaluator::width(const Gathered& output, int64_t batch) const {
  if (!output.keeps_rows) return element_count(output.shape);
  const int64_t rows = order_.minibatch(batch);
  bool is_wanted = output.rows == 0;
  for (int64_t row = 0; row < rows && !is_wanted; ++row) is_wanted = order_.row(batch, row).sample < output.rows;
  return is_wanted ? rows * element_count(output.shape) : 0;
}

// Reads the results of a batch and keeps them for total(). The batch was its session's step `age` steps ago.
void Evaluator::report(int64_t batch, int age) {
  for (const Gathered& output : outputs_) {
    if (width(output, batch) == 0) continue;
    session_of(batch).read(output.output, value_, age);
    own_.insert(own_.end(), value_.begin(), value_.end());
  }
}

bool Evaluator::has_rows() const {
  return std::any_of(outputs_.begin(), outputs_.end(),
                     [](const Gathered& output) { return output.keeps_rows || !output.shape.empty(); });
}

// Collective call. Combines the results of all processes, in which rank r has the batches r, r + size, r + 2 size, ...
// Returns the values of each output.
std::vector<MetricValues> Evaluator::total() {
  const std::string own(reinterpret_cast<const char*>(own_.data()), own_.size() * sizeof(double));
  const std::vector<std::string> all = world_.communicator().all_gather(own);
  std::vector<size_t> read(all.size());  // bytes of each process's text that have been read
  std::vector<MetricValues> totals;
  for (const Gathered& output : outputs_)
    totals.push_back(
        {output.shape, std::vector<double>(static_cast<size_t>(kept_rows(output) * element_count(output.shape)))});
  std::vector<double> values;
  for (int64_t batch = 0; batch < order_.steps_per_epoch(); ++batch) {
    const auto rank = static_cast<size_t>(batch % world_.size());
    for (size_t i = 0; i < outputs_.size(); ++i) {
      values.resize(static_cast<size_t>(width(outputs_[i], batch)));
      const size_t bytes = values.size() * sizeof(double);
      if (bytes > 0) std::memcpy(values.data(), all[rank].data() + read[rank], bytes);
      read[rank] += bytes;
      if (outputs_[i].keeps_rows)
        keep_rows(totals[i], batch, values);
      else
        for (size_t k = 0; k < values.size(); ++k) totals[i].values[k] += values[k];
    }
  }
  return totals;
}

// Returns how many rows of an output are kept; 1 for a sum.
int64_t Evaluator::kept_rows(const Gathered& output) const {
  if (!output.keeps_rows) return 1;
  return output.rows == 0 ? count_ : std::min(count_, output.rows);
}

// Puts the rows of a batch where their samples stand. A row that only pads the batch repeats a sample.
void Evaluator::keep_rows(MetricValues& total, int64_t batch, std::span<const double> rows) const {
  const auto width = static_cast<size_t>(element_count(total.shape));
  for (size_t row = 0; row * width < rows.size(); ++row) {
    const auto at = static_cast<size_t>(order_.row(batch, static_cast<int64_t>(row)).sample) * width;
    if (at < total.values.size())
      std::ranges::copy(rows.subspan(row * width, width), total.values.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

Evaluation Evaluator::finish(std::span<const MetricValues> values) {
  const double count = values.back().values[0];
  ensure(count == static_cast<double>(count_), "evaluation: not every sample was counted once");
  Evaluation evaluation{0, count_, {}};
  drawn_.clear();
  size_t begin = 0;
  for (const GatheredMetric& metric : metrics_) {
    const std::span<const MetricValues> own = values.subspan(begin, metric.outputs.size());
    begin += own.size();
    if (metric.figures.empty()) {
      drawn_.push_back({metric.outputs[0].output, own[0].shape, own[0].values});
      continue;
    }
    const std::vector<double> figures = metric.finish(own, count_);
    if (figures.size() != metric.figures.size())
      throw Error(fmt::format("metric '{}': expected {} figures, got {}", metric.figures[0].name, metric.figures.size(),
                              figures.size()));
    for (size_t i = 0; i < figures.size(); ++i)
      evaluation.figures.push_back({metric.figures[i].name, figures[i], metric.figures[i].kind});
  }
  evaluation.loss = evaluation.figures.front().value;
  evaluation.figures.erase(evaluation.figures.begin());
  return evaluation;
}

std::optional<Evaluation> Evaluator::run(bool may_stop) {
  own_.clear();
  for (Session* session : sessions_) session->set_scalar(kLabelSmoothing, 0);
  const int lag = has_rows() ? 0 : sessions_.front()->lag();  // a step may overwrite outputs with rows or a shape
  const int64_t each = world_.size();
  int64_t reported = world_.rank(), next = reported;  // this process's first batch not read, and not begun
  const auto report_until = [&](int64_t end) {
    for (; reported < end; reported += each) {  // at most one batch is begun behind the one that is read
      const int64_t behind = reported + each;
      report(reported, behind < next && &session_of(behind) == &session_of(reported) ? 1 : 0);
    }
  };
  for (; next < order_.steps_per_epoch();) {
    if (may_stop && world_.is_over()) break;
    HostBatch& slot = slots_[static_cast<size_t>(next / each) % slots_.size()];
    Session& session = session_of(next);
    slot.fit(session);
    slot.fill(fill_, next, names_);
    slot.lend(session);
    // A batch counts as a worker, so that each sample has random numbers of its own, by its place in the part.
    session.set_scalar("worker", static_cast<double>(next));
    session.set_scalar("step", static_cast<double>(order_.bucket(next)));
    session.step();
    next += each;
    report_until(next - lag * each);
  }
  report_until(next);
  if (may_stop && !world_.begin()) return std::nullopt;
  return finish(total());
}

}  // namespace kb
