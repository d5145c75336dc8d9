// A backend for tests, whose memory the host must not touch: only copies in and out, of which the last one in is kept.
#pragma once
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.h"

namespace kb::test {

class Elsewhere : public Backend {
 public:
  std::vector<float> last;

  std::string description() const override { return "elsewhere"; }
  const Target& target() const override { return target_; }
  std::string library() const override { return ""; }
  DType library_dtype(DType dtype) const override { return dtype; }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes) override { return std::make_unique<Bytes>(bytes); }
  std::unique_ptr<DeviceMemory> allocate_host(int64_t bytes) override { return allocate(bytes); }
  int64_t memory_bytes() const override { return 0; }
  bool host_visible() const override { return false; }
  void upload(std::byte* to, const std::byte* from, int64_t bytes) override {
    std::copy(from, from + bytes, to);
    last.resize(static_cast<size_t>(bytes) / sizeof(float));
    std::memcpy(last.data(), from, static_cast<size_t>(bytes));
  }
  void download(std::byte* to, const std::byte* from, int64_t bytes) override { std::copy(from, from + bytes, to); }
  std::vector<std::unique_ptr<Executable>> load(std::span<const Schedule* const>, const RankGroup&,
                                                LoadReport&) override {
    return {};
  }
  std::unique_ptr<Runner> make_runner(RunnerParts) override { return nullptr; }

 private:
  struct Bytes : DeviceMemory {
    explicit Bytes(int64_t count) : all(static_cast<size_t>(count)) {}
    std::byte* data() override { return all.data(); }
    int64_t bytes() const override { return std::ssize(all); }
    std::vector<std::byte> all;
  };
  Target target_ = generic_cpu_target();
};

}  // namespace kb::test
