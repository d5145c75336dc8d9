#include <fmt/format.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "compiler/passes/layout_table.h"
#include "compiler/pipeline/pipeline.h"
#include "graph/error.h"
#include "graph/functions.h"
#include "graph/layers.h"
#include "recipes/inspect/conv_times.h"
#include "recipes/inspect/layout_rows.h"
#include "runtime/process.h"
#include "runtime/processor.h"
#include "tests/support/support.h"

namespace kb::tune_test {

BOOST_AUTO_TEST_SUITE(tune)

namespace {

const std::string kBefore = "before {\"avx2\", DType::f32, 4},\nconstexpr LayoutRow kLayouts[] = {\n";
const std::string kAfter = "};\n\n    {\"avx2\", DType::f32, 4},\n";

std::string table(const std::string& rows) { return kBefore + rows + kAfter; }

}  // namespace

BOOST_AUTO_TEST_CASE(the_fastest_layout_is_chosen_unless_the_committed_one_is_as_fast) {
  BOOST_TEST(choose_block({{0, 100}, {8, 90}, {16, 80}}, 0) == 16);
  BOOST_TEST(choose_block({{0, 70}, {8, 90}, {16, 80}}, 16) == 0);
  BOOST_TEST(choose_block({{0, 101}, {8, 90}, {16, 100}}, 0) == 8);
  BOOST_TEST(choose_block({{0, 101.9}, {8, 100}}, 0) == 0);
  BOOST_TEST(choose_block({{0, 102.1}, {8, 100}}, 0) == 8);
  BOOST_TEST(choose_block({{8, 100}, {16, 110}}, 0) == 8);
  BOOST_CHECK_THROW(choose_block({}, 0), InternalError);
}

BOOST_AUTO_TEST_CASE(a_row_is_named_that_would_be_faster_by_more_than_a_tenth) {
  const auto note = [](const LayoutTimes& times, int64_t committed) {
    return faster_row_note("amx", DType::bf16, times, committed);
  };
  BOOST_TEST(note({{0, 100}, {8, 120}, {16, 109.9}}, 16) == "");
  BOOST_TEST(note({{0, 100}, {8, 300}, {16, 400}}, 0) == "");
  BOOST_TEST(note({{0, 611}, {8, 1900}, {16, 1846}}, 16) ==
             "NOTE: these convolutions take 611.0 ms in NHWC and 1846.0 ms in blocks of 16, which the table has for "
             "amx: on this machine the row {\"amx\", DType::bf16, 0}, would be faster by 202 %; ./run tune measures "
             "whether for ResNet-50 too");
  BOOST_TEST(test::contains(note({{0, 111}, {8, 130}, {16, 100}}, 0),
                            "the row {\"amx\", DType::bf16, 16}, would be faster by 11 %"));
  BOOST_CHECK_THROW(note({}, 0), InternalError);
}

// Two of the four convolutions with 8 channels are equal; the others differ from them in padding or dilation alone.
BOOST_AUTO_TEST_CASE(convolutions_that_differ_in_padding_are_different) {
  Graph graph("net", Mode::inference);
  const Tensor x = input(graph, "x", DType::f32, {2, 8, 12, 12});
  const auto layer = [&](const char* name, int64_t padding, int64_t dilation) {
    const Tensor y = conv2d(name, x, 8, {.kernel = 3, .padding = padding, .dilation = dilation, .bias = false});
    graph.outputs.push_back({name, y.value()});
  };
  layer("a", 1, 1), layer("b", 1, 1), layer("c", 0, 1), layer("d", 1, 2);
  const Program program = compile(std::move(graph), {}).program;
  std::vector<int> counts;
  for (const auto& [spec, count] : convolutions_of(program.at(PartRole::final))) counts.push_back(count);
  std::ranges::sort(counts);
  BOOST_TEST(counts == (std::vector{1, 1, 2}));
}

BOOST_AUTO_TEST_CASE(rows_are_source_lines) {
  BOOST_TEST(layout_row("avx512", {DType::bf16, 16}) == "{\"avx512\", DType::bf16, 16},");
  BOOST_TEST(layout_row("portable", {DType::f32, 0}) == "{\"portable\", DType::f32, 0},");
}

BOOST_AUTO_TEST_CASE(only_measured_rows_of_the_isa_change) {
  const std::string old = table(
      "    {\"avx512\", DType::f32, 16},\n    {\"avx2\", DType::f32, 8},  // why\n    {\"avx2\", DType::bf16, 8},\n");
  BOOST_TEST(
      with_layout_rows(old, "avx2", {{DType::f32, 0}}) ==
      table("    {\"avx512\", DType::f32, 16},\n    {\"avx2\", DType::f32, 0},\n    {\"avx2\", DType::bf16, 8},\n"));
}

BOOST_AUTO_TEST_CASE(missing_rows_follow_those_of_the_isa_or_all) {
  const std::string old = table("    {\"avx512\", DType::f32, 16},\n    {\"avx2\", DType::f32, 8},\n");
  BOOST_TEST(
      with_layout_rows(old, "avx512", {{DType::f32, 8}, {DType::bf16, 16}}) ==
      table("    {\"avx512\", DType::f32, 8},\n    {\"avx512\", DType::bf16, 16},\n    {\"avx2\", DType::f32, 8},\n"));
  BOOST_TEST(
      with_layout_rows(old, "portable", {{DType::f32, 0}}) ==
      table("    {\"avx512\", DType::f32, 16},\n    {\"avx2\", DType::f32, 8},\n    {\"portable\", DType::f32, 0},\n"));
  BOOST_TEST(with_layout_rows(table(""), "avx2", {{DType::f32, 8}}) == table("    {\"avx2\", DType::f32, 8},\n"));
}

BOOST_AUTO_TEST_CASE(a_source_without_the_table_is_refused) {
  BOOST_CHECK_THROW(with_layout_rows("int main() {}\n", "avx2", {{DType::f32, 8}}), Error);
  BOOST_CHECK_THROW(with_layout_rows(kBefore, "avx2", {{DType::f32, 8}}), Error);
}

BOOST_AUTO_TEST_CASE(the_committed_table_with_its_own_rows_is_itself) {
  const std::string source = test::read_file(test::source_dir() / "compiler/passes/layout_table.cpp");
  for (const char* isa : {"amx", "avx512_bf16", "avx512", "avx2"}) {
    std::vector<LayoutChoice> choices;
    for (DType dtype : {DType::f32, DType::bf16}) choices.push_back({dtype, table_block(isa, dtype)});
    BOOST_TEST(with_layout_rows(source, isa, choices) == source);
    for (LayoutChoice& choice : choices) choice.block += 4;
    BOOST_TEST(with_layout_rows(source, isa, choices) != source);
  }
}

// A row of the table is for the instruction set that oneDNN uses, which its variable ONEDNN_MAX_CPU_ISA can set below
// the processor's. Kernels of our own are not wider.
BOOST_AUTO_TEST_CASE(the_library_is_asked_for_its_instruction_set) {
  const LibraryContext library;
  if (library.engine() == nullptr) {
    BOOST_TEST(library.instruction_set() == instruction_set());
    return;
  }
  const std::vector<std::string> sets = {"portable", "avx2", "avx512", "avx512_bf16", "amx"};
  const auto rank = [&](const std::string& set) { return std::find(sets.begin(), sets.end(), set) - sets.begin(); };
  const std::pair<const char*, const char*> limits[] = {
      {"AVX2", "avx2"}, {"AVX512_CORE", "avx512"}, {"AVX512_CORE_BF16", "avx512_bf16"}, {"AVX512_CORE_AMX", "amx"}};
  for (const auto& [limit, set] : limits) {
    const ProcessResult bench = Process({"/usr/bin/env", fmt::format("ONEDNN_MAX_CPU_ISA={}", limit), KB_BIN "/bench",
                                         "mlp_mnist", "--device", "cpu", "--minibatch", "8", "--steps", "1", "--json"})
                                    .wait();
    BOOST_REQUIRE_MESSAGE(bench.status == 0, bench.output);
    const auto line = nlohmann::json::parse(bench.output);
    const auto least = std::min(rank(library.instruction_set()), rank(set));
    BOOST_TEST(line.at("library") == library.name() + " with " + sets.at(static_cast<size_t>(least)));
    const auto ours = std::min({rank(instruction_set()), rank(set), rank("avx512")});
    BOOST_TEST(line.at("isa") == sets.at(static_cast<size_t>(ours)));
    BOOST_TEST(line.at("library_bf16") == (least >= rank("avx512_bf16") ? "bf16" : "f32"));
  }
}

BOOST_AUTO_TEST_CASE(bench_times_an_evaluation_which_keeps_no_activations) {
  const auto peak_bytes = [](std::vector<std::string> more) {
    more.insert(more.begin(),
                {KB_BIN "/bench", "mlp_mnist", "--device", "cpu", "--minibatch", "64", "--steps", "1", "--json"});
    const ProcessResult bench = Process(more).wait();
    BOOST_REQUIRE_MESSAGE(bench.status == 0, bench.output);
    return nlohmann::json::parse(bench.output).at("peak_bytes").get<int64_t>();
  };
  BOOST_TEST(2 * peak_bytes({"--evaluate"}) < peak_bytes({}));
}

// oneDNN has its kernels for AMX in NHWC alone.
BOOST_AUTO_TEST_CASE(amx_takes_bf16_in_nhwc) {
  BOOST_TEST(table_block("amx", DType::bf16) == 0);
  BOOST_TEST(table_block("avx512_bf16", DType::bf16) == 16);
}

BOOST_AUTO_TEST_CASE(the_net_has_53_convolutions_planned_as_the_compiler_would) {
  int count = 0;
  const std::vector<ConvLayer> layers = resnet50_convolutions(2, DType::f32);
  BOOST_TEST(layers.size() == 1u + 4 + 3 * 6);  // different ones: the first, those of 56 x 56, of each further stage
  for (const ConvLayer& layer : layers) {
    count += layer.count;
    for (int64_t block : {0, 8, 16}) {
      const ConvSpec spec = in_layout(layer.spec, ConvKind::forward, block);
      BOOST_TEST(spec.block_in == (spec.c == 3 ? 1 : block == 0 ? spec.c : block));
      BOOST_TEST(spec.block_out == (block == 0 ? spec.o : block));
    }
  }
  BOOST_TEST(count == 53);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::tune_test
