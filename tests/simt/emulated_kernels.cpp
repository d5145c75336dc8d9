#include "tests/simt/emulated_kernels.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "compiler/print_cuda.h"
#include "graph/error.h"

namespace kb::simt {
namespace {

constexpr size_t kAlignment = 256;  // of device memory

// Bytes that some of a launch's buffers cover together (in-place, views of one buffer), and a copy of them: at the same
// distance from a multiple of the alignment, and the allocation ends with the last byte.
class Span {
 public:
  Span(std::byte* begin, int64_t bytes) : begin_(begin), bytes_(bytes) {
    const size_t shift = reinterpret_cast<uintptr_t>(begin) % kAlignment;
    if (::posix_memalign(&memory_, kAlignment, shift + static_cast<size_t>(bytes))) throw std::bad_alloc();
    copy_ = static_cast<std::byte*>(memory_) + shift;
    fetch();
  }
  ~Span() { ::free(memory_); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void fetch() { std::memcpy(copy_, begin_, static_cast<size_t>(bytes_)); }
  void give_back() const { std::memcpy(begin_, copy_, static_cast<size_t>(bytes_)); }
  bool holds(const void* at) const { return at >= begin_ && at < begin_ + bytes_; }
  void* moved(const void* at) const { return copy_ + (static_cast<const std::byte*>(at) - begin_); }
  std::vector<std::byte> bytes() const { return {copy_, copy_ + bytes_}; }
  Region region() const { return {copy_, bytes_, defined}; }

  bool defined = false;

 private:
  std::byte* begin_;
  int64_t bytes_;
  void* memory_ = nullptr;
  std::byte* copy_;
};

// The counter of `last_block` is 0 when a launch starts.
bool is_counter(const ir::BufferParam& param) { return param.scratch && param.dtype == DType::u32; }

std::vector<std::unique_ptr<Span>> spans_of(const ir::Kernel& kernel, std::span<const ir::Memory> buffers) {
  struct Range {
    std::byte *begin, *end;
    bool defined;
  };
  std::vector<Range> ranges;
  for (size_t i = 0; i < buffers.size(); ++i) {
    auto* begin = static_cast<std::byte*>(buffers[i].data);
    std::byte* end = begin + buffers[i].elements * size_of(buffers[i].dtype);
    ranges.push_back({begin, end, buffers[i].defined || is_counter(kernel.buffers[i])});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range& x, const Range& y) { return x.begin < y.begin; });
  std::vector<std::unique_ptr<Span>> spans;
  for (size_t i = 0; i < ranges.size();) {
    Range range = ranges[i++];
    for (; i < ranges.size() && ranges[i].begin < range.end; ++i) {
      range.end = std::max(range.end, ranges[i].end);
      range.defined |= ranges[i].defined;
    }
    spans.push_back(std::make_unique<Span>(range.begin, range.end - range.begin));
    spans.back()->defined = range.defined;
  }
  return spans;
}

}  // namespace

void EmulatedKernels::add(const Schedule& schedule) {
  for (const ir::Kernel& kernel : schedule.kernels) add(kernel);
}

void EmulatedKernels::add(const ir::Kernel& kernel) {
  if (!texts_.contains(kernel.name)) texts_[kernel.name] = print_cuda(kernel);
}

void EmulatedKernels::add(const ir::Kernel& kernel, const std::string& text) { texts_[kernel.name] = text; }

void EmulatedKernels::compile() {
  std::vector<std::string> texts;
  for (const auto& [name, text] : texts_) texts.push_back(text);
  program_ = std::make_unique<Program>(cuda_prelude(), texts, instrument_);
}

void EmulatedKernels::run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                          std::span<const ir::Memory> buffers) {
  const std::vector<std::unique_ptr<Span>> spans = spans_of(kernel, buffers);
  std::vector<void*> values;
  for (const ir::Memory& buffer : buffers)
    for (const auto& span : spans)
      if (span->holds(buffer.data)) {
        values.push_back(span->moved(buffer.data));
        break;
      }
  ensure(values.size() == buffers.size(), "a buffer of no elements");
  for (const int64_t argument : arguments) values.push_back(reinterpret_cast<void*>(argument));
  std::vector<void*> parameters;
  for (void*& value : values) parameters.push_back(&value);
  std::vector<Region> memory;
  for (const auto& span : spans) memory.push_back(span->region());

  Launch launch{{static_cast<uint32_t>(tiles[0])}, {static_cast<uint32_t>(kernel.block_threads)}};
  std::vector<std::vector<std::byte>> results;
  for (const bool again : {false, true}) {
    constexpr Order kOrders[] = {Order::forward, Order::shuffled, Order::reverse};
    launch.seed = static_cast<uint32_t>(launches_);
    launch.threads = kOrders[(launches_ / 2 + (again ? 1 : 0)) % 3];
    launch.blocks = kOrders[(launches_ / 2 + (again ? 2 : 0)) % 3];
    accesses_ += program_->launch(kernel.name, launch, parameters, memory).accesses;
    ++launches_;
    for (size_t i = 0; i < spans.size(); ++i) {
      if (!again) {
        results.push_back(spans[i]->bytes());
        spans[i]->fetch();
      } else if (results[i] != spans[i]->bytes()) {
        throw InternalError(
            fmt::format("kernel {}: another order of blocks and threads gives other bits", kernel.name));
      }
    }
  }
  for (const auto& span : spans) span->give_back();
}

KernelRunner EmulatedKernels::runner() {
  return [this](const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                std::span<const ir::Memory> buffers) { run(kernel, arguments, tiles, buffers); };
}

}  // namespace kb::simt
