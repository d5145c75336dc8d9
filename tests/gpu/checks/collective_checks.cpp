#include "tests/gpu/checks/collective_checks.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <thread>

#include "compiler/print/cuda.h"
#include "runtime/cuda/memory.h"
#include "tests/gpu/checks/device_block.h"
#include "tests/runtime/comm/conformance.h"
#include "tests/support/in_process.h"

namespace kb::test {
namespace {

struct Case {
  DType dtype;
  int64_t elements;
  RankGroup among;
  std::unique_ptr<cuda::Reduction> reduction;
};

// The capture branches off to the stream of sums and joins the compute stream again, as in a training step. With one
// rank the sum is that rank's own array.
void a_sum_is_captured_and_replayed(TestGpu& gpu) {
  const OpenGpu open(gpu);
  const cuda::Driver& driver = *open.driver;
  const cuda::OpenDevice& device = open.device;
  const auto alone = make_local_communicator();
  cuda::Collective collective(gpu.factories({}).nccl, device, *alone, Algorithm::nccl);
  const auto reduction = collective.plan(1000, DType::f32, {}, cuda::device_target(device));
  const Bytes given = contribution(DType::f32, 1000, 0, 0);
  DeviceBlock block(device, std::ssize(given));
  block.write(given);
  cuda::EventHandle ready(driver), done(driver);
  const auto enqueue = [&] {
    ready.record(device.compute);
    ready.wait_on(device.communication);
    reduction->enqueue(device.communication, block.data(), nullptr);
    done.record(device.communication);
    done.wait_on(device.compute);
  };
  enqueue();
  device.wait();
  cuda::Captured captured = nullptr;
  cuda::CapturedExec graph = nullptr;
  driver(driver.capture_begin, device.compute, cuda::CaptureMode::thread_local_);
  enqueue();
  driver(driver.capture_end, device.compute, &captured);
  driver(driver.graph_instantiate, &graph, captured, 0ull);
  driver(driver.graph_destroy, captured);
  for (int i = 0; i < 3; ++i) driver(driver.graph_launch, graph, device.compute);
  device.wait();
  collective.look();
  const std::vector<std::byte> got = block.read();
  BOOST_TEST((std::memcmp(got.data(), given.data(), given.size()) == 0));
  driver(driver.graph_exec_destroy, graph);
}

// There are as many ranks as devices, up to four; each is a thread.
void sums_have_the_bits_of_the_hosts(TestGpu& gpu) {
  const std::unique_ptr<cuda::Driver> driver = gpu.driver();
  int devices = 0;
  (*driver)(driver->init, 0u);
  (*driver)(driver->device_count, &devices);
  const int ranks = std::clamp(devices, 1, 4);
  if (ranks == 1) std::printf("one device: one rank, whose sums are its own\n");
  const auto network = make_in_process_network(ranks);
  std::vector<std::string> wrong(static_cast<size_t>(ranks));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        std::string& text = wrong[static_cast<size_t>(rank)];
        try {
          const auto communicator = make_in_process_communicator(network, rank);
          const cuda::OpenDevice device(*driver, rank);
          for (const Algorithm algorithm : {Algorithm::halving_doubling, Algorithm::nccl})
            if (text.empty())
              text = sums_conform(device, gpu.factories({}), *communicator, algorithm, {0, 1, 997, 1 << 20});
        } catch (const std::exception& error) {
          text = error.what();
          kill_rank(*network, rank);
        }
      });
  }
  for (const std::string& text : wrong) BOOST_TEST(text == "");
}

}  // namespace

std::string sums_conform(const cuda::OpenDevice& device, const cuda::Factories& factories, Communicator& ranks,
                         Algorithm algorithm, std::initializer_list<int64_t> sizes) {
  device.make_current();
  const cuda::Collective collective(factories.nccl, device, ranks, algorithm);
  std::vector<RankGroup> groups = {{}};
  if (algorithm == Algorithm::halving_doubling && ranks.size() % 2 == 0)
    groups.push_back({ranks.rank() % 2, ranks.size() / 2, 2});
  std::vector<Case> cases;
  KernelBatch batch;
  batch.prelude = cuda_prelude();
  int64_t scratch_bytes = 0;
  for (const int64_t elements : sizes)
    for (const DType dtype : kSummed) {
      for (const RankGroup& among : groups) {
        auto reduction = collective.plan(elements, dtype, among, cuda::device_target(device));
        scratch_bytes = std::max(scratch_bytes, reduction->scratch_bytes());
        for (const ir::Kernel& kernel : reduction->kernels())
          batch.kernels.push_back({kernel.name, print_cuda(kernel)});
        cases.push_back({dtype, elements, among, std::move(reduction)});
      }
    }
  const auto compiler = factories.compiler(device);
  LoadReport report;
  const cuda::Modules modules(device, *compiler, batch, report);
  const auto scratch = cuda::allocate_device(device, scratch_bytes);
  cuda::Transfers transfers(device);
  int number = 0;
  for (Case& c : cases) {
    c.reduction->use(modules);
    Bytes data = contribution(c.dtype, c.elements, ranks.rank(), number);
    const auto array = cuda::allocate_device(device, std::ssize(data));
    transfers.upload(array->data(), data.data(), std::ssize(data));
    c.reduction->enqueue(device.communication, array->data(), scratch->data());
    device.wait(device.communication);
    transfers.download(data.data(), array->data(), std::ssize(data));
    const RankGroup all = c.among.is_all() ? RankGroup{0, ranks.size(), 1} : c.among;
    const std::string wrong =
        algorithm == Algorithm::halving_doubling
            ? difference(c.dtype, tree_sum(c.dtype, c.elements, all.first, all.count, number, all.stride), data)
            : distance(c.dtype, c.elements, ranks.size(), number, data);
    if (!wrong.empty()) return std::to_string(c.elements) + " " + std::string(name(c.dtype)) + ": " + wrong;
    ++number;
  }
  return "";
}

std::vector<GpuCheck> collective_checks() {
  return {{"a_sum_is_captured_and_replayed", a_sum_is_captured_and_replayed, &DriverCalls::graph_launches},
          {"sums_have_the_bits_of_the_hosts", sums_have_the_bits_of_the_hosts, &DriverCalls::copies}};
}

}  // namespace kb::test
