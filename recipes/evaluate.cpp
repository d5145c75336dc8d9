#include "recipes/evaluate.h"

#include <algorithm>

namespace kb {

Evaluator::Evaluator(Session& session, const Split& split)
    : session_(session),
      split_(split),
      order_(Order::evaluation(split.count(), session.input_type("images").shape.at(0))),
      batch_(order_.minibatch(), split.shape),
      fill_(gather_rows(split, order_)) {}

double Evaluator::read(const char* output, int age) {
  session_.read(output, value_, age);
  return value_.at(0);
}

// What a step gave, `age` steps ago.
void Evaluator::add(Sums& sums, int age) {
  sums.loss += read("loss", age);
  if (session_.has_output("error")) sums.error += read("error", age);
  sums.count += read("count", age);
}

Evaluation Evaluator::run() {
  Sums sums;
  session_.set_scalar("label_smoothing", 0);
  const int64_t steps = order_.steps_per_epoch();
  const int lag = session_.lag();
  for (int64_t step = 0; step < steps; ++step) {
    fill_(step, batch_.memory());
    feed(session_, batch_);
    session_.step();
    if (step >= lag) add(sums, lag);
  }
  for (int age = std::min(lag, static_cast<int>(steps)) - 1; age >= 0; --age) add(sums, age);
  ensure(sums.count == static_cast<double>(split_.count()), "evaluation: not every sample was counted once");
  return {sums.loss / sums.count, sums.error / sums.count, static_cast<int64_t>(sums.count)};
}

}  // namespace kb
