// summary: times the convolutions of ResNet-50 in every layout and makes the table of layouts anew
//
// Times the convolutions of ResNet-50 with the library's implementation for this machine in every layout of
// compiler/passes/layout_table.cpp, adds the times up over a training step, and prints the rows for the table.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "compiler/passes/layout_table.h"
#include "recipes/config/command_line.h"
#include "recipes/inspect/conv_times.h"
#include "recipes/inspect/layout_rows.h"
#include "recipes/run/tool.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"

namespace kb {
namespace {

struct Options {
  int64_t minibatch = 16;
  int threads = 0, repeats = 5;
  bool quick = false;
  std::string write;
};

std::vector<ConvLayer> layers_of(const Options& options, DType dtype) {
  std::vector<ConvLayer> layers = resnet50_convolutions(options.minibatch, dtype);
  if (!options.quick) return layers;
  std::vector<ConvLayer> few;
  for (size_t i = 1; i < layers.size(); i += 6) few.push_back(layers[i]);
  return few;
}

// Returns the milliseconds of all convolutions of one kind in each layout.
LayoutTimes measure(ConvTimer& timer, const std::vector<ConvLayer>& layers, ConvKind kind) {
  LayoutTimes times;
  for (const ConvLayer& layer : layers) {
    if (!trains(layer, kind)) continue;
    for (const int64_t block : kLayoutBlocks)
      times[block] += layer.count * timer.time(in_layout(layer.spec, kind, block));
  }
  return times;
}

void print_times(const std::string& dtype, const char* what, const LayoutTimes& times) {
  fmt::print("{:6} {:12}", dtype, what);
  for (const int64_t block : kLayoutBlocks) fmt::print(" {:11.2f}", times.at(block));
  fmt::print("\n");
}

// Measures and prints the milliseconds of a training step's convolutions in each layout.
LayoutTimes measure_step(ConvTimer& timer, const Options& options, DType dtype) {
  const std::vector<ConvLayer> layers = layers_of(options, dtype);
  const std::string text(name(dtype));
  LayoutTimes step;
  for (const ConvKind kind : kConvKinds) {
    const LayoutTimes times = measure(timer, layers, kind);
    print_times(text, name(kind), times);
    for (const int64_t block : kLayoutBlocks) step[block] += times.at(block);
  }
  print_times(text, "step", step);
  return step;
}

void print_rows(const std::string& isa, const std::vector<LayoutChoice>& choices) {
  fmt::print("\nrows of compiler/passes/layout_table.cpp for {}:\n", isa);
  bool differ = false;
  for (const LayoutChoice& choice : choices) {
    fmt::print("    {}\n", layout_row(isa, choice));
    differ = differ || choice.block != table_block(isa, choice.dtype);
  }
  fmt::print("{}\n", differ ? "They differ from the committed ones." : "They are the committed ones.");
}

int tune(const Options& options) {
  const int threads = options.threads > 0 ? options.threads : Pool().threads();
  ConvTimer timer(threads, threads, options.repeats);
  const std::string isa = timer.context().instruction_set();
  // Fails before the minutes of measuring if the file cannot be rewritten.
  if (!options.write.empty()) with_layout_rows(read_file(options.write), isa, {});
  fmt::print("{} with {}, {} threads, minibatch {}{}; milliseconds\n\n{:6} {:12} {:>11} {:>11} {:>11}\n",
             timer.library(), isa, timer.threads(), options.minibatch, options.quick ? ", few layers" : "", "", "",
             "NHWC", "blocks of 8", "of 16");
  std::vector<LayoutChoice> choices;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    if (!timer.native(dtype)) continue;
    const LayoutTimes step = measure_step(timer, options, dtype);
    choices.push_back({dtype, choose_block(step, table_block(isa, dtype))});
  }
  print_rows(isa, choices);
  if (options.write.empty()) return 0;
  write_file_atomically(options.write, with_layout_rows(read_file(options.write), isa, choices));
  fmt::print("written to {}\n", options.write);
  return 0;
}

}  // namespace

int tune_command(const ToolArguments& arguments) {
  Options options;
  CommandLine line(
      "Measures which layout convolutions should take with the instruction set that the library uses here.",
      "./run tune [--quick] [--write FILE]");
  line.whole({"--minibatch", "N", "samples"}, options.minibatch, 1)
      .whole({"--repeats", "N", "runs of each call, of which the fastest counts"}, options.repeats, 1)
      .whole({"--threads", "N", "threads; 0: one a processor"}, options.threads, 0, 4096)
      .flag("--quick", options.quick, "few layers: a look, no ground for the table")
      .text({"--write", "FILE", "rewrite the rows in this copy of compiler/passes/layout_table.cpp"}, options.write)
      .excludes("--quick");
  if (!line.parse(arguments.words)) return 0;
  return tune(options);
}

}  // namespace kb
