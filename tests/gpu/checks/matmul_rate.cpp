#include "tests/gpu/checks/matmul_rate.h"

#include <algorithm>
#include <array>
#include <bit>

#include "graph/error.h"
#include "graph/functions.h"
#include "runtime/session.h"

namespace kb::test {
namespace {

constexpr int kMatmulWarmSteps = 20;  // number of steps until clocks and power are as in a run
constexpr int kMatmulTrials = 21;

Compiled product(const Target& target, int64_t extent) {
  Graph graph("matmul", Mode::inference);
  const Tensor a = input(graph, "a", DType::bf16, {extent, extent}), b = input(graph, "b", DType::bf16, a.shape());
  const Tensor c = matmul(a, b);
  state(graph, "c", c.type(), {});
  graph.writes.push_back({"c", c.value()});
  CompileOptions options;
  options.target = target;
  return compile(std::move(graph), options);
}

// Fills with bf16 values, uniform in [-1, 1): each is the upper half of a float that was moved from [1, 2).
void fill_randomly(std::byte* to, int64_t elements, uint32_t seed) {
  auto* values = reinterpret_cast<uint16_t*>(to);
  uint32_t random = seed;
  for (int64_t i = 0; i < elements; ++i) {
    random ^= random << 13, random ^= random >> 17, random ^= random << 5;
    const float value = 2 * std::bit_cast<float>(0x3f800000u | random >> 9) - 3;
    values[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
}

double matmul_milliseconds(Session& session) {
  const std::vector<StepTime> times = session.profile().steps;
  size_t at = 0;
  for (const Schedule* schedule : session.profiled())
    for (const Step& step : schedule->steps) {
      if (step.cls == FusionClass::library) return times.at(at).milliseconds;
      ++at;
    }
  throw InternalError("a matrix product that no library computes");
}

}  // namespace

MatmulRate device_matmul_rate(Backend& backend, int64_t extent) {
  StateStore store(backend);
  Session session(backend, store, product(backend.target(), extent));
  fill_randomly(session.input("a"), extent * extent, 1);
  fill_randomly(session.input("b"), extent * extent, 2);
  for (int i = 0; i < kMatmulWarmSteps; ++i) session.step();
  session.wait();
  std::array<double, kMatmulTrials> times{};
  for (double& time : times) time = matmul_milliseconds(session);
  std::sort(times.begin(), times.end());
  const double operations =
      2.0 * static_cast<double>(extent) * static_cast<double>(extent) * static_cast<double>(extent);
  return {1e3 * operations / times.front(), 1e3 * operations / times[kMatmulTrials / 2]};
}

}  // namespace kb::test
