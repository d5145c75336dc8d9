// index_order and scatter_add on crowded indices: how many updates each tile of the launch gets, the order in which
// they are added, and that neither the processor nor the division into tiles changes a bit.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "graph/index_order.h"
#include "tests/compiler/compiled_kernels.h"
#include "tests/compiler/lowered_group.h"
#include "tests/interpreters/verify_kernel.h"
#include "tests/support/compile_check.h"

namespace kb::scatter_test {

using namespace kb::test;

namespace {

constexpr int64_t kRows = 300, kUpdates = 1500, kColumns = 19;

using Indices = std::vector<double>;

// Draws row r with a probability that is proportional to 1 / (r + 1), as words of a text are.
Indices zipf() {
  std::mt19937 random(3);
  std::vector<double> weights;
  for (int64_t row = 0; row < kRows; ++row) weights.push_back(1.0 / static_cast<double>(row + 1));
  std::discrete_distribution<int> row(weights.begin(), weights.end());
  Indices indices;
  for (int64_t i = 0; i < kUpdates; ++i) indices.push_back(row(random));
  return indices;
}

Indices with_some_outside() {
  Indices indices = zipf();
  for (size_t i = 0; i < indices.size(); i += 3) indices[i] = i % 2 == 0 ? -1.0 - static_cast<double>(i) : kRows;
  return indices;
}

const std::map<std::string, Indices> kIndices = {{"zipf", zipf()},
                                                 {"all equal", Indices(kUpdates, 7)},
                                                 {"the last row", Indices(kUpdates, kRows - 1)},
                                                 {"some outside", with_some_outside()},
                                                 {"all outside", Indices(kUpdates, kRows)}};

Data updates_of(DType dtype, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 2);
  std::vector<double> values;
  for (int64_t i = 0; i < kUpdates * kColumns; ++i) values.push_back(uniform(random));
  return Data::of(dtype, values);
}

Graph graph_of(DType dtype) {
  Graph graph;
  const Tensor at = input(graph, "at", DType::i32, {kUpdates}, ""),
               x = input(graph, "x", dtype, {kUpdates, kColumns}, "");
  output("table", scatter_add(at, x, kRows));
  return graph;
}

// The two launches of a scatter_add, whose buffers hold the values of a graph.
class Scatter {
 public:
  Scatter(DType dtype, const Target& target) : graph_(graph_of(dtype)) {
    for (const Group& group : kernel_groups(graph_, target)) {
      launches_.push_back(lower(graph_, group, target));
      ir::verify(launches_.back().kernel);
      launches_.back().kernel.name = launches_.back().kernel.kind;
    }
    BOOST_REQUIRE(launches_.size() == 2u);
    BOOST_REQUIRE(launches_[0].kernel.kind == "order");
  }

  const Lowered& order() const { return launches_[0]; }
  const Lowered& scatter() const { return launches_[1]; }

  void set(const Indices& indices, const Data& updates) {
    values_.clear();
    values_.emplace(Value{0, 0}, Data::of(DType::i32, indices));
    values_.emplace(Value{1, 0}, updates);
  }

  // Returns a launch with the values that are known, and takes back those that it computed.
  Launch prepared(const Lowered& lowered) const {
    Launch launch{lowered.arguments, lowered.tiles, {}};
    for (size_t i = 0; i < lowered.operands.size(); ++i) {
      const Value v = lowered.operands[i];
      const DType dtype = lowered.kernel.buffers[i].dtype;
      const auto known = values_.find(v);
      if (known != values_.end())
        launch.buffers.push_back(known->second);
      else if (v.valid())
        launch.buffers.push_back(Data::output(dtype, graph_.type(v).elements()));
      else
        launch.buffers.push_back(Data::output(dtype, lowered.scratch_bytes[i] / size_of(dtype)));
      if (!v.valid() && dtype == DType::u32) launch.buffers.back().defined = true;  // counters, which are 0
    }
    return launch;
  }
  void take(const Lowered& lowered, const Launch& launch) {
    for (size_t i = 0; i < lowered.operands.size(); ++i) {
      if (!lowered.operands[i].valid()) continue;
      Data data = launch.buffers[i];
      data.defined = true;
      values_.insert_or_assign(lowered.operands[i], data);
    }
  }

  // Runs both launches, each by `run`, and returns the table.
  Data table(const std::function<void(const ir::Kernel&, Launch&)>& run) {
    for (const Lowered& lowered : launches_) {
      Launch launch = prepared(lowered);
      run(lowered.kernel, launch);
      take(lowered, launch);
    }
    return values_.at(graph_.outputs.at(0).value);
  }
  const Data& value(Value v) const { return values_.at(v); }

 private:
  struct Less {
    bool operator()(Value a, Value b) const { return std::pair(a.node, a.out) < std::pair(b.node, b.out); }
  };
  Graph graph_;
  std::vector<Lowered> launches_;
  std::map<Value, Data, Less> values_;
};

// Runs every tile by a call of its own, the last first.
void call_backwards(KernelEntry entry, Launch& launch) {
  std::vector<void*> pointers;
  for (Data& data : launch.buffers) pointers.push_back(data.bytes.data());
  const std::vector<long> arguments(launch.arguments.begin(), launch.arguments.end());
  for (size_t phase = 0; phase < launch.tiles.size(); ++phase)
    for (long tile = launch.tiles[phase]; tile-- > 0;)
      entry(pointers.data(), arguments.data(), static_cast<long>(phase), tile, tile + 1);
}

// The sum of an element's updates as graph/infer.h defines it, in `Real`.
template <class Real>
std::vector<Real> sums_by_ranges(const Indices& indices, const Data& updates) {
  std::vector<size_t> order(indices.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto outside = [&](size_t i) { return indices[i] < 0 || indices[i] >= kRows; };
  const auto key = [&](size_t i) { return outside(i) ? kRows : indices[i]; };
  std::stable_sort(order.begin(), order.end(), [&](size_t x, size_t y) { return key(x) < key(y); });
  std::map<std::pair<int64_t, size_t>, std::vector<Real>> pieces;  // by row and range
  for (size_t place = 0; place < order.size(); ++place) {
    if (outside(order[place])) continue;
    const size_t range = place / static_cast<size_t>(scatter_range(kUpdates));
    auto& piece = pieces[{static_cast<int64_t>(indices[order[place]]), range}];
    piece.resize(kColumns);
    for (int64_t c = 0; c < kColumns; ++c)
      piece[static_cast<size_t>(c)] += static_cast<Real>(updates.at(static_cast<int64_t>(order[place]) * kColumns + c));
  }
  std::vector<Real> table(kRows * kColumns);
  std::vector<bool> begun(kRows);
  for (const auto& [at, piece] : pieces) {
    for (size_t c = 0; c < kColumns; ++c) {
      Real& sum = table[static_cast<size_t>(at.first) * kColumns + c];
      sum = begun[static_cast<size_t>(at.first)] ? sum + piece[c] : piece[c];
    }
    begun[static_cast<size_t>(at.first)] = true;
  }
  return table;
}

// Compares a table with sums in double in index order; an error is relative to the sum of absolute values.
void check_near(const Data& table, const Indices& indices, const Data& updates, double tolerance) {
  std::vector<double> sums(kRows * kColumns), magnitudes(kRows * kColumns);
  for (int64_t i = 0; i < kUpdates; ++i) {
    const double row = indices[static_cast<size_t>(i)];
    if (row < 0 || row >= kRows) continue;
    for (int64_t c = 0; c < kColumns; ++c) {
      const auto to = static_cast<size_t>(static_cast<int64_t>(row) * kColumns + c);
      sums[to] += updates.at(i * kColumns + c);
      magnitudes[to] += std::abs(updates.at(i * kColumns + c));
    }
  }
  for (size_t i = 0; i < sums.size(); ++i)
    BOOST_REQUIRE_LE(std::abs(table.at(static_cast<int64_t>(i)) - sums[i]), tolerance * magnitudes[i]);
}

template <class Real>
void check_bits(const Data& table, const std::vector<Real>& expected, const std::string& how) {
  for (size_t i = 0; i < expected.size(); ++i)
    BOOST_REQUIRE_MESSAGE(
        table.at(static_cast<int64_t>(i)) == static_cast<double>(expected[i]),
        how << ": element " << i << " is " << table.at(static_cast<int64_t>(i)) << ", not " << expected[i]);
}

template <class Real>
void check_sums(DType dtype, double tolerance) {
  Scatter cpu(dtype, generic_cpu_target()), gpu(dtype, gpu_target("sm_90"));
  const auto entries = compile_kernels({cpu.order().kernel, cpu.scatter().kernel}, vector_widths().back(), 0);
  const Data updates = updates_of(dtype, 5);
  const auto interpreted = [](const ir::Kernel& kernel, Launch& launch) { interpret(kernel, launch); };
  for (const auto& [name, indices] : kIndices) {
    BOOST_TEST_CONTEXT(name) {
      const std::vector<Real> expected = sums_by_ranges<Real>(indices, updates);
      cpu.set(indices, updates);
      const Data table = cpu.table(interpreted);
      check_bits(table, expected, "a CPU's kernel, interpreted");
      check_near(table, indices, updates, tolerance);
      cpu.set(indices, updates);
      check_bits(cpu.table([&](const ir::Kernel& k, Launch& launch) { call(entries.at(k.name), launch); }), expected,
                 "the tiles in two calls");
      cpu.set(indices, updates);
      check_bits(cpu.table([&](const ir::Kernel& k, Launch& launch) { call_backwards(entries.at(k.name), launch); }),
                 expected, "each tile in a call");
      gpu.set(indices, updates);
      check_bits(gpu.table(interpreted), expected, "a GPU's kernel, interpreted");
    }
  }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lower_scatter)

BOOST_AUTO_TEST_CASE(ranges_are_as_long_as_they_are_many) {
  for (int64_t updates = 1; updates < (int64_t{1} << 33); updates = updates * 5 / 4 + 1) {
    const int64_t length = scatter_range(updates), ranges = (updates + length - 1) / length;
    BOOST_TEST(ranges <= 4 * length);
    BOOST_TEST((length == 16 || length * length < updates));
  }
}

// A tile alone, on updates of 1 and a table of zeros, leaves as many ones in the table and in the pieces of shared rows
// as it got updates.
BOOST_AUTO_TEST_CASE(no_tile_gets_over_four_times_the_mean_of_the_updates) {
  Scatter run(DType::f32, generic_cpu_target());
  const auto entries = compile_kernels({run.order().kernel, run.scatter().kernel}, vector_widths().back(), 0);
  const std::vector<double> ones(kUpdates * kColumns, 1.0);
  for (const std::string name : {"zipf", "all equal", "the last row"}) {
    BOOST_TEST_CONTEXT(name) {
      run.set(kIndices.at(name), Data::of(DType::f32, ones));
      Launch order = run.prepared(run.order());
      call(entries.at(run.order().kernel.name), order);
      run.take(run.order(), order);
      std::vector<double> counts;
      for (long tile = 0; tile < run.scatter().tiles[0]; ++tile) {
        Launch launch = run.prepared(run.scatter());
        std::vector<void*> pointers;
        for (Data& data : launch.buffers) pointers.push_back(data.bytes.data());
        const std::vector<long> arguments(launch.arguments.begin(), launch.arguments.end());
        entries.at(run.scatter().kernel.name)(pointers.data(), arguments.data(), 0, tile, tile + 1);
        double count = 0;
        for (size_t b = 0; b < launch.buffers.size(); ++b)
          for (int64_t i = 0; run.scatter().kernel.buffers[b].written && i < launch.buffers[b].elements; ++i)
            count += launch.buffers[b].at(i);
        counts.push_back(count / kColumns);
      }
      BOOST_TEST(std::accumulate(counts.begin(), counts.end(), 0.0) == kUpdates);
      std::erase(counts, 0);  // tiles that clear rows
      const double mean = kUpdates / static_cast<double>(counts.size());
      BOOST_TEST(counts.size() == static_cast<size_t>((kUpdates + 31) / 32));
      BOOST_TEST(*std::max_element(counts.begin(), counts.end()) <= 4 * mean);
    }
  }
}

BOOST_AUTO_TEST_CASE(sums_in_f64) { check_sums<double>(DType::f64, 1e-12); }

// A sum of n terms in f32 errs by n 2^-24 of the sum of absolute values at most; n is a range and the number of ranges.
BOOST_AUTO_TEST_CASE(sums_in_f32) { check_sums<float>(DType::f32, (32 + 47) * 0x1p-24); }

// A CPU counts so many indices of few classes in several tiles, the last of which has fewer or none.
BOOST_AUTO_TEST_CASE(indices_of_few_classes_in_segments) {
  for (const int64_t indices : {63, 64, 509, 1500}) {
    Graph graph("order");
    const Tensor at = input(graph, "at", DType::i32, {indices});
    const IndexOrder sorted = index_order(at, 3);
    graph.outputs.push_back({"order", sorted.order.value(), Merge::sum});
    graph.outputs.push_back({"starts", sorted.starts.value(), Merge::sum});
    std::vector<double> values;
    for (int64_t i = 0; i < indices; ++i) values.push_back(static_cast<double>(i * i % 7) - 2);
    const Compiled compiled = check_compiled(graph, {.bindings = {{"at", {at.type(), values}}}});
    const Schedule& schedule = compiled.program.at(PartRole::final);
    const auto& launch = std::get<KernelLaunch>(schedule.steps.at(0).work);
    BOOST_TEST(launch.tiles ==
               (std::vector<int64_t>{std::min<int64_t>(indices / 16, 64), 1, std::min<int64_t>(indices / 16, 64)}));
    const auto entries = compile_kernels({schedule.kernels.at(0)}, vector_widths().back(), 0);
    Launch backwards{launch.arguments, launch.tiles, {}};
    backwards.buffers = {Data::of(DType::i32, values), Data::output(DType::i32, indices), Data::output(DType::i32, 4),
                         Data::output(DType::i32, 4 * launch.tiles[0])};
    call_backwards(entries.begin()->second, backwards);
    Indices order(values.size());
    std::iota(order.begin(), order.end(), 0.0);
    const auto row = [&](double i) {
      const double value = values[static_cast<size_t>(i)];
      return value < 0 || value > 3 ? 3 : value;
    };
    std::stable_sort(order.begin(), order.end(), [&](double i, double j) { return row(i) < row(j); });
    for (int64_t i = 0; i < indices; ++i) BOOST_TEST(backwards.buffers[1].at(i) == order[static_cast<size_t>(i)]);
  }
}

// The interpreter of kernels refuses to read past a buffer, such as the start of a row that the table does not have.
BOOST_AUTO_TEST_CASE(a_single_update_outside_of_the_table_is_no_row) {
  for (const Target& target : {generic_cpu_target(), gpu_target("sm_90")})
    for (const double index : {-9, 2, 3, 1000}) {
      Graph graph("single");
      const Tensor at = input(graph, "at", DType::i32, {1}), row = input(graph, "row", DType::f32, {1, 5});
      graph.outputs.push_back({"table", scatter_add(at, row, 3).value(), Merge::sum});
      check_compiled(graph, {.target = target, .bindings = {{"at", {at.type(), {index}}}}});
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::scatter_test
