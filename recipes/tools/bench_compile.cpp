// summary: compile time of a net and of one ten times as deep, pass by pass: it must grow near-linearly
#include <fmt/format.h>

#include <map>

#include "compiler/pipeline/pipeline.h"
#include "graph/layers.h"
#include "optim/update_rules.h"
#include "recipes/config/command_line.h"
#include "recipes/run/tool.h"
#include "runtime/backend.h"

namespace kb {
namespace {

Tensor block(const std::string& name, Tensor x) {
  Scope scope(name);
  Tensor y = relu(batch_norm("bn1", conv2d("conv1", x, 16, {.kernel = 1})));
  y = relu(batch_norm("bn2", conv2d("conv2", y, 16, {.kernel = 3, .padding = 1})));
  return relu(x + batch_norm("bn3", conv2d("conv3", y, 64, {.kernel = 1})));
}

Graph residual_net(int64_t depth) {
  Graph g("final");
  Tensor images = input(g, "images", DType::f32, {4, 64, 8, 8}, "NCHW");
  Tensor labels = input(g, "labels", DType::i32, {4}, "N"), weights = input(g, "weights", DType::f32, {4}, "N");
  Tensor x = images;
  for (int64_t i = 0; i < depth; ++i) x = block(fmt::format("blocks.{}", i), x);
  Tensor loss = cross_entropy(linear("fc", global_avg_pool(x), 10), labels);
  g.outputs.push_back({"loss", sum(loss * weights).value(), Merge::sum});
  return g;
}

// Returns the least milliseconds of several compilations by name of the pass, and of all passes as "total". Sets
// `nodes` to the number of nodes of the compiled graph.
std::map<std::string, double> compile_times(int64_t depth, int repeats, const Target& target, size_t& nodes) {
  std::map<std::string, double> best;
  for (int i = 0; i < repeats; ++i) {
    CompileOptions options;
    options.target = target;
    options.groups = {{.rule = momentum_update}};
    Graph graph = residual_net(depth);
    Compiled compiled = compile(std::move(graph), options);
    nodes = compiled.program.at(PartRole::final).graph->nodes.size();
    auto keep = [&](const std::string& name, double ms) {
      auto [at, fresh] = best.try_emplace(name, ms);
      if (!fresh) at->second = std::min(at->second, ms);
    };
    for (const PassReport& pass : compiled.passes) keep(pass.name, pass.milliseconds);
    keep("total", compiled.milliseconds);
  }
  return best;
}

}  // namespace

int bench_compile_command(const ToolArguments& arguments) {
  int64_t depth = 14;
  int repeats = 3;
  CommandLine line("Compile time of a residual net and of one ten times as deep, kernels' compilation not counted.",
                   "./run bench_compile [--depth N]");
  line.whole({"--depth", "N", "residual blocks of the small net"}, depth, 1, 10000)
      .whole({"--repeats", "N", "compilations of each; the fastest counts"}, repeats, 1);
  if (!line.parse(arguments.words)) return 0;
  std::unique_ptr<Backend> backend = make_cpu_backend({});
  size_t small_nodes = 0, large_nodes = 0;
  auto small = compile_times(depth, repeats, backend->target(), small_nodes);
  auto large = compile_times(10 * depth, repeats, backend->target(), large_nodes);
  fmt::print("{:<24}{:>12}{:>12}{:>8}\n", "pass", fmt::format("{} nodes", small_nodes),
             fmt::format("{} nodes", large_nodes), "ratio");
  for (const auto& [name, ms] : small)
    fmt::print("{:<24}{:>9.2f} ms{:>9.2f} ms{:>7.1f}x\n", name, ms, large[name], large[name] / ms);
  return 0;
}

}  // namespace kb
