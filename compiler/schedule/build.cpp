// build_schedule ("lower" in the pipeline table): takes ordered groups; leaves steps, distinct kernels, buffers with
// live ranges and a view of every value in memory. It runs after order, because live ranges follow the order of
// launches, and before plan_memory, because here kernels and libraries say how much scratch memory they want.
#include "compiler/schedule/build.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/fuse/materialise.h"
#include "compiler/lower/lower.h"
#include "compiler/schedule/share_kernels.h"
#include "compiler/schedule/value_places.h"
#include "compiler/text_hash.h"
#include "compiler/views.h"
#include "graph/flash_attention.h"

namespace kb {
namespace {

class ScheduleBuilder {
 public:
  ScheduleBuilder(std::shared_ptr<const Graph> graph, const Ordered& ordered, const Target& target)
      : graph_(*graph), ordered_(ordered), target_(target), places_(graph_, ordered, target, schedule_) {
    schedule_.graph = std::move(graph);
    schedule_.name = graph_.name;
  }

  Schedule run() {
    save_variables();
    for (const Group& group : ordered_.groups) add_step(group);
    copy_writes();
    wait_for_all();
    share_kernels(schedule_);
    view_outputs();
    set_live_ranges();
    return std::move(schedule_);
  }

 private:
  // ---- steps ----

  void add_step(const Group& group) {
    if (group.cls == FusionClass::copy) return add_concat_step(group);
    if (group.cls == FusionClass::exchange) bring_in_place(group);
    Step step;
    step.cls = group.cls;
    step.nodes = group.nodes;
    step.name = step_name(group);
    const StepKind kind = traits(group.cls).kind;
    if (kind == StepKind::library)
      add_library(group, step);
    else if (kind == StepKind::exchange)
      add_exchange(group, step);
    else
      add_kernel(group, step);
    for (Value v : group.inputs) step.bytes += bytes_read(group, v);
    for (Value v : group.outputs) step.bytes += graph_.type(v).bytes();
    push(std::move(step));
    if (group.cls == FusionClass::exchange) under_way_.push_back(schedule_.steps.back());
  }

  // Adds the step after waits for the all-reduces under way whose memory it touches.
  void push(Step step) {
    for (size_t i = 0; i < under_way_.size();)
      if (touches(step, under_way_[i]))
        wait_for(i);
      else
        ++i;
    schedule_.steps.push_back(std::move(step));
  }

  void wait_for(size_t i) {
    Step wait = under_way_[i];
    under_way_.erase(under_way_.begin() + static_cast<std::ptrdiff_t>(i));
    wait.cls = FusionClass::wait;
    wait.work = ExchangeWait{wait.reduction()};
    wait.name = "wait for " + wait.name;
    wait.bytes = 0;
    schedule_.steps.push_back(std::move(wait));
  }

  void wait_for_all() {
    while (!under_way_.empty()) wait_for(0);
  }

  void add_operand(Step& step, View view, int64_t bytes) {
    step.operands.push_back(view);
    step.extents.push_back(bytes);
  }

  // An all-reduce works in place, so a source that lies in other memory is copied there first.
  void bring_in_place(const Group& group) {
    const Value source = graph_.node(group.nodes.back()).inputs[0];
    const View to = places_.place(group.outputs.at(0)), from = places_.place(source);
    if (from.buffer != to.buffer || from.offset != to.offset) add_copy("bring " + step_name(group), source, from, to);
  }

  void add_exchange(const Group& group, Step& step) {
    const int32_t reduction = reductions_++;
    step.work = ExchangeStart{reduction};
    step.name += fmt::format(" {}", reduction);
    add_operand(step, places_.place(group.outputs.at(0)), graph_.type(group.outputs[0]).bytes());
    step.inputs = 0;
  }

  // Returns how many bytes of `input` the launch reads: of a value that only gathers and slices read, just what they
  // take.
  int64_t bytes_read(const Group& group, Value input) const {
    const int64_t whole = graph_.type(input).bytes();
    int64_t taken = 0;
    for (const int32_t n : group.nodes) {
      const Node& node = graph_.node(n);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] != input) continue;
        if (node.op != Op::slice && (node.op != Op::gather || i != 0)) return whole;
        taken += node.type().bytes();
      }
    }
    return taken > 0 ? std::min(whole, taken) : whole;
  }

  std::string step_name(const Group& group) const {
    const Node& node = graph_.node(group.cls == FusionClass::library ? group.nodes.front() : group.nodes.back());
    const std::string& scope = graph_.scopes[static_cast<size_t>(node.scope)];
    return std::string(name(node.op)) + (scope.empty() ? "" : " " + scope);
  }

  void add_library(const Group& group, Step& step) {
    for (Value input : group.inputs) add_operand(step, places_.place(input), places_.bytes_of(input));
    step.inputs = static_cast<int32_t>(step.operands.size());
    for (Value output : group.outputs) add_operand(step, places_.place(output), places_.bytes_of(output));
    const Node& node = graph_.node(group.nodes.front());
    LibraryCall call{group.epilogue, {}};
    if (target_.library) {
      const int64_t scratch = target_.library->scratch_bytes(graph_, node, group.epilogue);
      call.scratch = places_.scratch(scratch);
      // The gradients of all scores are written there and read again.
      if (node.op == Op::flash_attention_grad) step.bytes += 2 * scratch;
    }
    step.work = std::move(call);
    step.flops = library_flops(node);
  }

  int64_t library_flops(const Node& node) const {
    if (node.op == Op::pack_weights) return 0;
    if (node.op == Op::flash_attention || node.op == Op::flash_attention_grad) return attention_flops(node);
    if (node.op == Op::matmul) {
      const Dims& a = graph_.type(node.inputs[0]).shape;
      return 2 * node.type().elements() * a[a.size() - (node.attrs.integer("transpose_a") ? 2 : 1)];
    }
    // Every element of the forward output stands for one multiply-add, 2 operations, with each weight of its channel.
    bool forward = node.op == Op::conv2d;
    const Type& y = forward ? node.type() : graph_.type(node.inputs[node.op == Op::conv2d_input_grad ? 0 : 1]);
    const Type& w = node.op == Op::conv2d_weight_grad ? node.type() : graph_.type(node.inputs[1]);
    return 2 * y.elements() * (w.elements() / w.shape[0]);
  }

  // Counts two matrix products forward, q k' and p v, and five backward, which computes the scores again.
  int64_t attention_flops(const Node& node) const {
    const auto type = [&](size_t i) -> const Type& { return graph_.type(node.inputs[i]); };
    const AttentionShape s = attention_shape(type(0), type(1), type(2), node.attrs);
    const int64_t pairs = node.attrs.integer("causal") != 0 ? s.t * (s.t + 1) / 2 : s.t * s.s;
    const bool forward = node.op == Op::flash_attention;
    return 2 * s.n * s.heads * pairs * (forward ? s.d + s.e : 3 * s.d + 2 * s.e);
  }

  void add_kernel(const Group& group, Step& step) {
    Lowered lowered = lower(graph_, group, target_);
    for (size_t i = 0; i < lowered.operands.size(); ++i) {
      ir::BufferParam& param = lowered.kernel.buffers[i];
      if (param.scratch)
        add_operand(step, places_.scratch(lowered.scratch_bytes[i]), lowered.scratch_bytes[i]);
      else
        add_operand(step, places_.place(lowered.operands[i]), places_.bytes_of(lowered.operands[i]));
      param.aligned = target_.processor == Processor::cpu || step.operands.back().offset % kGpuVectorBytes == 0;
    }
    const int32_t kernel = share(lowered.kernel);
    step.work = KernelLaunch{kernel, std::move(lowered.arguments), std::move(lowered.tiles)};
    step.flops = lowered.flops;
    step.inputs = static_cast<int32_t>(group.inputs.size());
  }

  int32_t share(ir::Kernel& kernel) {
    std::string text = ir::to_text(kernel);
    auto [at, fresh] = kernels_.try_emplace(std::move(text), static_cast<int32_t>(schedule_.kernels.size()));
    if (fresh) {
      kernel.name = "k_" + text_hash(at->first);
      schedule_.kernels.push_back(std::move(kernel));
    }
    return at->second;
  }

  void add_concat_step(const Group& group) {
    Value whole = group.nodes.empty() ? Value{} : Value{group.nodes.back(), 0};
    View base = places_.place(whole);
    Step step;
    step.cls = FusionClass::copy;
    step.nodes = {whole.node};
    step.name = step_name(group);
    Copies copies;
    int64_t offset = 0;
    for (Value part : graph_.node(whole).inputs) {
      int64_t bytes = graph_.type(part).bytes();
      add_part(step, copies, part, base, {.to = offset, .bytes = bytes});
      offset += bytes;
    }
    if (copies.parts.empty()) return;
    step.work = std::move(copies);
    step.inputs = static_cast<int32_t>(step.operands.size());
    add_operand(step, base, offset);
    push(std::move(step));
  }

  void add_part(Step& step, Copies& copies, Value value, View base, Copies::Part part) {
    if (!is_zeros(graph_, value)) {
      const View from = places_.place(value);
      if (from.buffer == base.buffer && from.offset == base.offset + part.to) return;
      part.from = static_cast<int32_t>(step.operands.size());
      add_operand(step, from, part.bytes);
    }
    copies.parts.push_back(part);
    step.bytes += part.bytes * (part.from < 0 ? 1 : 2);
  }

  void add_copy(std::string what, Value value, View from, View to) {
    int64_t bytes = graph_.type(value).bytes();
    Step step;
    step.cls = FusionClass::copy;
    step.name = std::move(what);
    step.nodes = {value.node};
    step.operands = {from, to};
    step.extents = {bytes, bytes};
    step.inputs = 1;
    step.bytes = 2 * bytes;
    step.work = Copies{{{0, bytes, 0}}};
    push(std::move(step));
  }

  bool is_written(const std::string& variable) const {
    return std::ranges::count(graph_.writes, variable, &StateWrite::variable) > 0;
  }

  bool is_variable(Value value) const { return graph_.node(resolve_alias(graph_, value).owner).op == Op::variable; }

  // Adds copies that save, before any write, variables that outputs or writes still need and that the step overwrites.
  void save_variables() {
    for (const Output& output : graph_.outputs) {
      const Node& owner = graph_.node(resolve_alias(graph_, output.value).owner);
      if (owner.op != Op::variable || !is_written(owner.attrs.text("name"))) continue;
      const View view = places_.save_output(output);
      add_copy("save for " + output.name, output.value, places_.place(output.value), view);
      saved_outputs_[output.value] = view;
    }
    for (const StateWrite& write : graph_.writes) {
      if (!is_variable(write.value)) continue;
      saved_[write.variable] = places_.scratch(graph_.type(write.value).bytes());
      add_copy("save for " + write.variable, write.value, places_.place(write.value), saved_[write.variable]);
    }
  }

  // Adds copies for the state writes that could not happen in place.
  void copy_writes() {
    for (size_t i = 0; i < graph_.writes.size(); ++i) {
      if (ordered_.in_place[i].valid()) continue;
      const StateWrite& write = graph_.writes[i];
      View from = is_variable(write.value) ? saved_.at(write.variable) : places_.place(write.value);
      add_copy("write " + write.variable, write.value, from, places_.store(write.variable));
    }
  }

  void view_outputs() {
    for (const Output& output : graph_.outputs) places_.place(output.value);
    for (const auto& [value, view] : saved_outputs_) schedule_.views[value] = view;
  }

  // ---- live ranges ----

  void touch(View view, int32_t step) {
    if (view.buffer < 0) return;
    Buffer& buffer = schedule_.buffers[static_cast<size_t>(view.buffer)];
    if (buffer.first < 0) buffer.first = step;
    buffer.last = step;
  }

  void set_live_ranges() {
    auto steps = static_cast<int32_t>(schedule_.steps.size());
    for (int32_t s = 0; s < steps; ++s) {
      const Step& step = schedule_.steps[static_cast<size_t>(s)];
      for (View view : step.operands) touch(view, s);
      if (const LibraryCall* call = step.call()) touch(call->scratch, s);
    }
    for (Buffer& buffer : schedule_.buffers) {
      buffer.first = std::max(buffer.first, 0);
      if (buffer.kind == BufferKind::output) buffer.last = std::max(0, steps - 1);
    }
    for (const Output& output : graph_.outputs) {
      Buffer& buffer = schedule_.buffers[static_cast<size_t>(schedule_.views.at(output.value).buffer)];
      if (buffer.kind == BufferKind::arena) buffer.last = std::max(0, steps - 1);
    }
  }

  const Graph& graph_;
  const Ordered& ordered_;
  const Target& target_;
  Schedule schedule_;
  ValuePlaces places_;
  std::unordered_map<std::string, int32_t> kernels_;
  std::vector<Step> under_way_;  // all-reduces that nothing waits for yet
  int32_t reductions_ = 0;
  std::unordered_map<std::string, View> saved_;  // the keys are the variables written
  std::unordered_map<Value, View, ValueHash> saved_outputs_;
};

}  // namespace

Schedule build_schedule(std::shared_ptr<const Graph> graph, const Ordered& ordered, const Target& target) {
  return ScheduleBuilder(std::move(graph), ordered, target).run();
}

}  // namespace kb
