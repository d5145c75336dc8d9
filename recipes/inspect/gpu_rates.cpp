#include "recipes/inspect/gpu_rates.h"

#include <algorithm>
#include <cctype>

#include "recipes/config/network.h"

namespace kb {
namespace {

// Rates as measured: bytes read and written by a copy of 4 GB, and a bf16 matmul of 8192 x 8192 x 8192 on random data.
const GpuRates kKnown[] = {{"H100", 3.0e12, 798e12}, {"H200", 4.3e12, 788e12}};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

GpuRates parse_gpu_rates(const std::string& text) {
  for (const GpuRates& one : kKnown)
    if (lower_case(text) == lower_case(one.name)) return one;
  const ProcessorRates rates = parse_rates(text);
  return {text, rates.bytes, rates.operations};
}

std::optional<GpuRates> known_gpu(const std::string& device) {
  for (const GpuRates& one : kKnown)
    if (device.find(one.name) != std::string::npos) return one;
  return std::nullopt;
}

}  // namespace kb
