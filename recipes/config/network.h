// Texts of the network between processes, as --net describes it or as it is measured, and of a processor's rates.
#pragma once
#include <optional>
#include <string>

#include "runtime/comm/algorithm.h"

namespace kb {

// Reads a text such as "50us,1GB/s": the latency in s, ms or us, the bandwidth in B/s, kB/s, MB/s, GB/s, TB/s or
// Gbit/s. Numbers without a unit are seconds and bytes per second. Throws UsageError for other texts.
Network parse_network(const std::string& text, const std::string& flag = "--net");

// Rates of a processor. A launch takes as long as moving its bytes or as its operations, whichever takes longer.
struct ProcessorRates {
  double bytes = 0, operations = 0;  // bytes per second, operations per second
};

// Reads bytes and operations per second from a text such as "4.8TB/s,60TFLOP/s". Throws UsageError for other texts.
ProcessorRates parse_rates(const std::string& text);

// Returns a text such as "5e-05s,1e+09B/s", which parse_network() reads back exactly; "" for no network.
std::string network_words(const std::optional<Network>& network);

// Returns a text for people, such as "50 us, 1 GB/s".
std::string network_text(const Network& network);

}  // namespace kb
