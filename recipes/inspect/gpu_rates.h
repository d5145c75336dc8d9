// How fast GPUs are, for predictions: given by --rates, or known by name.
#pragma once
#include <optional>
#include <string>

namespace kb {

struct GpuRates {
  std::string name;     // "H200", or the text that gave the rates
  double bytes = 0;     // a second, read and written, by a copy of large arrays
  double multiply = 0;  // operations a second of a large bf16 matmul on random data; 0: not known
};

// "h100", "h200", or bytes and operations a second as "4.3TB/s,790TFLOP/s". Throws UsageError.
GpuRates parse_gpu_rates(const std::string& text);

// Rates measured on GPUs of that name: "NVIDIA H100 80GB HBM3". Nothing where it is no GPU of those.
std::optional<GpuRates> known_gpu(const std::string& device);

}  // namespace kb
