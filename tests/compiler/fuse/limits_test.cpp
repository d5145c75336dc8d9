// Tests how far apart, how large and how many nodes may be that share a launch, and which values a launch computes
// again instead of reading them.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>

#include "compiler/fuse/fuse.h"
#include "compiler/fuse/materialise.h"
#include "graph/functions.h"

namespace kb::fuse_limits_test {

namespace {

// A graph of physical tensors, and the launches that it becomes.
struct Net {
  Graph graph{"net"};
  int names = 0;

  std::string fresh_name() { return "v" + std::to_string(names++); }
  Tensor in(const Dims& shape, DType dtype = DType::f32) {
    return shape.empty() ? scalar_input(graph, fresh_name(), dtype) : input(graph, fresh_name(), dtype, shape);
  }
  Tensor out(Tensor x) {
    graph.outputs.push_back({fresh_name(), x.value(), Merge::sum});
    return x;
  }
  std::vector<Group> groups(const Target& target = generic_cpu_target()) const { return fuse(graph, target); }
  size_t launches() const { return groups().size(); }
  // Returns how many values with so many elements are computed and written to memory.
  int64_t written(int64_t elements) const {
    const Materialised chosen = choose_materialised(graph, false);
    int64_t count = 0;
    for (int32_t n = 0; n < std::ssize(graph.nodes); ++n)
      count += chosen.root[static_cast<size_t>(chosen.ids({n, 0}))] != 0 && graph.type({n, 0}).elements() == elements;
    return count;
  }
};

Tensor chain(Tensor x, int64_t nodes) {
  for (int64_t i = 0; i < nodes; ++i) x = neg(x);
  return x;
}

const Dims kWide = {40, 50};

}  // namespace

BOOST_AUTO_TEST_SUITE(fuse_limits)

// Results over one domain share a launch if they are at most 16 nodes apart, or 48 if both read one large input.
BOOST_AUTO_TEST_CASE(neighbours_share_a_launch) {
  for (const bool siblings : {false, true}) {
    const int32_t most = siblings ? 48 : 16;
    for (const int32_t apart : {most - 1, most, most + 1}) {
      Net net;
      const Tensor a = net.in(kWide), b = siblings ? a : net.in(kWide), scalar = net.in({});
      const Tensor small = broadcast_to(net.in({50}), kWide);
      const Tensor first = net.out(a * small);
      net.out(chain(scalar, apart - 1));  // a launch of its own
      const Tensor second = net.out(b + small);
      BOOST_REQUIRE(second.value().node - first.value().node == apart);
      BOOST_TEST(net.launches() == (apart <= most ? 2u : 3u), apart << (siblings ? " siblings" : " strangers"));
    }
  }
}

// A reader of a launch's result joins it however far away it is: the latest of several launches.
BOOST_AUTO_TEST_CASE(readers_join_the_latest_launch_that_they_read) {
  Net net;
  const Tensor first = net.out(exp(net.in(kWide)));
  net.out(chain(net.in({}), 60));
  const Tensor second = net.out(exp(net.in(kWide)));
  net.out(chain(net.in({7}), 60));
  const Tensor last = net.out(first * second);
  const std::vector<Group> groups = net.groups();
  BOOST_TEST(groups.size() == 4u);
  const auto writes = [](const Group& group, Tensor x) { return std::ranges::count(group.outputs, x.value()) > 0; };
  BOOST_TEST(std::ranges::any_of(groups, [&](const Group& g) { return writes(g, second) && writes(g, last); }));
}

// Sums over rows of one domain share a launch next door: strangers only if they have at most 64 elements a sample.
BOOST_AUTO_TEST_CASE(sums_of_small_rows_share_a_launch) {
  const auto launches = [](int64_t elements, bool siblings, int32_t between) {
    Net net;
    const Tensor a = net.in({30, elements}), b = siblings ? a : net.in({30, elements});
    net.out(sum(a, {0}));
    if (between > 0) net.out(chain(net.in({}), between));
    net.out(max(b, {0}));
    return net.launches();
  };
  BOOST_TEST(launches(64, false, 0) == 1u);
  BOOST_TEST(launches(65, false, 0) == 2u);
  BOOST_TEST(launches(65, true, 0) == 1u);
  BOOST_TEST(launches(65, true, 40) == 2u);
  BOOST_TEST(launches(65, true, 60) == 3u);
}

// Rows that stay in cache, of up to 65536 elements, are read once for a sum and for what else reads them, and
// strangers' sums share a launch.
BOOST_AUTO_TEST_CASE(rows_are_read_once) {
  for (const int64_t length : {50, 65536, 65537}) {
    Net siblings;
    const Tensor x = siblings.in({40, length});
    siblings.out(sum(x, {1}));
    siblings.out(neg(x));
    BOOST_TEST(siblings.launches() == (length <= 65536 ? 1u : 2u));
  }
  Net strangers;
  strangers.out(sum(strangers.in({30, 100}), {1}));
  strangers.out(max(strangers.in({30, 100}), {1}));
  BOOST_TEST(strangers.launches() == 1u);
}

// The finish of a reduction computes nothing that is larger than its result, and a point-wise launch has none.
BOOST_AUTO_TEST_CASE(a_finish_is_as_large_as_the_result) {
  const auto launches = [](const std::function<Tensor(Net&, Tensor)>& finish) {
    Net net;
    const Tensor x = net.in(kWide);
    net.out(finish(net, sum(x, {1})));
    return net.launches();
  };
  BOOST_TEST(launches([](Net& net, Tensor r) { return r * net.in({40}); }) == 1u);
  BOOST_TEST(launches([](Net& net, Tensor r) { return r + reshape(slice(neg(net.in(kWide)), 1, 0, 1), {40}); }) == 2u);
  Net net;
  const Tensor y = net.out(exp(net.in(kWide)));
  net.out(neg(reshape(y, {2000})));
  BOOST_TEST(net.launches() == 2u);
}

BOOST_AUTO_TEST_CASE(a_launch_has_24_operands_at_most) {
  for (const size_t count : {24u, 25u}) {
    Net net;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < count; ++i) inputs.push_back(net.in(kWide));
    for (const Tensor& x : inputs) net.out(exp(x));
    BOOST_TEST(net.launches() == (count == 24 ? 1u : 2u));
  }
}

BOOST_AUTO_TEST_CASE(a_launch_has_240_nodes_at_most) {
  for (const int count : {12, 13}) {
    Net net;
    const Tensor x = net.in(kWide);
    for (int i = 0; i < count; ++i) net.out(chain(x, 20));
    BOOST_TEST(net.launches() == (count == 12 ? 1u : 2u));
  }
}

// The latest four launches are asked, and the latest four that read an input.
BOOST_AUTO_TEST_CASE(the_latest_launches_are_asked) {
  for (const bool siblings : {false, true})
    for (const int64_t others : {3, 4}) {
      Net net;
      const Tensor a = net.in(kWide), b = siblings ? a : net.in(kWide);
      std::vector<Tensor> between;
      for (int64_t i = 0; i < others; ++i) between.push_back(net.in({2000 + i}));
      net.out(exp(a));
      for (const Tensor& x : between) net.out(exp(x));
      net.out(tanh(b));
      const bool joins = siblings || others == 3;
      BOOST_TEST(net.launches() == static_cast<size_t>(others) + (joins ? 1 : 2));
    }
}

// An expression of more than 8 large inputs or 100 nodes is written.
BOOST_AUTO_TEST_CASE(long_expressions_are_cut) {
  for (const int count : {9, 10}) {
    Net net;
    Tensor total = net.in(kWide);
    for (int i = 1; i < count; ++i) total = total + net.in(kWide);
    net.out(total);
    BOOST_TEST(net.written(2000) == (count == 9 ? 1 : 2));
  }
  for (const int nodes : {101, 102}) {
    Net net;
    net.out(chain(net.in(kWide), nodes));
    BOOST_TEST(net.written(2000) == (nodes == 101 ? 1 : 2));
  }
}

// A value that two launches read is written if it has three large inputs or calls a math function; else both compute
// it.
BOOST_AUTO_TEST_CASE(what_is_dear_is_written_once) {
  const auto written = [](const std::function<Tensor(Net&)>& value) {
    Net net;
    const Tensor v = value(net);
    net.out(v - sum(v, {0}));
    return net.written(2000) == 2;
  };
  BOOST_TEST(!written([](Net& net) { return net.in(kWide)*net.in(kWide); }));
  BOOST_TEST(!written([](Net& net) { return net.in(kWide)*net.in(kWide)*net.in({50}); }));
  BOOST_TEST(written([](Net& net) { return net.in(kWide)*net.in(kWide)*net.in(kWide); }));
  BOOST_TEST(written([](Net& net) { return exp(net.in(kWide)); }));
  BOOST_TEST(written([](Net& net) { return neg(exp(net.in(kWide))); }));
  BOOST_TEST(!written([](Net& net) { return net.in(kWide)*exp(net.in({50})); }));
  BOOST_TEST(!written([](Net& net) { return net.in({2, 1000}) * net.in({2, 1000}) * net.in({1000}); }));
  // An element of a concat reads one of its inputs.
  BOOST_TEST(!written([](Net& net) {
    const Dims part = {40, 40};
    return concat({net.in(part)*net.in(part)*net.in(part), net.in({40, 10})}, 1);
  }));
}

// A small value that is spread is written first, unless it is at most two nodes that neither divide nor take a root, or
// one element without a math function.
BOOST_AUTO_TEST_CASE(what_is_spread_is_computed_once) {
  const auto launches = [](const Dims& shape, const std::function<Tensor(Tensor)>& f) {
    Net net;
    const Tensor x = net.in(kWide);
    net.out(x * f(net.in(shape)));
    return net.launches();
  };
  const auto negated = [](int64_t nodes) { return [=](Tensor x) { return chain(x, nodes); }; };
  const auto root = [](Tensor x) { return sqrt(x); };
  BOOST_TEST(launches({50}, negated(2)) == 1u);
  BOOST_TEST(launches({50}, negated(3)) == 2u);
  BOOST_TEST(launches({50}, root) == 2u);
  BOOST_TEST(launches({50}, [](Tensor x) { return neg(sqrt(x)); }) == 2u);
  BOOST_TEST(launches({}, negated(3)) == 1u);
  BOOST_TEST(launches({}, root) == 1u);
  BOOST_TEST(launches({}, [](Tensor x) { return exp(neg(exp(x))); }) == 2u);
  Net net;  // nothing is repeated
  net.out(net.in({40, 1, 50}) * broadcast_axes(chain(net.in(kWide), 3), {40, 1, 50}, {0, 2}));
  BOOST_TEST(net.launches() == 1u);
}

// A launch that reads what a written value was made from computes it again, if that takes at most 24 nodes.
BOOST_AUTO_TEST_CASE(what_follows_from_inputs_is_not_read) {
  const auto reads = [](const std::function<Tensor(Net&, Tensor)>& value) {
    Net net;
    const Tensor x = net.in(kWide), v = net.out(value(net, x));
    net.out(sum(x * v, {0}));
    const std::vector<Group> groups = net.groups();
    BOOST_REQUIRE(groups.size() == 2u);
    return std::ranges::count(groups[1].inputs, v.value()) == 1;
  };
  BOOST_TEST(!reads([](Net&, Tensor x) { return chain(x, 24); }));
  BOOST_TEST(reads([](Net&, Tensor x) { return chain(x, 25); }));
  BOOST_TEST(reads([](Net&, Tensor x) { return exp(x); }));
  BOOST_TEST(!reads([](Net& net, Tensor x) { return x * net.in({50}); }));
  BOOST_TEST(reads([](Net& net, Tensor x) { return x * net.in(kWide); }));
}

// An input of half of the elements counts as large.
BOOST_AUTO_TEST_CASE(what_follows_from_small_inputs_is_not_read) {
  for (const int64_t rows : {2, 3}) {
    Net net;
    const Tensor x = net.in({rows, 1000}), v = net.out(x * net.in({1000}));
    net.out(sum(x * v, {0}));
    BOOST_TEST(std::ranges::count(net.groups().back().inputs, v.value()) == (rows == 2 ? 1 : 0));
  }
}

// Each reader of a concat of up to four parts computes it.
BOOST_AUTO_TEST_CASE(a_concat_of_many_parts_is_written) {
  for (const int64_t parts : {4, 5}) {
    Net net;
    std::vector<Tensor> all;
    for (int64_t i = 0; i < parts; ++i) all.push_back(net.in({40, 10}));
    const Tensor v = concat(all, 1);
    net.out(v - sum(v, {0}));
    BOOST_TEST(net.written(400 * parts) == (parts == 4 ? 1 : 2));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::fuse_limits_test
