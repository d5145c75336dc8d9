#include "graph/recurrent.h"

#include <vector>

#include "graph/building.h"
#include "graph/layers.h"

namespace kb {
namespace {

// The matrices of all gates, one above the other, and their biases.
struct Gates {
  Tensor weight, bias;
};

// Makes the parameters of a layer and direction, "_l0" or "_l0_reverse", that act on its input ("ih") or on its hidden
// state ("hh"): so many `gates` of `features` rows each, over `columns` numbers.
Gates make_gates(std::string_view op, Tensor x, const std::string& acts_on, const std::string& of, int64_t gates,
                 int64_t features, int64_t columns, const std::optional<Initialiser>& init) {
  const auto rows = static_cast<double>(features);
  const Init own = resolve(op, uniform_fan_in(), {rows, rows});
  const Init weight = init ? resolve(op, *init, {static_cast<double>(columns), rows}) : own;
  const Init bias = init ? resolve(op, zeros, {}) : own;
  const std::string suffix = "_" + acts_on + of;
  const int64_t all = element_count({gates, features});
  return {weight_for(x, ("weight" + suffix).c_str(), Role::weight, {all, columns}, "OI", weight),
          weight_for(x, ("bias" + suffix).c_str(), Role::bias, {all}, "C", bias)};
}

// [N, gates features] -> [N, gates, features]. With an axis of their own, the gradient joins the gates without a
// comparison for each element.
Tensor with_gates(Tensor all, int64_t gates) { return reshape(all, {all.size(0), gates, all.size(1) / gates}); }

// Returns the part of one gate of [N, gates, features].
Tensor part(Tensor all, int64_t gate) { return reshape(slice(all, 1, gate, gate + 1), {all.size(0), all.size(2)}); }

// The states that a step leaves, [N, features]. Before step 0 they are 0, for which an invalid tensor stands.
struct States {
  Tensor hidden, cell;
};

// A kind of recurrent layer.
struct Cell {
  std::string_view op;
  int64_t gates;
  // Whether a step reads nothing but the sum of the gates' input parts and hidden parts.
  bool reads_sum;
  bool has_cell;  // whether it leaves States::cell
  // Makes one step from the gates' input parts and hidden parts, each [N, gates features]. The hidden part is invalid
  // where it is 0.
  States (*step)(Tensor input, Tensor hidden, const States& before);
};

States lstm_step(Tensor input, Tensor hidden, const States& before) {
  const Tensor z = with_gates(hidden.valid() ? input + hidden : input, 4);
  const Tensor kept = sigmoid(part(z, 0)) * tanh(part(z, 2));
  const Tensor cell = before.cell.valid() ? sigmoid(part(z, 1)) * before.cell + kept : kept;
  return {sigmoid(part(z, 3)) * tanh(cell), cell};
}

States gru_step(Tensor input, Tensor hidden, const States& before) {
  const Tensor x = with_gates(input, 3), h = with_gates(hidden, 3);
  const Tensor reset = sigmoid(part(x, 0) + part(h, 0)), update = sigmoid(part(x, 1) + part(h, 1));
  const Tensor fresh = tanh(part(x, 2) + reset * part(h, 2));
  const Tensor moved = (1.0 - update) * fresh;
  return {before.hidden.valid() ? moved + update * before.hidden : moved, {}};
}

constexpr Cell kLstm = {"lstm", 4, true, true, lstm_step}, kGru = {"gru", 3, false, false, gru_step};

// Returns the states after each step of a layer and direction, [N, features] each, in the order in which the steps were
// made. States before the first step are `states`, or 0 if these are invalid.
std::vector<States> unrolled(Tensor steps, const Gates& in, const Gates& back, const Cell& cell, States states) {
  const int64_t length = steps.size(0), samples = steps.size(1);
  // The input parts of all steps are one product, which takes the hidden parts' bias with it where it may.
  const Tensor bias = cell.reads_sum ? in.bias + back.bias : in.bias;
  const Tensor inputs = matmul(reshape(steps, {length * samples, steps.size(2)}), in.weight, false, true) + bias;
  std::vector<States> all;
  for (int64_t t = 0; t < length; ++t) {
    Tensor hidden;
    if (states.hidden.valid()) hidden = matmul(states.hidden, back.weight, false, true);
    if (!cell.reads_sum)
      hidden = hidden.valid() ? hidden + back.bias : broadcast_to(back.bias, {samples, back.bias.size(0)});
    states = cell.step(slice(inputs, 0, t * samples, (t + 1) * samples), hidden, states);
    all.push_back(states);
  }
  return all;
}

// Makes one tensor [T N, features] of a state after each step.
Tensor joined(const std::vector<States>& all, Tensor States::*state) {
  std::vector<Tensor> parts;
  for (const States& states : all) parts.push_back(states.*state);
  return concat(parts, 0);
}

// The steps of samples: all T, or the first of each by RecurrentOptions::lengths, which is invalid otherwise.
class OwnSteps {
 public:
  OwnSteps(std::string_view op, Tensor x, Tensor lengths) : samples_(x.size(0)), length_(x.size(1)) {
    if (!lengths.valid()) return;
    require_same_graph(op, {x, lengths});
    const Type expected{DType::i32, {samples_}, "N"};
    if (lengths.dtype() != DType::i32 || lengths.shape() != expected.shape)
      report(op, {"lengths do not fit x", to_string(expected) + ": the number of steps of each sample",
                  to_string(lengths.type()), ""});
    count_ = reshape(maximum(minimum(lengths, static_cast<double>(length_)), 0.0), {samples_, 1});
    sample_ = reshape(iota(x.graph(), DType::i32, samples_), {samples_, 1});
    step_ = iota(x.graph(), DType::i32, length_);
  }

  // Returns x [N, T, C] with each sample's own steps in the reverse order. Those behind them stay, so that they do not
  // come before: no step has to ask whether a sample has it.
  Tensor reversed(Tensor x) const {
    if (!count_.valid()) return flip(x, {1});
    const Tensor from = select(step_ < count_, count_ - 1.0 - step_, broadcast_to(step_, {samples_, length_}));
    return gather(reshape(x, {samples_ * length_, x.size(2)}), sample_ * static_cast<double>(length_) + from);
  }

  // Returns x [N, T, C] with 0 in place of the steps that a sample has not.
  Tensor only(Tensor x) const {
    return count_.valid() ? select(reshape(step_ < count_, {samples_, length_, 1}), x, 0.0) : x;
  }

  // Returns a state [N, features] after each sample's last step; `first`, or 0 if it is invalid, where it has none.
  Tensor last(const std::vector<States>& all, Tensor States::*state, Tensor first) const {
    if (!count_.valid()) return all.back().*state;
    const Tensor at = reshape((count_ - 1.0) * static_cast<double>(samples_) + sample_, {samples_});
    const Tensor taken = gather(joined(all, state), at), has_any = count_ > 0.0;
    return first.valid() ? select(has_any, taken, first) : select(has_any, taken, 0.0);
  }

 private:
  int64_t samples_, length_;
  Tensor count_, sample_, step_;  // i32 [N, 1], [N, 1] and [T]
};

// Throws Error unless states before the first step are [layers x directions, N, features] in x's dtype.
void check_states(const Cell& cell, Tensor x, int64_t features, const RecurrentOptions& options) {
  const Type expected{x.dtype(), {options.layers * (options.bidirectional ? 2 : 1), x.size(0), features}, ""};
  for (const Tensor& states : {options.hidden, options.cell}) {
    if (!states.valid()) continue;
    require_same_graph(cell.op, {x, states});
    if (states.dtype() != expected.dtype || states.shape() != expected.shape)
      report(cell.op, {"states do not fit x", to_string(expected) + ": [layers x directions, N, features]",
                       to_string(states.type()), ""});
  }
  if (options.cell.valid() && !cell.has_cell)
    report(cell.op, {"a layer without a cell", "hidden states alone", "cell " + to_string(options.cell.type()), ""});
  if (options.hidden.valid() != options.cell.valid() && cell.has_cell)
    report(cell.op, {"one of two states", "hidden and cell together, or neither", "one of them", ""});
}

// Returns row `row` of states [R, N, features]; an invalid tensor where they are not given.
Tensor row_of(Tensor states, int64_t row) {
  return states.valid() ? reshape(slice(states, 0, row, row + 1), {states.size(1), states.size(2)}) : states;
}

// A stack of layers: its hidden states [N, T, features of all directions], and the states of each layer and direction
// after each step.
struct Recurrence {
  OwnSteps own;
  Tensor output;
  std::vector<std::vector<States>> states = {};
};

// Puts a layer upon those that are there.
void add_layer(const Cell& cell, const std::string& number, int64_t features, const RecurrentOptions& options,
               Recurrence& net) {
  const Tensor x = net.output;
  std::vector<Tensor> results;
  for (const bool reverse : {false, true}) {
    if (reverse && !options.bidirectional) break;
    const std::string of = "_l" + number + (reverse ? "_reverse" : "");
    const Gates in = make_gates(cell.op, x, "ih", of, cell.gates, features, x.size(2), options.init);
    const Gates back = make_gates(cell.op, x, "hh", of, cell.gates, features, features, options.init);
    const auto row = static_cast<int64_t>(net.states.size());
    const Tensor steps = transpose(reverse ? net.own.reversed(x) : x, {1, 0, 2});
    net.states.push_back(unrolled(steps, in, back, cell, {row_of(options.hidden, row), row_of(options.cell, row)}));
    const Tensor all = reshape(joined(net.states.back(), &States::hidden), {x.size(1), x.size(0), features});
    const Tensor y = transpose(all, {1, 0, 2});
    results.push_back(reverse ? net.own.reversed(y) : y);
  }
  net.output = net.own.only(options.bidirectional ? concat(results, 2) : results[0]);
}

Recurrence recurrent(const Cell& cell, Tensor x, int64_t features, const RecurrentOptions& options) {
  require_float(cell.op, x);
  require_rank(cell.op, x, 3, "x [N, T, features]");
  require_positive(cell.op, features, "features");
  require_positive(cell.op, options.layers, "layers");
  if (options.dropout != 0 && options.layers == 1)
    report(cell.op, {"dropout in a single layer", "two layers or more, between which states are dropped", "1 layer",
                     "dropout(\"drop\", x, p) drops inputs or results"});
  check_states(cell, x, features, options);
  Recurrence net{OwnSteps(cell.op, x, options.lengths), x};
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const std::string number = std::to_string(layer);
    add_layer(cell, number, features, options, net);
    if (layer + 1 < options.layers) net.output = dropout("dropout_l" + number, net.output, options.dropout);
  }
  return net;
}

// Makes [layers x directions, N, features] of a state of each layer and direction after the samples' last steps.
Tensor last_of(const Recurrence& net, Tensor States::*state, Tensor first) {
  std::vector<Tensor> rows;
  for (size_t row = 0; row < net.states.size(); ++row)
    rows.push_back(net.own.last(net.states[row], state, row_of(first, static_cast<int64_t>(row))));
  return reshape(concat(rows, 0), {static_cast<int64_t>(rows.size()), rows[0].size(0), rows[0].size(1)});
}

}  // namespace

Tensor lstm(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return recurrent(kLstm, x, features, options).output;
}

Tensor gru(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return recurrent(kGru, x, features, options).output;
}

RecurrentResult lstm_with_states(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options,
                                 Where where) {
  const Call call(where);
  const Scope scope(name);
  const Recurrence net = recurrent(kLstm, x, features, options);
  return {net.output, last_of(net, &States::hidden, options.hidden), last_of(net, &States::cell, options.cell)};
}

RecurrentResult gru_with_states(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options,
                                Where where) {
  const Call call(where);
  const Scope scope(name);
  const Recurrence net = recurrent(kGru, x, features, options);
  return {net.output, last_of(net, &States::hidden, options.hidden), {}};
}

}  // namespace kb
