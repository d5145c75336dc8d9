#include "tests/runtime/comm/conformance.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace kb::test {
namespace {

uint64_t scramble(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

double value(DType dtype, int64_t index, int rank, int reduction) {
  const uint64_t random = scramble(static_cast<uint64_t>(index) * 1000003u + static_cast<uint64_t>(rank) * 7919u +
                                   static_cast<uint64_t>(reduction) * 104729u + 1u);
  if (is_integer(dtype)) return static_cast<double>(random % 0xffffffffu);
  if (index % 101 == 17 && rank % 3 == 1) return std::numeric_limits<double>::infinity();
  if (index % 211 == 40 && rank % 3 == 2) return std::numeric_limits<double>::quiet_NaN();
  const double fraction = 1 + static_cast<double>(random % 65536) / 65536;
  return std::ldexp(random & (1u << 20) ? fraction : -fraction, static_cast<int>((random >> 32) % 24) - 12);
}

template <class T>
T at(const Bytes& bytes, int64_t index) {
  T result;
  std::memcpy(&result, bytes.data() + static_cast<size_t>(index) * sizeof(T), sizeof(T));
  return result;
}

template <class T, class Sum>
void add(Bytes& left, const Bytes& right, const Sum& sum) {
  for (int64_t i = 0; i < static_cast<int64_t>(left.size() / sizeof(T)); ++i) {
    const T result = sum(at<T>(left, i), at<T>(right, i));
    std::memcpy(left.data() + static_cast<size_t>(i) * sizeof(T), &result, sizeof(T));
  }
}

void add(DType dtype, Bytes& left, const Bytes& right) {
  const auto plain = [](auto a, auto b) { return a + b; };
  if (dtype == DType::f64) return add<double>(left, right, plain);
  if (dtype == DType::f32) return add<float>(left, right, plain);
  if (dtype == DType::bf16)
    return add<uint16_t>(left, right,
                         [](auto a, auto b) { return float_to_bf16(bf16_to_float(a) + bf16_to_float(b)); });
  if (dtype == DType::f16)
    return add<uint16_t>(left, right, [](auto a, auto b) { return float_to_f16(f16_to_float(a) + f16_to_float(b)); });
  add<uint32_t>(left, right, plain);
}

double unit(DType dtype) {
  if (dtype == DType::f64) return std::ldexp(1, -53);
  if (dtype == DType::f32) return std::ldexp(1, -24);
  return std::ldexp(1, dtype == DType::bf16 ? -8 : -11);
}

std::string reduce_all(Communicator& communicator, bool exact, const std::vector<int64_t>& sizes) {
  struct Started {
    DType dtype;
    int64_t elements;
    int number;
    Bytes data;
    int64_t ticket;
  };
  std::vector<Started> started;
  int number = 0;
  for (const int64_t elements : sizes)
    for (const DType dtype : kSummed) {
      Bytes data = contribution(dtype, elements, communicator.rank(), number);
      started.push_back({dtype, elements, number++, std::move(data), 0});
    }
  for (Started& s : started) s.ticket = communicator.all_reduce(s.data.data(), s.elements, s.dtype);
  // The waits come in reverse order: the first is for the last reduction.
  for (auto s = started.rbegin(); s != started.rend(); ++s) {
    const Interval interval = communicator.wait(s->ticket);
    if (interval.end < interval.begin) return "a reduction ended before it began";
  }
  for (const Started& s : started) {
    const std::string wrong =
        exact ? difference(s.dtype, tree_sum(s.dtype, s.elements, 0, communicator.size(), s.number), s.data)
              : distance(s.dtype, s.elements, communicator.size(), s.number, s.data);
    if (!wrong.empty()) return fmt::format("{} {}, reduction {}: {}", s.elements, name(s.dtype), s.number, wrong);
  }
  return "";
}

// Sums among pairs of neighbours and, while those are under way, among every second rank.
std::string reduce_in_groups(Communicator& communicator, int64_t elements) {
  const int rank = communicator.rank(), ranks = communicator.size();
  const RankGroup groups[] = {{rank / 2 * 2, 2, 1}, {rank % 2, ranks / 2, 2}};
  Bytes data[] = {contribution(DType::f32, elements, rank, 0), contribution(DType::f32, elements, rank, 1)};
  int64_t tickets[2];
  for (size_t i = 0; i < 2; ++i) tickets[i] = communicator.all_reduce(data[i].data(), elements, DType::f32, groups[i]);
  for (const int64_t ticket : tickets) communicator.wait(ticket);
  for (size_t i = 0; i < 2; ++i) {
    const RankGroup& group = groups[i];
    const std::string wrong = difference(
        DType::f32, tree_sum(DType::f32, elements, group.first, group.count, static_cast<int>(i), group.stride),
        data[i]);
    if (!wrong.empty()) return fmt::format("group {}, {}", i, wrong);
  }
  return "";
}

std::string gather(Communicator& communicator) {
  for (const size_t length : {0, 1, 100000}) {
    const auto text = [&](int rank) {
      return std::string(length * static_cast<size_t>(rank + 1), static_cast<char>('a' + rank));
    };
    const std::vector<std::string> all = communicator.all_gather(text(communicator.rank()));
    if (static_cast<int>(all.size()) != communicator.size()) return "all_gather: not one text a rank";
    for (int rank = 0; rank < communicator.size(); ++rank)
      if (all[static_cast<size_t>(rank)] != text(rank)) return fmt::format("all_gather: rank {}'s text differs", rank);
  }
  return "";
}

}  // namespace

Bytes contribution(DType dtype, int64_t elements, int rank, int reduction) {
  Bytes bytes(static_cast<size_t>(elements * size_of(dtype)));
  for (int64_t i = 0; i < elements; ++i) store_element(dtype, bytes.data(), i, value(dtype, i, rank, reduction));
  return bytes;
}

Bytes tree_sum(DType dtype, int64_t elements, int first, int ranks, int reduction, int stride) {
  if (ranks == 1) return contribution(dtype, elements, first, reduction);
  int left_ranks = 1;
  while (left_ranks * 2 < ranks) left_ranks *= 2;
  Bytes left = tree_sum(dtype, elements, first, left_ranks, reduction, stride);
  add(dtype, left, tree_sum(dtype, elements, first + left_ranks * stride, ranks - left_ranks, reduction, stride));
  return left;
}

std::string difference(DType dtype, const Bytes& expected, const Bytes& got) {
  if (expected.size() != got.size()) return "the sizes differ";
  const auto bytes = static_cast<size_t>(size_of(dtype));
  for (size_t i = 0; i * bytes < expected.size(); ++i) {
    if (std::memcmp(expected.data() + i * bytes, got.data() + i * bytes, bytes) == 0) continue;
    const double want = load_element(dtype, expected.data(), static_cast<int64_t>(i));
    const double have = load_element(dtype, got.data(), static_cast<int64_t>(i));
    if (!(std::isnan(want) && std::isnan(have))) return fmt::format("element {}: {:a}, got {:a}", i, want, have);
  }
  return "";
}

// A sum of p numbers has |sum - exact| <= (p - 1) u sum |x| to first order, with the unit roundoff u. The bound is
// doubled, because both sums that are compared are rounded. Infinities and NaNs must be where the expected sum has
// them.
std::string distance(DType dtype, int64_t elements, int ranks, int reduction, const Bytes& got) {
  if (!is_float(dtype)) return difference(dtype, tree_sum(dtype, elements, 0, ranks, reduction), got);
  std::vector<Bytes> all;
  for (int rank = 0; rank < ranks; ++rank) all.push_back(contribution(dtype, elements, rank, reduction));
  for (int64_t i = 0; i < elements; ++i) {
    double sum = 0, magnitude = 0;
    for (const Bytes& one : all) {
      const double x = load_element(dtype, one.data(), i);
      sum += x;
      magnitude += std::fabs(x);
    }
    const double have = load_element(dtype, got.data(), i);
    const bool right = std::isfinite(sum) ? std::fabs(have - sum) <= 2 * ranks * unit(dtype) * magnitude
                                          : (std::isnan(sum) ? std::isnan(have) : have == sum);
    if (!right) return fmt::format("element {}: {}, got {}", i, sum, have);
  }
  return "";
}

std::string conforms(Communicator& communicator, Algorithm algorithm, int64_t large) {
  communicator.choose(algorithm);
  const bool exact = algorithm == Algorithm::halving_doubling || communicator.size() <= 2;
  communicator.barrier();
  std::string wrong = reduce_all(communicator, exact, {0, 1, 2, 13, 1009});
  if (wrong.empty()) wrong = gather(communicator);
  if (wrong.empty()) wrong = reduce_all(communicator, exact, {large, 3});
  if (wrong.empty() && algorithm == Algorithm::halving_doubling && communicator.size() % 2 == 0)
    wrong = reduce_in_groups(communicator, large);
  communicator.barrier();
  if (wrong.empty()) return "";
  return fmt::format("{}, rank {}: {}", communicator.description(), communicator.rank(), wrong);
}

// The binary blocks of halving and doubling are derived once more, from rank 0 on: each has as many ranks as the
// greatest power of two that is not more than the number of ranks left.
Traffic expected_traffic(Algorithm algorithm, int64_t elements, int64_t element_bytes, int rank, int ranks) {
  if (algorithm == Algorithm::mpi || algorithm == Algorithm::mpi_blocking)
    return {1, elements * element_bytes, elements * element_bytes};
  if (algorithm == Algorithm::ring) {
    const auto piece = [&](int i) { return elements * (i % ranks + 1) / ranks - elements * (i % ranks) / ranks; };
    const int64_t sent = 2 * elements - piece(rank + 1) - piece(rank + 2);
    const int64_t received = 2 * elements - piece(rank) - piece(rank + 1);
    return {2 * (ranks - 1), sent * element_bytes, received * element_bytes};
  }
  int first = 0, block = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  while (first + block <= rank) {
    first += block;
    block = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks - first)));
  }
  const int neighbours = (first > 0 ? 1 : 0) + (first + block < ranks ? 1 : 0);
  int64_t steps = 2 * neighbours, held = elements, moved = 0;
  for (int bit = 1; bit < block; bit *= 2) {
    held = (rank - first) & bit ? held / 2 : held - held / 2;
    moved += held;
    steps += 2;
  }
  moved += elements - held + neighbours * held;
  return {steps, moved * element_bytes, moved * element_bytes};
}

}  // namespace kb::test
