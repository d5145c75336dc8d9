// Tests that a steady step allocates nothing on the host and calls no function of the driver that allocates.
#include <boost/test/unit_test.hpp>
#include <cstring>

#include "runtime/cpu/arena_guard.h"
#include "tests/gpu/checks/net_session.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/cuda/fake_backend.h"

namespace kb::steady_state_test {

using namespace kb::test;

namespace {

bool is_hollow = false;

// A call that, once it is hollow, does nothing and succeeds.
template <auto kMember>
struct Hollow;
template <class... P, cuda::Driver::Call<P...> cuda::Driver::*kMember>
struct Hollow<kMember> {
  static inline cuda::Result (*original)(P...) = nullptr;
  static cuda::Result call(P... arguments) { return is_hollow ? cuda::kSuccess : original(arguments...); }
  static void set(cuda::Driver& driver) { original = std::exchange((driver.*kMember).function, call); }
};

// The fake GPU records its calls, for which it allocates. The functions that a steady step calls are made hollow, so
// that all allocations left are Kilobatch's own.
class HollowGpu : public FakeTestGpu {
 public:
  ~HollowGpu() override { is_hollow = false; }

 private:
  std::unique_ptr<cuda::Driver> bare_driver() override {
    std::unique_ptr<cuda::Driver> driver = gpu.driver();
    Hollow<&cuda::Driver::event_synchronize>::set(*driver);
    Hollow<&cuda::Driver::stream_wait>::set(*driver);
    Hollow<&cuda::Driver::copy_to_device>::set(*driver);
    Hollow<&cuda::Driver::copy_on_device>::set(*driver);
    Hollow<&cuda::Driver::event_record>::set(*driver);
    Hollow<&cuda::Driver::graph_launch>::set(*driver);
    return driver;
  }
};

void step(Session& session, int64_t i) {
  for (const char* name : {"images", "labels", "weights"})
    if (i % 3 != 2 || name[0] != 'w')  // the weights keep their values in every third step
      std::memset(session.input(name), 0, static_cast<size_t>(session.input_type(name).bytes()));
  session.set_scalar("learning_rate", 1e-3 * static_cast<double>(i));
  session.step();
  session.read_scalar("loss", session.lag());
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_steady_state)

BOOST_AUTO_TEST_CASE(ten_steps_allocate_nothing) {
  if (kGuarded) {
    BOOST_TEST_MESSAGE("skipped: AddressSanitizer allocates");
    return;
  }
  HollowGpu gpu;
  const std::unique_ptr<Backend> backend = gpu.backend();
  NetSession net(*backend);
  train(net, 0, 4);
  for (int64_t i = 0; i < 6; ++i) step(net.session, i);
  is_hollow = true;
  gpu.gpu.log.clear();
  const DriverCalls before = gpu.calls;
  const int64_t allocations = allocations_of_ours();
  for (int64_t i = 0; i < 10; ++i) step(net.session, i);
  const int64_t made = allocations_of_ours() - allocations;
  ::operator delete(::operator new(4));
  BOOST_TEST(made == 0);
  BOOST_TEST(allocations_of_ours() > allocations);  // the counter counts
  BOOST_TEST(gpu.gpu.log.empty());                  // no other call of the driver
  BOOST_TEST(gpu.calls.graph_launches - before.graph_launches == 10);
  BOOST_TEST(gpu.calls.allocations == before.allocations);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::steady_state_test
