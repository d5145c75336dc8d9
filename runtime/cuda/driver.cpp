#include "runtime/cuda/driver.h"

#include <fmt/format.h>

namespace kb::cuda {

namespace {

constexpr const char* kStepHint =
    "\n  hint: work that was enqueued earlier failed; the same command with --sync-steps waits after every schedule "
    "step, and so tells which one it was";
constexpr const char* kHardwareHint =
    "\n  hint: the GPU's own memory or links failed, whatever the program does; nvidia-smi -q shows which";

std::string with_hint(const std::string& failure, Result result) {
  if (is_hardware_fault(result)) return failure + kHardwareHint;
  return is_device_fault(result) ? failure + kStepHint : failure;
}

}  // namespace

CallError::CallError(std::string failure, Result result)
    : Error(with_hint(failure, result)), result_(result), failure_(std::move(failure)) {}

CallError::CallError(std::string_view call, Result result, std::string_view name, std::string_view text)
    : CallError(fmt::format("{} failed: {} ({}): {}", call, name, result, text), result) {}

void Driver::fail(const char* symbol, Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (get_error_name.function) get_error_name.function(result, &name);
  if (get_error_string.function) get_error_string.function(result, &text);
  throw CallError(symbol, result, name ? name : "an error without a name", text ? text : "no description");
}

int64_t Driver::free_bytes() const {
  size_t free = 0, total = 0;
  (*this)(memory_info, &free, &total);
  return static_cast<int64_t>(free);
}

}  // namespace kb::cuda
