#include "tests/gpu/checks/net_session.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace kb::test {
namespace {

Compiled compile_for(const Backend& backend, const Graph& graph) {
  CompileOptions options;
  options.target = backend.target();
  options.groups = {{.rule = momentum_sgd()}};
  return compile(graph, options);
}

}  // namespace

NetSession::NetSession(Backend& backend, uint32_t seed, int64_t samples)
    : graph(small_convnet(samples)), store(backend), session(backend, store, compile_for(backend, graph)) {
  store.initialise(seed);
}

void NetSession::fill(uint32_t i) {
  for (const auto& [name, array] : random_bindings(graph, i)) {
    if (!session.has_input(name) || array.type.rank() == 0) continue;
    std::byte* to = session.input(name);
    for (size_t at = 0; at < array.data.size(); ++at)
      store_element(session.input_type(name).dtype, to, static_cast<int64_t>(at), array.data[at]);
  }
  session.set_scalar("learning_rate", 0.01 * (1 + i));
  session.set_scalar("momentum", 0.9);
  session.set_scalar("weight_decay", 1e-4);
}

std::vector<double> losses_of_lent(Backend& backend, size_t blocks) {
  NetSession net(backend);
  const Type& type = net.session.input_type("images");
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  for (size_t b = 0; b < blocks; ++b) memory.push_back(net.session.allocate_host(type.bytes()));
  std::vector<double> losses;
  const int lag = net.session.lag();
  const auto read = [&](int age) { losses.push_back(net.session.read_scalar("loss", age)); };
  for (uint32_t i = 0; i < 6; ++i) {
    net.fill(0);
    std::byte* block = memory[i % blocks]->data();
    const std::vector<double> images = random_bindings(net.graph, i).at("images").data;
    for (size_t at = 0; at < images.size(); ++at)
      store_element(type.dtype, block, static_cast<int64_t>(at), images[at]);
    net.session.lend("images", block);
    net.session.step();
    if (i >= static_cast<uint32_t>(lag)) read(lag);
  }
  for (int age = lag - 1; age >= 0; --age) read(age);
  return losses;
}

Trained train(NetSession& net, uint32_t from, uint32_t end) {
  Trained result;
  const int lag = net.session.lag();
  const auto read = [&](int age) { result.losses.push_back(net.session.read_scalar("loss", age)); };
  for (uint32_t i = from; i < end; ++i) {
    net.step(i);
    if (i - from >= static_cast<uint32_t>(lag)) read(lag);
  }
  for (int age = lag - 1; age >= 0; --age) read(age);
  result.state = net.store.canonical();
  return result;
}

Trained train(Backend& backend, uint32_t steps) {
  NetSession net(backend);
  return train(net, 0, steps);
}

std::unique_ptr<Backend> small_cpu() {
  CpuOptions options{2, 2, ""};
  options.narrow_weight_gradients = true;
  return make_cpu_backend(options);
}

void check_state(const std::vector<NamedTensor>& expected, const std::vector<NamedTensor>& got, double bound) {
  BOOST_REQUIRE(expected.size() == got.size());
  for (size_t t = 0; t < got.size(); ++t) {
    const NamedTensor &a = expected[t], &b = got[t];
    BOOST_REQUIRE(a.name == b.name);
    BOOST_REQUIRE((a.type == b.type));
    double largest = 1e-3, difference = 0;
    for (int64_t i = 0; i < a.type.elements(); ++i) {
      const double x = load_element(a.type.dtype, a.data.data(), i), y = load_element(b.type.dtype, b.data.data(), i);
      largest = std::max(largest, std::abs(x));
      difference = std::max(difference, std::abs(x - y));
    }
    BOOST_TEST(difference <= bound * largest, a.name << " differs by " << difference << " of " << largest);
  }
}

void check_close(const Trained& expected, const Trained& got, double bound) {
  BOOST_REQUIRE(expected.losses.size() == got.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i) BOOST_TEST(std::abs(expected.losses[i] - got.losses[i]) <= bound);
  check_state(expected.state, got.state, bound);
}

void check_equal(const Trained& expected, const Trained& got) {
  BOOST_TEST(expected.losses == got.losses);
  BOOST_TEST(state_sha256(views_of(expected.state)) == state_sha256(views_of(got.state)));
}

}  // namespace kb::test
