#include "recipes/train/evaluate.h"

#include <cstring>

#include "recipes/train/residency.h"

namespace kb {

Evaluator::Evaluator(Session& session, const std::vector<Field>& fields, std::vector<NamedMetric> metrics,
                     const Source& source, const char* part, World& world)
    : session_(session),
      world_(world),
      order_(Order::evaluation(source.count(), session.input_type("weights").shape.at(0))),
      fill_(source.gather(order_, 0)),
      names_{part, &source},
      count_(source.count()),
      metrics_(std::move(metrics)) {
  for (int i = 0; i < session.depth(); ++i) slots_.emplace_back(session, fields);
  fill_tables(session, fields, source, part);
}

double Evaluator::read(const std::string& output, int age) {
  session_.read(output, value_, age);
  return value_.at(0);
}

// Keeps the results of the step `age` steps ago, to be summed by total().
void Evaluator::report(int age) {
  own_.push_back(read("loss", age));
  for (const NamedMetric& metric : metrics_) own_.push_back(read(metric.name, age));
  own_.push_back(read("count", age));
}

// Rank r has batches r, r + size, ...
Evaluator::Sums Evaluator::total() {
  const std::string own(reinterpret_cast<const char*>(own_.data()), own_.size() * sizeof(double));
  const std::vector<std::string> all = world_.communicator().all_gather(own);
  Sums total(width());
  for (int64_t batch = 0; batch < order_.steps_per_epoch(); ++batch) {
    Sums one(width());
    const size_t bytes = one.size() * sizeof(double);
    std::memcpy(
        one.data(),
        all[static_cast<size_t>(batch % world_.size())].data() + static_cast<size_t>(batch / world_.size()) * bytes,
        bytes);
    for (size_t i = 0; i < one.size(); ++i) total[i] += one[i];
  }
  return total;
}

std::optional<Evaluation> Evaluator::run(bool may_stop) {
  own_.clear();
  session_.set_scalar("label_smoothing", 0);
  const int lag = session_.lag();
  int behind = 0;
  for (int64_t batch = world_.rank(); batch < order_.steps_per_epoch(); batch += world_.size()) {
    if (may_stop && world_.is_over()) break;
    HostBatch& slot = slots_[static_cast<size_t>(batch / world_.size()) % slots_.size()];
    slot.fill(fill_, batch, names_);
    slot.lend(session_);
    session_.step();
    if (behind == lag)
      report(lag);
    else
      ++behind;
  }
  while (behind > 0) report(--behind);
  if (may_stop && !world_.begin()) return std::nullopt;
  const Sums sums = total();
  const double count = sums.back();
  ensure(count == static_cast<double>(count_), "evaluation: not every sample was counted once");
  Evaluation evaluation{sums.front() / count, count_, {}};
  for (size_t i = 0; i < metrics_.size(); ++i)
    evaluation.figures.push_back(figure_of(metrics_[i], sums[i + 1] / count));
  return evaluation;
}

}  // namespace kb
