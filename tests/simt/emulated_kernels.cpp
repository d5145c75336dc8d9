#include "tests/simt/emulated_kernels.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "compiler/print/cuda.h"
#include "graph/error.h"

namespace kb::simt {
namespace {

constexpr size_t kAlignment = 256;  // alignment of device memory, bytes

// A copy of a range of memory, equally far from a multiple of the alignment. Its allocation ends with the last byte.
class Span {
 public:
  explicit Span(const test::BufferRange& range) : range_(range) {
    const size_t shift = reinterpret_cast<uintptr_t>(range.begin) % kAlignment;
    if (::posix_memalign(&memory_, kAlignment, shift + static_cast<size_t>(range.bytes))) throw std::bad_alloc();
    copy_ = static_cast<std::byte*>(memory_) + shift;
    fetch();
  }
  ~Span() { ::free(memory_); }
  Span(const Span&) = delete;
  Span& operator=(const Span&) = delete;

  void fetch() { std::memcpy(copy_, range_.begin, static_cast<size_t>(range_.bytes)); }
  void give_back() const { std::memcpy(range_.begin, copy_, static_cast<size_t>(range_.bytes)); }
  void* moved(const void* at) const { return copy_ + (static_cast<const std::byte*>(at) - range_.begin); }
  std::vector<std::byte> bytes() const { return {copy_, copy_ + range_.bytes}; }
  Region region() const { return {copy_, range_.bytes, range_.defined}; }

 private:
  const test::BufferRange range_;
  void* memory_ = nullptr;
  std::byte* copy_;
};

}  // namespace

void EmulatedKernels::add(const ir::Kernel& kernel) {
  if (!texts_.contains(kernel.name)) texts_[kernel.name] = print_cuda(kernel);
}

void EmulatedKernels::add(const ir::Kernel& kernel, const std::string& text) { texts_[kernel.name] = text; }

int64_t EmulatedKernels::count(const std::string& word) const {
  return std::ranges::count_if(texts_, [&](const auto& text) { return text.second.find(word) != std::string::npos; });
}

void EmulatedKernels::compile() {
  std::vector<std::string> texts;
  for (const auto& [name, text] : texts_) texts.push_back(text);
  program_ = std::make_unique<Program>(cuda_prelude(), texts, instrument_);
}

void EmulatedKernels::run(const ir::Kernel& kernel, std::span<const int64_t> arguments, std::span<const int64_t> tiles,
                          std::span<const ir::Memory> buffers) {
  const std::vector<test::BufferRange> ranges = test::ranges_of(kernel, buffers);
  std::vector<std::unique_ptr<Span>> spans;
  for (const test::BufferRange& range : ranges) spans.push_back(std::make_unique<Span>(range));
  std::vector<void*> values;
  for (const ir::Memory& buffer : buffers) values.push_back(spans[test::range_of(ranges, buffer)]->moved(buffer.data));
  for (const int64_t argument : arguments) values.push_back(reinterpret_cast<void*>(argument));
  std::vector<void*> parameters;
  for (void*& value : values) parameters.push_back(&value);
  std::vector<Region> memory;
  for (const auto& span : spans) memory.push_back(span->region());

  Launch launch{{static_cast<uint32_t>(tiles[0])}, {static_cast<uint32_t>(kernel.block_threads)}};
  launch.dynamic_shared = ir::launched_storage_bytes(kernel);
  widest_block_ = std::max(widest_block_, kernel.block_threads);
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

}  // namespace kb::simt
