#include "recipes/evaluate.h"

namespace kb {

Evaluator::Evaluator(Session& session, const Split& split)
    : session_(session),
      split_(split),
      order_(Order::evaluation(split.count(), session.input_type("images").shape.at(0))),
      batch_(order_.minibatch(), split.shape),
      fill_(gather_rows(split, order_)) {}

double Evaluator::read(const char* output) {
  session_.read(output, value_);
  return value_.at(0);
}

Evaluation Evaluator::run() {
  double loss = 0, error = 0, count = 0;
  session_.set_scalar("label_smoothing", 0);
  for (int64_t step = 0; step < order_.steps_per_epoch(); ++step) {
    fill_(step, batch_.memory());
    feed(session_, batch_);
    session_.step();
    loss += read("loss");
    if (session_.has_output("error")) error += read("error");
    count += read("count");
  }
  ensure(count == static_cast<double>(split_.count()), "evaluation: not every sample was counted once");
  return {loss / count, error / count, static_cast<int64_t>(count)};
}

}  // namespace kb
