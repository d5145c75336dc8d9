// The rates of GPUs, for predictions: given by --rates, or known from measurements.
#pragma once
#include <optional>
#include <string>

namespace kb {

struct GpuRates {
  std::string name;     // "H200", or the text that gave the rates
  double bytes = 0;     // bytes per second, read and written, of a copy of large arrays
  double multiply = 0;  // operations per second of a large bf16 matmul on random data; 0: not known
};

// Reads "h100", "h200", or bytes and operations per second as in "4.3TB/s,790TFLOP/s". Throws UsageError for other
// text.
GpuRates parse_gpu_rates(const std::string& text);

// Returns the rates measured on GPUs of this kind ("NVIDIA H100 80GB HBM3"); nothing if the kind is not known.
std::optional<GpuRates> known_gpu(const std::string& device);

}  // namespace kb
