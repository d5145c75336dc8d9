#include "recipes/train/evaluate.h"

#include <cstring>

#include "recipes/train/residency.h"

namespace kb {

Evaluator::Evaluator(Session& session, const std::vector<Field>& fields, const Source& source, World& world)
    : session_(session),
      world_(world),
      order_(Order::evaluation(source.count(), session.input_type("weights").shape.at(0))),
      fill_(source.gather(order_, 0)),
      count_(source.count()) {
  for (int i = 0; i < session.depth(); ++i) slots_.emplace_back(session, fields);
  fill_tables(session, fields, source);
}

double Evaluator::read(const char* output, int age) {
  session_.read(output, value_, age);
  return value_.at(0);
}

// Keeps the results of the step `age` steps ago, to be summed by total().
void Evaluator::tell(int age) {
  own_.push_back({read("loss", age), session_.has_output("error") ? read("error", age) : 0, read("count", age)});
}

// Rank r has batches r, r + size, ...
Evaluator::Sums Evaluator::total() {
  const std::string own(reinterpret_cast<const char*>(own_.data()), own_.size() * sizeof(Sums));
  const std::vector<std::string> all = world_.communicator().all_gather(own);
  Sums total;
  for (int64_t batch = 0; batch < order_.steps_per_epoch(); ++batch) {
    Sums one;
    std::memcpy(&one, all[static_cast<size_t>(batch % world_.size())].data() + batch / world_.size() * sizeof one,
                sizeof one);
    total.loss += one.loss;
    total.error += one.error;
    total.count += one.count;
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
    fill_(batch, slot.memory());
    slot.lend(session_);
    session_.step();
    if (behind == lag)
      tell(lag);
    else
      ++behind;
  }
  while (behind > 0) tell(--behind);
  if (may_stop && !world_.begin()) return std::nullopt;
  const Sums sums = total();
  ensure(sums.count == static_cast<double>(count_), "evaluation: not every sample was counted once");
  return Evaluation{sums.loss / sums.count, sums.error / sums.count, static_cast<int64_t>(sums.count)};
}

}  // namespace kb
