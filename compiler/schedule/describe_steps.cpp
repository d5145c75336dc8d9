#include "compiler/schedule/describe_steps.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/passes/parameter_space.h"
#include "compiler/schedule/step_phases.h"
#include "graph/enum_table.h"

namespace kb {
namespace {

constexpr size_t kMostTerms = 4;  // words shown of a step; further ones are only counted

struct FunctionWords {
  std::string_view function, words;
};
// Functions of the DSL whose names are not the usual words of the field. Any other name is shown with spaces for its
// underscores.
constexpr FunctionWords kFunctionWords[] = {
    {"conv1d", "conv"},
    {"conv2d", "conv"},
    {"avg_pool2d", "average pool"},
    {"avg_pool1d", "average pool"},
    {"max_pool2d", "max pool"},
    {"max_pool1d", "max pool"},
    {"cross_entropy", "cross-entropy"},
    {"global_avg_pool", "global average pool"},
    {"argmax_equals", "argmax"},
    {"operator+", "add"},
    {"operator-", "subtract"},
    {"operator*", "multiply"},
    {"operator/", "divide"},
    {"sub", "subtract"},
    {"mul", "multiply"},
    {"div", "divide"},
    {"neg", "subtract"},
    {"reduce_sum", "sum"},
    {"prod", "product"},
};
// Words that are left out where a step has more telling ones.
constexpr std::string_view kArithmetic[] = {"subtract", "multiply", "divide",    "select",      "broadcast axes",
                                            "cast",     "constant", "full like", "pointwise",   "sum",
                                            "mean",     "reshape",  "input",     "index input", "scalar input"};

std::string words_of(std::string_view function) {
  for (const FunctionWords& row : kFunctionWords)
    if (row.function == function) return std::string(row.words);
  std::string words(function.starts_with("operator") ? "compare" : function);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

bool is_arithmetic(const std::string& words) {
  return std::find(std::begin(kArithmetic), std::end(kArithmetic), words) != std::end(kArithmetic);
}

bool is_layer_with_weights(std::string_view function) {
  constexpr std::string_view kLayers[] = {"conv1d",     "conv2d",     "linear",   "batch_norm",
                                          "layer_norm", "group_norm", "rms_norm", "embedding"};
  return std::find(std::begin(kLayers), std::end(kLayers), function) != std::end(kLayers);
}

bool is_linear_map(std::string_view function) {
  return function == "conv1d" || function == "conv2d" || function == "linear";
}

// Returns "3x3": height and width of the filters [O, I, H, W] of a convolution, [O, H, W, I] where channels lie last.
std::string filter_extents(const Node& convolution, const Type& filters) {
  const size_t height = convolution.attrs.integer("weights_last", 0) != 0 ? 1 : 2;
  return fmt::format("{}x{}", filters.shape.at(height), filters.shape.at(height + 1));
}

std::string window_extents(const Node& node) { return fmt::format("{}", fmt::join(node.attrs.ints("kernel"), "x")); }

// The words of a step, in order and each once, and the longest scope of the nodes that they describe.
struct Terms {
  std::vector<std::string> words;
  std::string scope;
  std::string_view last_function;

  void add(const std::string& word, const std::string& in, std::string_view function) {
    if (in.size() > scope.size() && !is_arithmetic(word)) scope = in;
    last_function = function;
    if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  }

  std::string text() const {
    std::vector<std::string> telling;
    for (const std::string& word : words)
      if (!is_arithmetic(word)) telling.push_back(word);
    const bool says_little = telling.empty() || (telling.size() == 1 && telling[0] == "add");
    const std::vector<std::string>& shown = says_little ? words : telling;
    const auto count = static_cast<std::ptrdiff_t>(std::min(shown.size(), kMostTerms));
    std::string text = fmt::format("{}", fmt::join(shown.begin(), shown.begin() + count, " + "));
    return shown.size() > kMostTerms ? fmt::format("{} + {} more", text, shown.size() - kMostTerms) : text;
  }
};

class Describer {
 public:
  explicit Describer(const Schedule& schedule)
      : schedule_(schedule), graph_(*schedule.graph), phases_(node_phases(graph_, schedule.role)) {}

  std::vector<StepDescription> run() {
    std::vector<StepDescription> result;
    for (const Step& step : schedule_.steps) {
      StepDescription one = describe(step);
      one.phase = phase(step, result);
      result.push_back(std::move(one));
      for (const int32_t n : step.nodes) computed_.insert(same(n));
    }
    return result;
  }

 private:
  const Node& node(int32_t n) const { return graph_.node(n); }
  int32_t same(int32_t n) const { return phases_.same_as[static_cast<size_t>(n)]; }
  NodePhases::Part part(int32_t n) const { return phases_.part[static_cast<size_t>(n)]; }
  bool is_gradient(int32_t n) const { return part(n) == NodePhases::backward && !phases_.again(n); }
  const std::string& scope(int32_t n) const { return graph_.scopes[static_cast<size_t>(node(n).scope)]; }

  // Returns the nodes of a step that none of its other nodes reads.
  std::vector<int32_t> results_of(const Step& step) const {
    std::set<int32_t> read;
    for (const int32_t n : step.nodes)
      for (const Value input : node(n).inputs) read.insert(input.node);
    std::vector<int32_t> results;
    for (const int32_t n : step.nodes)
      if (!read.contains(n)) results.push_back(n);
    return results;
  }

  bool has_part(const std::vector<int32_t>& nodes, NodePhases::Part wanted) const {
    return std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) { return part(n) == wanted; });
  }

  Phase phase(const Step& step, const std::vector<StepDescription>& before) const {
    if (schedule_.role == PartRole::prepare) return Phase::prepare;
    if (schedule_.role == PartRole::carry || step.cls == FusionClass::wait) return Phase::update;
    if (step.cls == FusionClass::exchange) return before.empty() ? Phase::forward : before.back().phase;
    const std::vector<int32_t> results = results_of(step);
    if (has_part(results, NodePhases::update)) return Phase::update;
    if (results.empty() || has_part(results, NodePhases::forward)) return Phase::forward;
    return Phase::backward;
  }

  StepDescription describe(const Step& step) const {
    if (step.cls == FusionClass::exchange) return {fmt::format("start all-reduce {}", step.reduction()), "", {}};
    if (step.cls == FusionClass::wait) return {fmt::format("wait for all-reduce {}", step.reduction()), "", {}};
    if (step.cls == FusionClass::carry) return {"add partial sums", "", {}};
    if (step.nodes.empty()) return {step.name, "", {}};
    if (step.cls == FusionClass::copy) return {copy_text(step), "", {}};
    StepDescription one = describe(step, telling_nodes(step));
    return one.what.empty() ? StepDescription{step.name, "", {}} : one;
  }

  std::string copy_text(const Step& step) const {
    const Node& made = node(step.nodes.back());
    if (made.op != Op::concat || !step.name.starts_with("concat")) return step.name;
    const std::vector<Copies::Part>& parts = step.copies()->parts;
    const bool clears = std::all_of(parts.begin(), parts.end(), [](const auto& part) { return part.from < 0; });
    if (clears) return "clear padding";
    return phases_.gradient_of_parameters[static_cast<size_t>(step.nodes.back())] ? "collect gradients" : "concat";
  }

  // Returns the nodes that describe a step: those that compute a value which no earlier step has computed; if there are
  // none, all that compute; if there are none of these either, those that only move or cast values.
  std::vector<int32_t> telling_nodes(const Step& step) const {
    std::vector<int32_t> fresh, computing, moving;
    for (const int32_t n : step.nodes) {
      const OpClass cls = info(node(n).op).cls;
      if (cls == OpClass::leaf || cls == OpClass::marker) continue;
      const bool moves = (cls == OpClass::movement && node(n).op != Op::concat) || node(n).op == Op::cast;
      (moves ? moving : computing).push_back(n);
      if (!moves && !computed_.contains(same(n))) fresh.push_back(n);
    }
    return !fresh.empty() ? fresh : !computing.empty() ? computing : moving;
  }

  StepDescription describe(const Step& step, const std::vector<int32_t>& nodes) const {
    const bool moves = std::all_of(nodes.begin(), nodes.end(), [&](int32_t n) {
      return info(node(n).op).cls == OpClass::movement || node(n).op == Op::cast || node(n).op == Op::pack_weights;
    });
    if (nodes.empty()) return {};
    if (moves) return movement(nodes);
    if (has_part(nodes, NodePhases::update)) return {update_text(step, nodes), "", {}};
    const Terms forward = terms(nodes, [&](int32_t n) { return !is_gradient(n); });
    const Terms backward = terms(nodes, [&](int32_t n) { return is_gradient(n); });
    if (forward.words.empty()) return {gradient_text(step, nodes, backward), backward.scope, {}};
    if (!has_part(nodes, NodePhases::forward) && !backward.words.empty())
      return {gradient_text(step, nodes, backward), backward.scope, {}};
    return {
        forward_text(step, nodes, forward) + (backward.words.empty() ? "" : " and its gradient"), forward.scope, {}};
  }

  bool writes_statistics(const std::vector<int32_t>& nodes) const {
    return std::any_of(graph_.writes.begin(), graph_.writes.end(), [&](const StateWrite& write) {
      const Variable* variable = graph_.find_variable(write.variable);
      int32_t n = write.value.node;
      while (node(n).op == Op::reshape && std::find(nodes.begin(), nodes.end(), n) == nodes.end())
        n = node(n).inputs[0].node;
      return variable && variable->kind == VariableKind::state &&
             std::find(nodes.begin(), nodes.end(), n) != nodes.end();
    });
  }

  StepDescription movement(const std::vector<int32_t>& nodes) const {
    const int32_t n = nodes.back();
    const bool is_prepare = schedule_.role == PartRole::prepare;
    if (writes_statistics(nodes)) return {"write running statistics", "", {}};
    if (const std::string names = outputs_of(nodes); !names.empty()) return {"write " + names, "", {}};
    const Node& last = node(n);
    std::string what(words_of(name(last.op)));
    if (last.op == Op::cast) what = fmt::format("cast to {}", name(last.type().dtype));
    if (last.op == Op::pack_weights)
      what += last.attrs.has("usage") && last.attrs.text("usage") == "input_grad" ? ", backward" : "";
    else if (is_prepare)
      what = last.op == Op::cast ? what + ", weights" : what + " weights";
    return {what, scope(n), {}};
  }

  template <class Wanted>
  Terms terms(const std::vector<int32_t>& nodes, Wanted&& wanted) const {
    Terms terms;
    for (const int32_t n : nodes)
      if (wanted(n)) terms.add(word(n), scope(n), graph_.called(node(n)));
    return terms;
  }

  std::string word(int32_t n) const {
    const Node& one = node(n);
    const std::string_view function = graph_.called(one);
    switch (one.op) {
      case Op::conv2d:
      case Op::conv2d_input_grad:
        return "conv " + filter_extents(one, graph_.type(one.inputs[1]));
      case Op::conv2d_weight_grad:
        return "conv " + window_extents(one);
      case Op::matmul:
        return function == "linear" ? "linear" : "matmul";
      case Op::max_pool:
      case Op::max_pool_grad:
      case Op::sum_pool:
      case Op::sum_pool_grad:
        return fmt::format("{} {}", function.empty() ? words_of(name(one.op)) : words_of(function),
                           window_extents(one));
      default:
        if (is_linear_map(function)) return is_gradient(n) && one.op != Op::reduce_sum ? "sum" : "bias";
        const bool is_unnamed = function.empty() || function == "pointwise" || function == "operator";
        return words_of(is_unnamed ? name(one.op) : function);
    }
  }

  std::string forward_text(const Step& step, const std::vector<int32_t>& nodes, const Terms& terms) const {
    std::string text = terms.text();
    if (const std::string names = outputs_of(nodes); !names.empty() && step.cls == FusionClass::full_reduce)
      return "sum of " + names;
    const bool again = std::all_of(nodes.begin(), nodes.end(), [&](int32_t n) { return computed_.contains(same(n)); });
    const bool statistics =
        step.cls != FusionClass::pointwise && std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) {
          return node(n).op == Op::moments && graph_.called(node(n)) == "batch_norm";
        });
    return text + (statistics ? " statistics" : "") + (again ? " again" : "");
  }

  // Returns "gradient of relu + batch norm, weights". The bias of a linear map has a word of its own, "bias", and needs
  // no ", weights".
  std::string gradient_text(const Step& step, const std::vector<int32_t>& nodes, const Terms& terms) const {
    const std::string text = "gradient of " + terms.text();
    const Op op = node(step.nodes.front()).op;
    if (step.cls != FusionClass::library && is_linear_map(terms.last_function)) return text;
    if (!is_layer_with_weights(terms.last_function)) return text;
    const bool weights = op == Op::conv2d_weight_grad || std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) {
                           return phases_.gradient_of_parameters[static_cast<size_t>(n)] != 0;
                         });
    return text + (weights ? ", weights" : ", input");
  }

  // Returns "loss, error", the names of the outputs that are values of these nodes or sums of such values over workers.
  std::string outputs_of(const std::vector<int32_t>& nodes) const {
    std::vector<std::string> names;
    for (const Output& output : graph_.outputs) {
      int32_t n = output.value.node;
      while (info(node(n).op).cls == OpClass::marker || node(n).op == Op::reshape) n = node(n).inputs[0].node;
      if (std::find(nodes.begin(), nodes.end(), n) != nodes.end()) names.push_back(output.name);
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  // The update itself writes vectors of all parameters. Sums before it are norms of layers, or the check of the
  // gradient for infinities.
  std::string update_text(const Step& step, const std::vector<int32_t>& nodes) const {
    const Variable* parameters = flat_parameters(graph_);
    const auto makes = [&](Op op) {
      return std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) { return node(n).op == op; });
    };
    const bool whole = parameters && std::any_of(nodes.begin(), nodes.end(), [&](int32_t n) {
                         return node(n).type().elements() == parameters->type.elements();
                       });
    if (step.cls == FusionClass::full_reduce && makes(Op::eq)) return "check for overflow of the gradient";
    if (makes(Op::reduce_sum)) return "norms of layers, for the update";
    return whole ? "update parameters" : "rates of the update";
  }

  const Schedule& schedule_;
  const Graph& graph_;
  NodePhases phases_;
  std::set<int32_t> computed_;  // nodes that earlier steps have computed
};

// Cuts a text to `letters` bytes, with "..." for the rest. The words after the last comma, as in ", weights", stay if
// they take less than half of these bytes. No character of UTF-8 is cut in two.
std::string first_letters(const std::string& text, size_t letters) {
  constexpr std::string_view kDots = "...";
  if (text.size() <= letters) return text;
  const size_t comma = text.rfind(", ");
  const std::string rest = comma != std::string::npos && 2 * (text.size() - comma) < letters ? text.substr(comma) : "";
  size_t end = letters > rest.size() + kDots.size() ? letters - rest.size() - kDots.size() : 0;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + std::string(kDots) + rest;
}

}  // namespace

std::string_view name(Phase phase) {
  constexpr EnumNames<Phase> kNames({"prepare", "forward", "backward", "update"});
  return kNames[phase];
}

std::string StepDescription::text(size_t columns) const {
  const std::string whole = text();
  if (whole.size() <= columns || scope.empty()) return first_letters(whole, columns);
  constexpr size_t kGap = 2, kLeast = 12;  // kLeast: letters of `what` that stay
  std::string last = scope;
  while (last.size() + kGap + what.size() > columns && last.find('.') != std::string::npos)
    last.erase(0, last.find('.') + 1);
  if (last.size() + kGap + kLeast > columns) return first_letters(whole, columns);
  return first_letters(what, columns - kGap - last.size()) + "  " + last;
}

std::vector<StepDescription> describe_steps(const Schedule& schedule) { return Describer(schedule).run(); }

}  // namespace kb
