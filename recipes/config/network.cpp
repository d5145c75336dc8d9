#include "recipes/config/network.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>
#include <string_view>

#include "recipes/config/values.h"
#include "runtime/three_digits.h"

namespace kb {
namespace {

struct Unit {
  std::string_view name;
  double value = 1;
};
constexpr Unit kTimes[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}};
constexpr Unit kRates[] = {{"", 1},       {"B/s", 1},     {"kB/s", 1e3},      {"MB/s", 1e6},
                           {"GB/s", 1e9}, {"TB/s", 1e12}, {"Gbit/s", 0.125e9}};
constexpr Unit kOperations[] = {{"", 1}, {"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}};

// Returns the number in the basic unit, or -1 if the text is not a number >= 0 with one of the units.
double quantity(std::string_view text, std::span<const Unit> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !std::isfinite(value) || value < 0) return -1;
  for (const Unit& unit : units)
    if (unit.name == std::string_view(end, text.data() + text.size())) return value * unit.value;
  return -1;
}

}  // namespace

Network parse_network(const std::string& text, const std::string& flag) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view all(text);
  const double latency = quantity(all.substr(0, comma), kTimes);
  const double bandwidth = comma == text.size() ? -1 : quantity(all.substr(comma + 1), kRates);
  if (latency < 0 || !(bandwidth > 0)) refuse_value(flag, "LATENCY,BANDWIDTH such as 50us,1GB/s or 0.00005,1e9", text);
  return {latency, bandwidth};
}

ProcessorRates parse_rates(const std::string& text) {
  const size_t comma = std::min(text.find(','), text.size());
  const std::string_view all(text);
  const ProcessorRates rates{quantity(all.substr(0, comma), kRates),
                             comma == text.size() ? -1 : quantity(all.substr(comma + 1), kOperations)};
  if (!(rates.bytes > 0) || !(rates.operations > 0))
    refuse_value("--rates", "h100, h200, or BYTES,OPERATIONS a second such as 4.8TB/s,790TFLOP/s", text);
  return rates;
}

std::string network_words(const std::optional<Network>& network) {
  return network ? fmt::format("{}s,{}B/s", network->latency, network->bandwidth) : "";
}

std::string network_text(const Network& network) {
  return fmt::format("{} us, {} GB/s", three_digits(network.latency * 1e6), three_digits(network.bandwidth / 1e9));
}

}  // namespace kb
