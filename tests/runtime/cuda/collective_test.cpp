// Sums over ranks on fake GPUs: their bits are those of the host's reductions, and no fault of order goes unseen.
#include "runtime/cuda/collective.h"

#include <boost/test/unit_test.hpp>
#include <mutex>

#include "compiler/print_cuda.h"
#include "runtime/cuda/memory.h"
#include "tests/runtime/comm/conformance.h"
#include "tests/runtime/cuda/fake_ranks.h"
#include "tests/runtime/worker_run.h"

using namespace kb;
using namespace kb::test;

namespace {

auto says(std::vector<std::string> parts) {
  return [parts](const std::exception& error) {
    BOOST_TEST_MESSAGE(error.what());
    return std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
      return std::string(error.what()).find(part) != std::string::npos;
    });
  };
}

// ---- reductions alone

struct Case {
  DType dtype;
  int64_t elements;
  std::unique_ptr<cuda::Reduction> reduction;
};

std::unique_ptr<const cuda::Driver> initialised(const FakeRank& rank) {
  auto driver = rank.gpu.gpu.driver();
  (*driver)(driver->init, 0u);
  return driver;
}

// Every dtype and size, one after the other on one stream; "" or what is wrong.
std::string conforms_on_gpus(const FakeRank& rank, Algorithm algorithm, std::initializer_list<int64_t> sizes) {
  const auto driver = initialised(rank);
  cuda::OpenDevice device(*driver, 0);
  cuda::Collective collective([&] { return rank.nccl.table(); }, device, rank.communicator, algorithm);
  const Target target = cuda::device_target(device);
  std::vector<Case> cases;
  KernelBatch batch;
  batch.prelude = cuda_prelude();
  int64_t scratch_bytes = 0;
  for (const int64_t elements : sizes)
    for (const DType dtype : kSummed) {
      Case& c = cases.emplace_back(Case{dtype, elements, collective.plan(elements, dtype, target)});
      scratch_bytes = std::max(scratch_bytes, c.reduction->scratch_bytes());
      for (const ir::Kernel& kernel : c.reduction->kernels())
        batch.kernels.push_back({kernel.name, print_cuda(kernel)});
    }
  const auto compiler = rank.gpu.factories({}).compiler(device);
  LoadReport report;
  const cuda::Modules modules(device, *compiler, batch, report);
  const auto scratch = cuda::allocate_device(device, scratch_bytes);
  cuda::Transfers transfers(device);
  const int ranks = rank.communicator.size();
  for (size_t i = 0; i < cases.size(); ++i) {
    Case& c = cases[i];
    c.reduction->use(modules);
    const auto number = static_cast<int>(i);
    Bytes data = contribution(c.dtype, c.elements, rank.number(), number);
    const auto array = cuda::allocate_device(device, std::ssize(data));
    transfers.upload(array->data(), data.data(), std::ssize(data));
    c.reduction->enqueue(device.communication, array->data(), scratch->data());
    device.wait(device.communication);
    transfers.download(data.data(), array->data(), std::ssize(data));
    const std::string wrong = algorithm == Algorithm::halving_doubling
                                  ? difference(c.dtype, tree_sum(c.dtype, c.elements, 0, ranks, number), data)
                                  : distance(c.dtype, c.elements, ranks, number, data);
    if (!wrong.empty()) return std::to_string(c.elements) + " " + std::string(name(c.dtype)) + ": " + wrong;
  }
  return "";
}

// ---- sessions

// Every rank's outcome; they must agree.
WorkerOutcome run_on_gpus(const WorkerRun& run, const CudaOptions& options = {}, const FakeOptions& gpu = {}) {
  std::vector<WorkerOutcome> outcomes(static_cast<size_t>(run.split.processes));
  on_fake_ranks(
      run.split.processes,
      [&](const FakeRank& rank) {
        const auto backend = rank.backend(options);
        outcomes[static_cast<size_t>(rank.number())] = run_process(run, *backend, rank.number());
      },
      gpu);
  for (const WorkerOutcome& outcome : outcomes) BOOST_TEST((outcome == outcomes[0]));
  return outcomes[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_collective)

BOOST_AUTO_TEST_CASE(sums_have_the_bits_of_the_hosts) {
  for (const int ranks : {1, 2, 3, 4, 5, 8})
    on_fake_ranks(ranks, [](const FakeRank& rank) {
      const std::string wrong = conforms_on_gpus(rank, Algorithm::halving_doubling, {0, 1, 997, 20000});
      if (!wrong.empty()) throw Error(wrong);
    });
}

BOOST_AUTO_TEST_CASE(the_librarys_own_all_reduce_sums_too) {
  for (const int ranks : {1, 3, 4})
    on_fake_ranks(ranks, [](const FakeRank& rank) {
      const std::string wrong = conforms_on_gpus(rank, Algorithm::nccl, {0, 1, 997});
      if (!wrong.empty()) throw Error(wrong);
      const std::vector<std::string> calls = rank.nccl.calls(rank.number());
      if (calls.at(0) != "all-reduce 1 f64") throw Error("the library was not asked: " + calls[0]);
    });
}

BOOST_AUTO_TEST_CASE(splits_end_in_the_same_bits) {
  WorkerRun run{.steps = 5, .bucket_bytes = 4096};
  for (const int workers : {2, 4}) {
    run.split = {1, workers};
    const WorkerOutcome expected = run_on_gpus(run);
    for (int processes = 2; processes <= workers; processes *= 2) {
      run.split = {processes, workers / processes};
      const WorkerOutcome got = run_on_gpus(run);
      BOOST_TEST_INFO("split " << run);
      BOOST_TEST(got.state == expected.state);
      BOOST_TEST((got.losses == expected.losses));
    }
  }
}

BOOST_AUTO_TEST_CASE(steps_that_are_not_captured_give_the_same_bits) {
  const WorkerRun run{.split = {3, 1}, .steps = 5, .bucket_bytes = 4096, .reduce_precision = DType::bf16};
  const WorkerOutcome captured = run_on_gpus(run);
  BOOST_TEST((captured == run_on_gpus(run, {.sync_steps = true, .cache_directory = ""})));
  BOOST_TEST((captured == run_on_gpus(run, {}, {.lazy = false})));
}

BOOST_AUTO_TEST_CASE(the_librarys_own_all_reduce_trains_too) {
  const WorkerRun run{.split = {2, 1}, .steps = 5, .bucket_bytes = 4096};
  const WorkerOutcome fast = run_on_gpus(run, {.cache_directory = "", .all_reduce = Algorithm::nccl});
  // Of two ranks there is but one sum.
  BOOST_TEST((fast == run_on_gpus(run)));
}

BOOST_AUTO_TEST_CASE(a_missing_library_is_every_ranks_error) {
  BOOST_CHECK_EXCEPTION(
      cuda::open_nccl("libnccl_that_is_not_there.so.2"), Error,
      says({"several GPUs cannot be used\n  missing: libnccl.so.2\n", "hint:    apt install libnccl2"}));
  BOOST_CHECK_EXCEPTION(cuda::open_nccl("libm.so.6"), Error, says({"libm.so.6 has no ncclGetErrorString"}));
  std::mutex mutex;
  std::vector<std::string> errors;
  on_fake_ranks(3, [&](const FakeRank& rank) {
    const auto driver = initialised(rank);
    const cuda::OpenDevice device(*driver, 0);
    const auto open = [&]() -> std::unique_ptr<const cuda::Nccl> {
      if (rank.number() == 1) throw Error("none here");
      return rank.nccl.table();
    };
    try {
      cuda::Collective(open, device, rank.communicator, Algorithm::halving_doubling);
    } catch (const Error& error) {
      const std::scoped_lock lock(mutex);
      errors.push_back(error.what());
    }
  });
  BOOST_TEST(errors == std::vector<std::string>(3, "rank 1: none here"), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(an_old_library_is_named_with_what_it_lacks) {
  for (const auto& [version, text] : {std::pair{20904, "NCCL 2.9.4"}, std::pair{2708, "NCCL 2.7.8"}}) {
    FakeNccl old(version);
    BOOST_CHECK_EXCEPTION(cuda::check_version(*old.table()), Error,
                          says({"missing: NCCL 2.10.0 or newer: send and receive in captured graphs, sums of bf16\n",
                                std::string("got:     ") + text + "\n"}));
  }
  FakeNccl least(cuda::kLeastNccl);
  BOOST_CHECK_NO_THROW(cuda::check_version(*least.table()));
  BOOST_TEST(least.table()->version_text() == "NCCL 2.10.0");
}

BOOST_AUTO_TEST_SUITE_END()
