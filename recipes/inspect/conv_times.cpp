#include "recipes/inspect/conv_times.h"

#include <algorithm>
#include <array>

#include "compiler/passes/layout_table.h"
#include "graph/enum_table.h"
#include "recipes/perf/rounds.h"

namespace kb {

std::vector<ConvLayer> resnet50_convolutions(int64_t n, DType dtype) {
  std::vector<ConvLayer> layers;
  const auto add = [&](int64_t c, int64_t o, int64_t size, int64_t kernel, int64_t stride) {
    ConvSpec s{.dtype = dtype, .n = n, .c = c, .h = size, .w = size, .o = o, .kh = kernel, .kw = kernel};
    s.stride[0] = s.stride[1] = stride;
    s.padding[0] = s.padding[1] = kernel / 2;
    const auto found = std::ranges::find(layers, s, &ConvLayer::spec);
    if (found == layers.end())
      layers.push_back({s, 1});
    else
      ++found->count;
  };
  add(3, 64, 224, 7, 2);
  int64_t channels = 64, size = 56;
  const std::array<int, 4> depths{3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const int64_t width = int64_t{64} << stage;
    for (int block = 0; block < depths[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      add(channels, width, size, 1, 1);
      add(width, width, size, 3, stride);
      if (block == 0) add(channels, 4 * width, size, 1, stride);
      size /= stride;
      add(width, 4 * width, size, 1, 1);
      channels = 4 * width;
    }
  }
  return layers;
}

const char* name(ConvKind kind) {
  constexpr EnumTable<ConvKind, const char*> kNames({"forward", "input_grad", "weight_grad"});
  return kNames[kind];
}

bool trains(const ConvLayer& layer, ConvKind kind) { return kind != ConvKind::input_grad || layer.spec.c > 3; }

ConvSpec in_layout(ConvSpec spec, ConvKind kind, int64_t block) {
  spec.kind = kind;
  spec.block_in = std::max<int64_t>(1, channels_together(Processor::cpu, block, spec.c));
  spec.block_out = std::max<int64_t>(1, channels_together(Processor::cpu, block, spec.o));
  return spec;
}

void ConvMemory::Block::fit(int64_t wanted) {
  if (wanted <= bytes) return;
  bytes = (wanted + 4095) / 4096 * 4096;
  data.reset(std::aligned_alloc(4096, static_cast<size_t>(bytes)));
  std::fill_n(static_cast<char*>(data.get()), bytes, 0);
}

void ConvMemory::fit(LibraryContext& context, const LibraryOp& op, const ConvSpec& spec) {
  const int64_t element = size_of(spec.dtype), w = spec.o * spec.c / spec.groups * spec.kh * spec.kw;
  const int64_t packed =
      spec.kind == ConvKind::weight_grad ? 0 : static_cast<int64_t>(packed_weight_bytes(context, spec));
  x_.fit(spec.n * spec.c * spec.h * spec.w * element);
  y_.fit(spec.n * spec.o * spec.out_h() * spec.out_w() * element);
  weights_.fit(std::max(packed, w * std::max<int64_t>(element, 4)));
  scratch_.fit(static_cast<int64_t>(op.scratch_bytes()) + 64);
}

void ConvMemory::run(Pool& pool, const LibraryOp& op, const ConvSpec& spec) {
  const bool weight_grad = spec.kind == ConvKind::weight_grad, input_grad = spec.kind == ConvKind::input_grad;
  const void* in[] = {(input_grad ? y_ : x_).data.get(), (weight_grad ? y_ : weights_).data.get()};
  void* out[] = {(weight_grad ? weights_ : input_grad ? x_ : y_).data.get()};
  op.run(pool, in, out, scratch_.data.get());
}

std::unique_ptr<LibraryOp> ConvTimer::plan(const ConvSpec& spec) {
  std::unique_ptr<LibraryOp> op;
  plan_ms_ += milliseconds_of([&] { op = plan_conv(context_, spec, shards_); });
  return op;
}

double ConvTimer::time(const ConvSpec& spec) {
  const auto op = plan(spec);
  implementation_ = op->implementation();
  ConvMemory memory;
  memory.fit(context_, *op, spec);
  double least = 1e30;
  for (int i = 0; i <= repeats_; ++i) {
    const double ms = milliseconds_of([&] { memory.run(pool_, *op, spec); });
    if (i > 0) least = std::min(least, ms);
  }
  return least;
}

std::map<ConvSpec, int> convolutions_of(const Schedule& schedule) {
  std::map<ConvSpec, int> counts;
  for (const Step& step : schedule.steps) {
    if (step.cls != FusionClass::library) continue;
    const Node& node = schedule.node_of(step);
    if (node.op != Op::conv2d && node.op != Op::conv2d_input_grad && node.op != Op::conv2d_weight_grad) continue;
    const ConvSpec spec = conv_spec(*schedule.graph, node);
    ++counts[in_layout(spec, spec.kind, 0)];
  }
  return counts;
}

ConvolutionsAlone::ConvolutionsAlone(const Schedule& schedule, ConvTimer& timer) : timer_(timer) {
  for (const auto& [spec, count] : convolutions_of(schedule)) {
    LayoutTimes times;
    for (const int64_t block : kLayoutBlocks) {
      times[block] = timer.time(in_layout(spec, spec.kind, block));
      layouts_[spec.dtype][block] += count * times[block];
    }
    const ConvSpec fastest = in_layout(spec, spec.kind, choose_block(times, 0));
    calls_.push_back({timer.plan(fastest), fastest, count});
    memory_.fit(timer.context(), *calls_.back().op, fastest);
  }
}

double ConvolutionsAlone::time() {
  return milliseconds_of([&] {
    for (const Call& call : calls_)
      for (int i = 0; i < call.count; ++i) memory_.run(timer_.pool(), *call.op, call.spec);
  });
}

}  // namespace kb
