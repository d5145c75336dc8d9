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

// Makes the parameters of layer `layer` that act on its input ("ih") or on its hidden state ("hh"): so many `gates`
// of `features` rows each, over `columns` numbers.
Gates make_gates(std::string_view op, Tensor x, const std::string& acts_on, int64_t layer, int64_t gates,
                 int64_t features, int64_t columns, const std::optional<Initialiser>& init) {
  const auto rows = static_cast<double>(features);
  const Init own = resolve(op, uniform_fan_in(), {rows, rows});
  const Init weight = init ? resolve(op, *init, {static_cast<double>(columns), rows}) : own;
  const Init bias = init ? resolve(op, zeros, {}) : own;
  const std::string suffix = "_" + acts_on + "_l" + std::to_string(layer);
  return {weight_for(x, ("weight" + suffix).c_str(), Role::weight, {gates * features, columns}, "OI", weight),
          weight_for(x, ("bias" + suffix).c_str(), Role::bias, {gates * features}, "C", bias)};
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

constexpr Cell kLstm = {"lstm", 4, true, lstm_step}, kGru = {"gru", 3, false, gru_step};

// Applies one layer to steps [T, N, I]; returns its hidden states [T, N, features].
Tensor unrolled(Tensor steps, const Gates& in, const Gates& back, int64_t features, const Cell& cell) {
  const int64_t length = steps.size(0), samples = steps.size(1);
  // The input parts of all steps are one product, which takes the hidden parts' bias with it where it may.
  const Tensor bias = cell.reads_sum ? in.bias + back.bias : in.bias;
  const Tensor inputs = matmul(reshape(steps, {length * samples, steps.size(2)}), in.weight, false, true) + bias;
  States states;
  std::vector<Tensor> all;
  for (int64_t t = 0; t < length; ++t) {
    Tensor hidden;
    if (states.hidden.valid()) hidden = matmul(states.hidden, back.weight, false, true);
    if (!cell.reads_sum)
      hidden = hidden.valid() ? hidden + back.bias : broadcast_to(back.bias, {samples, back.bias.size(0)});
    states = cell.step(slice(inputs, 0, t * samples, (t + 1) * samples), hidden, states);
    all.push_back(states.hidden);
  }
  return reshape(concat(all, 0), {length, samples, features});
}

Tensor recurrent(const Cell& cell, Tensor x, int64_t features, const RecurrentOptions& options) {
  require_same_graph(cell.op, {x});
  require_float(cell.op, x.type());
  require_rank(cell.op, x.type(), 3, "x [N, T, features]");
  require_positive(cell.op, features, "features");
  require_positive(cell.op, options.layers, "layers");
  if (options.dropout != 0 && options.layers == 1)
    report(cell.op, {"dropout in a single layer", "two layers or more, between which states are dropped", "1 layer",
                     "dropout(\"drop\", x, p) drops inputs or results"});
  for (int64_t layer = 0; layer < options.layers; ++layer) {
    const Gates in = make_gates(cell.op, x, "ih", layer, cell.gates, features, x.size(2), options.init);
    const Gates back = make_gates(cell.op, x, "hh", layer, cell.gates, features, features, options.init);
    x = transpose(unrolled(transpose(x, {1, 0, 2}), in, back, features, cell), {1, 0, 2});
    if (layer + 1 < options.layers) x = dropout("dropout_l" + std::to_string(layer), x, options.dropout);
  }
  return x;
}

}  // namespace

Tensor lstm(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return recurrent(kLstm, x, features, options);
}

Tensor gru(const std::string& name, Tensor x, int64_t features, const RecurrentOptions& options, Where where) {
  const Call call(where);
  const Scope scope(name);
  return recurrent(kGru, x, features, options);
}

}  // namespace kb
