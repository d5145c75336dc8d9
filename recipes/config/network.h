// The network between processes as --net describes it, or as it is measured, and the rates of a processor, as texts.
#pragma once
#include <string>

#include "runtime/comm/algorithm.h"

namespace kb {

// "50us,1GB/s": latency in s, ms or us, bandwidth in B/s, kB/s, MB/s, GB/s or Gbit/s; a bare number is in seconds, in
// bytes a second. Throws UsageError.
Network parse_network(const std::string& text, const std::string& flag = "--net");

// Rates of a processor. A step's launch takes as long as its bytes or its operations, whichever is more.
struct ProcessorRates {
  double bytes = 0, operations = 0;  // a second
};

// "4.8TB/s,60TFLOP/s": bytes and operations a second. Throws UsageError.
ProcessorRates parse_rates(const std::string& text);

// "5e-05s,1e+09B/s", which parse_network reads back.
std::string network_words(const Network& network);

// "50 us, 1 GB/s".
std::string network_text(const Network& network);

}  // namespace kb
