#include "recipes/train/residency.h"

#include <fmt/format.h>

#include "compiler/rewrite.h"
#include "recipes/config/augmentation.h"
#include "recipes/perf/memory_answer.h"

namespace kb {
namespace {

constexpr const char* kSamples = "samples";

std::string table_name(const std::string& input) { return "data." + input; }

bool is_of_data(const Node& node) {
  if (node.op != Op::input) return false;
  const std::string& name = node.attrs.text("name");
  return name == "images" || name == "labels";
}

Variable table_of(const Node& input, int64_t rows) {
  Variable table;
  table.name = table_name(input.attrs.text("name"));
  table.type = input.type();
  table.type.shape.at(0) = rows;
  table.kind = VariableKind::table;
  return table;
}

Value add_samples(Graph& graph, const Graph& like, const Node& input, int64_t rows) {
  if (const Value known = graph.find_input(kSamples); known.valid()) return known;
  Attrs attrs = input.attrs;
  attrs.set("name", std::string(kSamples));
  attrs.set("dtype", DType::i32);
  attrs.set("shape", Dims{input.type().shape.at(0)});
  attrs.set("names", std::string("N"));
  attrs.set("below", rows);
  return graph.add_like(like, input, Op::input, {}, std::move(attrs));
}

bool loader_moves_pixels(const RunConfig& config) {
  const AugmentSpec spec = augment_spec(config);
  return config.augment_in == AugmentPlace::loader && (spec.moves() || spec.cutout > 0);
}

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError(fmt::format("--resident on: {}; --resident auto or off sends the images step by step", why));
}

}  // namespace

int64_t resident_bytes(const InputSpec& input) {
  const auto sample = input.shape.size() + static_cast<int64_t>(sizeof(int32_t));
  return (input.train_count + input.test_count) * sample;
}

Residency choose_residency(const RunConfig& config, const InputSpec& input, const Target& target,
                           int64_t device_bytes) {
  const Residency all{input.train_count, input.test_count};
  const bool possible = !input.noise && !loader_moves_pixels(config);
  if (config.resident == ResidentChoice::automatic)
    return possible && target.processor == Processor::gpu && resident_bytes(input) <= kResidentBytes ? all
                                                                                                     : Residency{};
  if (config.resident == ResidentChoice::off) return {};
  if (input.noise) refuse("--data synthetic is one minibatch of noise and no data set");
  if (!possible) refuse("with --augment-in loader the host moves the pixels");
  if (resident_bytes(input) > device_bytes)
    refuse(fmt::format("the images of {} take {}, the device has {}", input.dataset, bytes_text(resident_bytes(input)),
                       bytes_text(device_bytes)));
  return all;
}

Graph with_tables(const Graph& graph, int64_t rows) {
  Graph result(graph.name, graph.mode);
  Rewriter rewriter(graph, result);
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes.size()); ++n) {
    const Node& node = graph.nodes[static_cast<size_t>(n)];
    if (!is_of_data(node)) {
      rewriter.copy(n);
      continue;
    }
    const Value samples = add_samples(result, graph, node, rows);
    const Value table = result.add_variable(table_of(node, rows));
    rewriter.replace({n, 0}, result.add_like(graph, node, Op::gather, {table, samples}));
  }
  rewriter.finish();
  return result;
}

void fill_tables(Session& session, const Split& split) {
  const auto fill = [&](const char* input, const auto& values) {
    const std::string table = table_name(input);
    if (session.has_table(table))
      session.fill_table(table, values.data(), static_cast<int64_t>(values.size() * sizeof(*values.data())));
  };
  fill("images", split.pixels);
  fill("labels", split.labels);
}

}  // namespace kb
