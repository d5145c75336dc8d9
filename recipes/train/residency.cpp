#include "recipes/train/residency.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/passes/rewrite.h"
#include "recipes/perf/memory_answer.h"

namespace kb {
namespace {

constexpr const char* kSamples = "samples";

std::string table_name(const std::string& input) { return "data." + input; }

bool is_one_of(const Node& node, const std::vector<std::string>& fields) {
  return node.op == Op::input && std::find(fields.begin(), fields.end(), node.attrs.text("name")) != fields.end();
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

// Returns the rows of the evaluation's table, which holds the validation or the test part, never both at once.
int64_t evaluated_rows(const Task& task) {
  return std::max(task.test_count, task.valid ? task.valid->count() : task.valid_count);
}

[[noreturn]] void refuse(const std::string& why) {
  throw UsageError(fmt::format("arithmetic.resident = on: {}; auto or off sends the samples step by step", why));
}

}  // namespace

int64_t resident_bytes(const Task& task) {
  int64_t sample = 0;
  for (const Field& field : task.fields)
    if (field.in_memory) sample += field.sample_bytes();
  return (task.train_count + evaluated_rows(task)) * sample;
}

Residency choose_residency(ResidentChoice choice, const Task& task, const Target& target, int64_t device_bytes) {
  const Residency all{task.train_count, evaluated_rows(task)};
  const bool possible = task.sent_because.empty() && !task.fields_in_memory().empty();
  if (choice == ResidentChoice::automatic)
    return possible && target.processor == Processor::gpu && resident_bytes(task) <= kResidentBytes ? all : Residency{};
  if (choice == ResidentChoice::off) return {};
  if (!possible) refuse(task.sent_because.empty() ? "the data set lies in no memory" : task.sent_because);
  if (resident_bytes(task) > device_bytes)
    refuse(fmt::format("the samples of {} take {}, the device has {}", task.data, bytes_text(resident_bytes(task)),
                       bytes_text(device_bytes)));
  return all;
}

Graph with_tables(const Graph& graph, const std::vector<std::string>& fields, int64_t rows) {
  Rewriter rewriter(graph);
  Graph& result = rewriter.to();
  for (int32_t n = 0; n < graph.size(); ++n) {
    const Node& node = graph.node(n);
    if (!is_one_of(node, fields)) {
      rewriter.copy(n);
      continue;
    }
    const Value samples = add_samples(result, graph, node, rows);
    const Value table = result.add_variable(table_of(node, rows));
    rewriter.replace({n, 0}, result.add_like(graph, node, Op::gather, {table, samples}));
  }
  return rewriter.finish();
}

void fill_tables(Session& session, const std::vector<Field>& fields, const Source& source, const char* part) {
  for (size_t f = 0; f < fields.size(); ++f) {
    const std::string table = table_name(fields[f].name);
    if (!session.has_table(table)) continue;
    const std::span<const std::byte> values = source.table(f);
    if (static_cast<int64_t>(values.size()) != source.count() * fields[f].sample_bytes())
      throw Error(fmt::format("field '{}': expected {} samples of {} bytes in the source's memory, got {} bytes",
                              fields[f].name, source.count(), fields[f].sample_bytes(), values.size()));
    check_indices(fields[f], values, source.count(), {}, {part, &source});
    session.fill_table(table, values.data(), static_cast<int64_t>(values.size()));
  }
}

}  // namespace kb
