#include "tests/support/random_graph.h"

#include <limits>
#include <set>
#include <string>

#include "graph/functions.h"
#include "tests/support/random_graph_builder.h"

namespace kb::test {

const std::vector<RandomGraphBuilder::Step>& RandomGraphBuilder::steps() {
  static const std::vector<Step> table = {
      {true, 6, &RandomGraphBuilder::unary},
      {false, 2, &RandomGraphBuilder::kinked_unary},
      {false, 2, &RandomGraphBuilder::jumping_unary},
      {true, 7, &RandomGraphBuilder::binary},
      {false, 2, &RandomGraphBuilder::kinked_binary},
      {false, 2, &RandomGraphBuilder::comparison},
      {false, 2, &RandomGraphBuilder::integers},
      {false, 1, &RandomGraphBuilder::bits},
      {false, 1, &RandomGraphBuilder::low_precision},
      {true, 2, &RandomGraphBuilder::reshaping},
      {true, 2, &RandomGraphBuilder::transposing},
      {true, 2, &RandomGraphBuilder::slicing},
      {true, 2, &RandomGraphBuilder::padding},
      {true, 2, &RandomGraphBuilder::concatenation},
      {true, 2, &RandomGraphBuilder::broadcasting},
      {true, 4, &RandomGraphBuilder::sums},
      {false, 2, &RandomGraphBuilder::extrema},
      {false, 1, &RandomGraphBuilder::arg_maximum},
      {true, 2, &RandomGraphBuilder::moments_step},
      {false, 1, &RandomGraphBuilder::euclidean},
      {true, 3, &RandomGraphBuilder::product},
      {true, 2, &RandomGraphBuilder::convolution_step},
      {true, 1, &RandomGraphBuilder::convolution_gradients},
      {true, 1, &RandomGraphBuilder::average_pooling},
      {false, 1, &RandomGraphBuilder::maximum_pooling},
      {true, 1, &RandomGraphBuilder::gathering},
      {true, 1, &RandomGraphBuilder::cropping},
      {true, 1, &RandomGraphBuilder::scattering},
      {false, 1, &RandomGraphBuilder::selecting_classes},
      {true, 1, &RandomGraphBuilder::softmaxes},
      {true, 1, &RandomGraphBuilder::normalisation},
      {true, 1, &RandomGraphBuilder::markers},
      {true, 1, &RandomGraphBuilder::dropping},
      {true, 2, &RandomGraphBuilder::state_step},
  };
  return table;
}

Graph RandomGraphBuilder::run() {
  std::vector<Step> drawn;
  for (const Step& step : steps()) {
    if (options_.smooth && !step.smooth) continue;
    drawn.insert(drawn.end(), static_cast<size_t>(step.weight), step);
  }
  if (options_.whole) drawn.insert(drawn.end(), drawn.size() / 3, {false, 1, &RandomGraphBuilder::whole_numbers});
  if (options_.blocks) drawn.insert(drawn.end(), drawn.size() / 3, {true, 1, &RandomGraphBuilder::convolution_step});
  if (options_.layers)
    for (const Step& step : layer_steps()) drawn.insert(drawn.end(), static_cast<size_t>(4 * step.weight), step);
  for (int64_t leaves = random_.integer(1, 3); leaves > 0; --leaves) pool_.push_back(fresh(shape(0, 5)));
  for (int64_t left = random_.integer(options_.min_steps, options_.max_steps); left > 0; --left) {
    (this->*random_.pick(drawn).make)();
  }
  if (options_.smooth) {
    finish_loss();
  } else {
    finish();
  }
  return std::move(graph_);
}

// Makes outputs of all values that nothing else uses, and of a few inner values too.
void RandomGraphBuilder::finish() {
  for (Pooled& item : pool_) {
    if (item.used && !random_.chance(0.1)) continue;
    graph_.outputs.push_back({"out" + std::to_string(graph_.outputs.size()), item.tensor.value(), Merge::sum});
  }
  for (const Tensor& tensor : whole_)
    graph_.outputs.push_back({"whole" + std::to_string(graph_.outputs.size()), tensor.value(), Merge::sum});
}

void RandomGraphBuilder::finish_loss() {
  Tensor loss;
  for (Pooled& item : pool_) {
    if (item.used) continue;
    const Tensor term = mean(item.tensor * tanh(item.tensor * 0.5));
    loss = loss.valid() ? loss + term : term;
  }
  graph_.outputs.push_back({"loss", loss.value(), Merge::sum});
}

namespace {

// Tells for each node whether a convolution or moments depend on it.
std::vector<bool> read_as_finite(const Graph& graph) {
  std::vector<bool> read(graph.nodes.size());
  for (size_t n = graph.nodes.size(); n-- > 0;) {
    const Node& node = graph.nodes[n];
    static const std::set<Op> ops = {Op::conv2d, Op::conv2d_input_grad, Op::conv2d_weight_grad, Op::moments};
    if (ops.contains(node.op) || read[n])
      for (const Value input : node.inputs) read[static_cast<size_t>(input.node)] = true;
  }
  return read;
}

std::set<std::string> names_read_as_finite(const Graph& graph) {
  const std::vector<bool> read = read_as_finite(graph);
  std::set<std::string> names;
  for (size_t n = 0; n < graph.nodes.size(); ++n)
    if (const Node& node = graph.nodes[n]; read[n] && (node.op == Op::input || node.op == Op::variable))
      names.insert(node.attrs.text("name"));
  return names;
}

}  // namespace

Graph random_graph(uint32_t seed, const RandomGraphOptions& options) { return RandomGraphBuilder(seed, options).run(); }

Bindings special_bindings(const Graph& graph, uint32_t seed) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<double> floats = {std::numeric_limits<double>::quiet_NaN(), kInf, -kInf, -0.0, 0x1p-140, -0x1p-130};
  const std::vector<double> whole = {2147483647.0, 2147483648.0, 4294967295.0, 255, 128, 31, 32, 33, 0};
  RandomNumbers random(seed + 77777);
  Bindings bindings = random_bindings(graph, seed);
  const std::set<std::string> finite = names_read_as_finite(graph);
  for (auto& [name, array] : bindings) {
    const bool is_whole = !is_float(array.type.dtype);
    if (array.type.rank() == 0 || finite.contains(name) || (is_whole ? name[0] != 'k' : !random.chance(0.33))) continue;
    for (int64_t left = random.integer(1, is_whole ? array.type.elements() : 2); left > 0; --left) {
      const auto at = static_cast<size_t>(random.integer(0, array.type.elements() - 1));
      array.data[at] = round_to(array.type.dtype, random.pick(is_whole ? whole : floats));
    }
  }
  return bindings;
}

}  // namespace kb::test
