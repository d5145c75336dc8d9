#include "tests/runtime/cuda/fake_backend.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <mutex>
#include <utility>

#include "graph/interpreter.h"
#include "runtime/cpu/library.h"
#include "runtime/cuda/alignment.h"
#include "runtime/cuda/trials.h"
#include "tests/interpreters/schedule_interpreter.h"

namespace kb::test {
namespace {

// Two fake GPUs that have the same kernel share its program, which runs one launch at a time (simt.h).
std::mutex launching;

// Returns the parameters of the kernel `name` in `text`, which reads like "(const float* b0, unsigned* b1, long long
// n0)".
std::vector<FakeKernel::Parameter> parameters_of(const std::string& text, const std::string& name) {
  const size_t head = text.find(name + "(");
  ensure(head != std::string::npos, "a kernel's text without its name");
  const size_t begin = head + name.size() + 1, end = text.find(')', begin);
  std::vector<FakeKernel::Parameter> result;
  for (size_t at = begin; at < end;) {
    const size_t comma = std::min(text.find(',', at), end);
    const std::string one = text.substr(at, comma - at);
    const bool pointer = one.find('*') != std::string::npos, constant = one.find("const ") != std::string::npos;
    result.push_back(!pointer ? FakeKernel::number : constant ? FakeKernel::read : FakeKernel::written);
    at = comma + 1;
  }
  return result;
}

class EmulatedCompiler : public cuda::Compiler {
 public:
  EmulatedCompiler(FakeGpu& gpu, simt::Instrument instrument) : gpu_(gpu), instrument_(instrument) {}
  std::string name() const override { return "emulated kernels"; }

  cuda::CompiledImages compile(const KernelBatch& batch) override {
    std::vector<std::string> texts;
    for (const KernelSource& kernel : batch.kernels) texts.push_back(kernel.text);
    auto program = std::make_shared<simt::Program>(batch.prelude, texts, instrument_);
    std::vector<FakeKernel> kernels;
    cuda::Image image;
    for (const KernelSource& kernel : batch.kernels) {
      kernels.push_back({kernel.name, parameters_of(kernel.text, kernel.name), run(program, kernel.name)});
      image.names.push_back(kernel.name);
    }
    cuda::CompiledImages result;
    result.compiled = std::ssize(program->names());
    image.data = gpu_.add_image(std::move(kernels));
    result.images.push_back(std::move(image));
    return result;
  }

 private:
  std::function<void(const FakeKernel&, unsigned, unsigned, unsigned, std::span<void* const>)> run(
      std::shared_ptr<simt::Program> program, const std::string& name) {
    return [this, program, name](const FakeKernel& kernel, unsigned blocks, unsigned threads, unsigned shared,
                                 std::span<void* const> parameters) {
      std::vector<simt::Region> memory;
      for (size_t i = 0; i < parameters.size(); ++i)
        if (kernel.parameters[i] != FakeKernel::number) add_region(memory, *static_cast<void**>(parameters[i]));
      const std::scoped_lock lock(launching);
      simt::Launch launch{{blocks}, {threads}};
      launch.dynamic_shared = shared;
      program->launch(name, launch, parameters, memory);
    };
  }

  // Adds the allocation that an operand lies in to `memory`, unless it is there already.
  void add_region(std::vector<simt::Region>& memory, void* operand) {
    const MemoryRange all = gpu_.all_of(operand);
    auto* begin = reinterpret_cast<void*>(all.begin);
    for (const simt::Region& region : memory)
      if (region.data == begin) return;
    memory.push_back({begin, static_cast<int64_t>(all.end - all.begin)});
  }

  FakeGpu& gpu_;
  const simt::Instrument instrument_;
};

// One call of the CPU's library on a graph made for a GPU, whose filters may have the order (O, KH, KW, I) and whose
// gradients of filters may have 16 bits. Filters are brought into the CPU's own form at every call.
class CpuCall {
 public:
  CpuCall(LibraryContext& context, const Graph& graph, const Node& node, const Epilogue& epilogue, int shards)
      : is_conv_(node.op != Op::matmul) {
    if (!is_conv_) {
      op_ = plan_library(context, graph, node, epilogue, shards);
      return;
    }
    asked_ = conv_spec(graph, node, epilogue);
    ConvSpec own = asked_;
    own.weights_last = false;
    own.wide = true;
    op_ = plan_conv(context, own, shards);
    const auto weights = static_cast<size_t>(own.o * own.c / own.groups * own.kh * own.kw);
    canonical_.resize(weights * sizeof(double));
    if (own.kind == ConvKind::weight_grad) return;
    packed_.resize(packed_weight_bytes(context, own) + 64);
    if (packed_.size() > 64) pack_ = plan_pack_weights(context, own);
    if (pack_) pack_scratch_.resize(pack_->scratch_bytes() + 64);
  }

  const kb::LibraryOp& op() const { return *op_; }

  void run(Pool& pool, std::vector<const void*> in, std::vector<void*> out, void* scratch) {
    if (is_conv_ && asked_.kind == ConvKind::weight_grad) {
      void* to = std::exchange(out[0], canonical_.data());
      op_->run(pool, in, out, scratch);
      const DType wide = asked_.dtype == DType::f64 ? DType::f64 : DType::f32;
      move_weights(canonical_.data(), wide, to, asked_.wide ? wide : asked_.dtype, false);
      return;
    }
    if (is_conv_) in[1] = own_weights(pool, in[1]);
    op_->run(pool, in, out, scratch);
  }

 private:
  const void* own_weights(Pool& pool, const void* from) {
    move_weights(from, asked_.dtype, canonical_.data(), asked_.dtype, true);
    if (!pack_) return canonical_.data();
    void* const to = aligned(packed_);
    const void* const in[] = {canonical_.data()};
    void* const out[] = {to};
    pack_->run(pool, in, out, aligned(pack_scratch_));
    return to;
  }

  // Returns the first multiple of 64 bytes; an array has 64 bytes more than it needs.
  static void* aligned(std::vector<std::byte>& bytes) {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(bytes.data()) + 63) / 64 * 64);
  }

  // Copies filters between the order of the graph and (O, I, KH, KW).
  void move_weights(const void* from, DType from_type, void* to, DType to_type, bool to_canonical) const {
    const int64_t inputs = asked_.c / asked_.groups, taps = asked_.kh * asked_.kw;
    const auto* source = static_cast<const std::byte*>(from);
    auto* target = static_cast<std::byte*>(to);
    for (int64_t o = 0; o < asked_.o; ++o)
      for (int64_t i = 0; i < inputs; ++i)
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t canonical = (o * inputs + i) * taps + t;
          const int64_t given = asked_.weights_last ? (o * taps + t) * inputs + i : canonical;
          const double value = load_element(from_type, source, to_canonical ? given : canonical);
          store_element(to_type, target, to_canonical ? canonical : given, value);
        }
  }

  const bool is_conv_;
  ConvSpec asked_;
  std::unique_ptr<kb::LibraryOp> op_, pack_;
  std::vector<std::byte> canonical_, packed_, pack_scratch_;
};

// Computes a flash_attention node, or its gradient, by the interpreter.
class InterpretedCall : public cuda::LibraryOp {
 public:
  InterpretedCall(FakeGpu& gpu, const Graph& graph, const Node& node) : gpu_(gpu), node_(node) {
    for (const Value input : node.inputs) inputs_.push_back(graph.type(input));
  }

  int64_t scratch_bytes() const override { return 0; }
  std::string implementation() const override { return "interpreter"; }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out, void*) const override {
    ensure(in.size() == inputs_.size() && out.size() == node_.outputs.size(), "an op has all its operands");
    std::vector<MemoryRange> reads, writes;
    for (size_t i = 0; i < in.size(); ++i) reads.push_back(MemoryRange::of(in[i], inputs_[i].bytes()));
    for (size_t i = 0; i < out.size(); ++i) writes.push_back(MemoryRange::of(out[i], node_.outputs[i].bytes()));
    gpu_.enqueue(stream, "library call " + implementation(), reads, writes,
                 [this, from = std::vector<const void*>(in.begin(), in.end()),
                  to = std::vector<void*>(out.begin(), out.end())] { run(from, to); });
  }

 private:
  void run(const std::vector<const void*>& in, const std::vector<void*>& out) const {
    std::vector<Array> arrays;
    for (size_t i = 0; i < in.size(); ++i)
      arrays.push_back(from_bytes(inputs_[i], static_cast<const std::byte*>(in[i])));
    const std::vector<Array> results = evaluate_node(node_, arrays);
    for (size_t i = 0; i < out.size(); ++i) {
      const std::vector<std::byte> bytes = to_bytes(results[i]);
      std::memcpy(out[i], bytes.data(), bytes.size());
    }
  }

  FakeGpu& gpu_;
  const Node node_;
  std::vector<Type> inputs_;
};

bool is_attention(const Node& node) { return node.op == Op::flash_attention || node.op == Op::flash_attention_grad; }

class CpuLibraryOp : public cuda::LibraryOp {
 public:
  CpuLibraryOp(FakeGpu& gpu, Pool& pool, std::unique_ptr<CpuCall> call, const Graph& graph, const Node& node,
               const Epilogue& epilogue)
      : gpu_(gpu), pool_(pool), call_(std::move(call)) {
    for (const Value input : node.inputs) in_bytes_.push_back(graph.type(input).bytes());
    if (epilogue.bias.valid()) in_bytes_.push_back(graph.type(epilogue.bias).bytes());
    out_bytes_ = epilogue.result.valid() ? graph.type(epilogue.result).bytes() : node.type().bytes();
  }

  int64_t scratch_bytes() const override { return static_cast<int64_t>(call_->op().scratch_bytes()); }
  std::string implementation() const override { return call_->op().implementation(); }

  void enqueue(cuda::Stream stream, std::span<const void* const> in, std::span<void* const> out,
               void* scratch) const override {
    for (const void* operand : in) cuda::check_operand("library call", operand);
    for (const void* operand : out) cuda::check_operand("library call", operand);
    std::vector<MemoryRange> reads, writes;
    for (size_t i = 0; i < in.size(); ++i) reads.push_back(MemoryRange::of(in[i], in_bytes_.at(i)));
    for (void* operand : out) writes.push_back(MemoryRange::of(operand, out_bytes_));
    if (scratch) writes.push_back(MemoryRange::of(scratch, scratch_bytes()));
    gpu_.enqueue(stream, "library call " + implementation(), reads, writes,
                 [this, from = std::vector<const void*>(in.begin(), in.end()),
                  to = std::vector<void*>(out.begin(), out.end()), scratch] { call_->run(pool_, from, to, scratch); });
  }

 private:
  FakeGpu& gpu_;
  Pool& pool_;
  std::unique_ptr<CpuCall> call_;
  std::vector<int64_t> in_bytes_;
  int64_t out_bytes_ = 0;
};

class CpuLibrary : public cuda::DeviceLibrary {
 public:
  CpuLibrary(FakeGpu& gpu, const cuda::DeviceHandles& handles) : gpu_(gpu), handles_(handles) {}
  ~CpuLibrary() override { gpu_.end_library(); }
  CpuLibrary(const CpuLibrary&) = delete;
  CpuLibrary& operator=(const CpuLibrary&) = delete;
  std::string name() const override { return "the CPU's " + context_.name(); }
  DType compute_dtype(DType dtype) const override { return kb::compute_dtype(context_, dtype); }
  int64_t scratch_bytes(const Graph& graph, const Node& node, const Epilogue& epilogue) const override {
    choose(std::string(kb::name(node.op)) + " " + to_string(node.type()));
    if (is_attention(node)) return 0;
    return static_cast<int64_t>(CpuCall(context_, graph, node, epilogue, kShards).op().scratch_bytes());
  }
  int64_t packed_bytes(const Graph&, const Node&) const override { return 0; }
  std::unique_ptr<cuda::LibraryOp> plan(const Graph& graph, const Node& node, const Epilogue& epilogue) override {
    if (is_attention(node)) return std::make_unique<InterpretedCall>(gpu_, graph, node);
    return std::make_unique<CpuLibraryOp>(
        gpu_, pool_, std::make_unique<CpuCall>(context_, graph, node, epilogue, kShards), graph, node, epilogue);
  }

  cuda::LibraryPicks algorithm_choices() const override { return picks_; }
  void use_algorithm_choices(cuda::LibraryPicks picks) override { picks_ = std::move(picks); }
  void add_choice(const std::string& call, const std::string& pick) override { picks_[call] = pick; }

 private:
  static constexpr int kShards = 2;
  // Behaves as a library that measures: runs two trials on the device for a call that has no pick yet.
  void choose(const std::string& call) const {
    if (picks_.contains(call)) return;
    const cuda::CallMemory memory(handles_, std::array{cuda::TrialOperand{64, DType::f32}}, 0);
    const auto enqueue = [&](size_t, size_t copy) {
      gpu_.enqueue(handles_.stream, "a trial", {}, {MemoryRange::of(memory.operand(copy, 0), 64)}, [] {});
    };
    cuda::fastest(handles_, memory, {name(), call, 2, [](size_t i) { return fmt::format("choice {}", i); }, enqueue});
    picks_[call] = fmt::format("choice {}", picks_.size());
  }

  FakeGpu& gpu_;
  const cuda::DeviceHandles handles_;
  mutable LibraryContext context_;
  mutable cuda::LibraryPicks picks_;
  Pool pool_{2};
};

}  // namespace

cuda::Factories FakeTestGpu::factories(const CudaOptions&) {
  const simt::Instrument best = simt::default_instrument();
  const auto instrument = watched_ || best == simt::Instrument::sanitizers ? best : simt::Instrument::none;
  return {[this, instrument](const cuda::OpenDevice&) { return std::make_unique<EmulatedCompiler>(gpu, instrument); },
          [this](const cuda::DeviceHandles& handles) { return std::make_unique<CpuLibrary>(gpu, handles); },
          [this]() -> std::unique_ptr<const cuda::Nccl> {
            if (!nccl_) throw Error("this fake GPU knows no other");
            return nccl_->table();
          }};
}

}  // namespace kb::test
