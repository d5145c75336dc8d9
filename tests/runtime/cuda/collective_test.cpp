// Sums over ranks on fake GPUs: they have the bits of the host's reductions, and a missing wait between streams, a dead
// rank or a failed call is an error.
#include "runtime/cuda/collective.h"

#include <boost/test/unit_test.hpp>
#include <map>
#include <mutex>

#include "recipes/papers/table.h"
#include "tests/gpu/checks/collective_checks.h"
#include "tests/gpu/checks/recipe_run.h"
#include "tests/runtime/cuda/fake_ranks.h"
#include "tests/runtime/worker_run.h"
#include "tests/support/in_process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::collective_test {

using namespace kb::test;

namespace {

std::unique_ptr<const cuda::Driver> initialised(const FakeRank& rank) {
  auto driver = rank.gpu.gpu.driver();
  (*driver)(driver->init, 0u);
  return driver;
}

// Runs reductions without a session.
void conform(const FakeRank& rank, Algorithm algorithm, std::initializer_list<int64_t> sizes) {
  const auto driver = initialised(rank);
  const cuda::OpenDevice device(*driver, 0);
  const std::string wrong = sums_conform(device, rank.gpu.factories({}), rank.communicator, algorithm, sizes);
  if (!wrong.empty()) throw Error(wrong);
}

// ---- sessions

// Runs every process of the run on a fake GPU of its own, checks that all outcomes are equal, and returns the first.
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

// ---- faults planted

// A planted fault: waits of stream `waits` for events that stream `records` has recorded do nothing. Streams have
// numbers: 1 computes, 2 copies, 3 communicates.
struct PlantedGap {
  cuda::Stream waits = nullptr, records = nullptr;
  std::map<cuda::Event, cuda::Stream> recorded;
};
thread_local PlantedGap gap;
cuda::Result (*stream_wait)(cuda::Stream, cuda::Event, unsigned) = nullptr;
cuda::Result (*event_record)(cuda::Event, cuda::Stream) = nullptr;

cuda::Stream stream_number(size_t number) { return reinterpret_cast<cuda::Stream>(number << 4); }

std::unique_ptr<const cuda::Driver> driver_with_gap(const FakeRank& rank, size_t waits, size_t records) {
  auto driver = rank.gpu.gpu.driver();
  static std::once_flag once;
  std::call_once(once, [&] {
    stream_wait = driver->stream_wait.function;
    event_record = driver->event_record.function;
  });
  gap = {stream_number(waits), stream_number(records), {}};
  driver->event_record.function = [](cuda::Event event, cuda::Stream stream) {
    gap.recorded[event] = stream;
    return event_record(event, stream);
  };
  driver->stream_wait.function = [](cuda::Stream stream, cuda::Event event, unsigned flags) {
    return stream == gap.waits && gap.recorded[event] == gap.records ? cuda::kSuccess
                                                                     : stream_wait(stream, event, flags);
  };
  return driver;
}

// If `profiled`, steps are not captured, and no host waits between their parts.
void train_with_gap(size_t waits, size_t records, bool profiled) {
  const WorkerRun run{.split = {2, 1}, .steps = 4, .bucket_bytes = 4096, .profiled = profiled};
  on_fake_ranks(2, [&](const FakeRank& rank) {
    const auto backend = rank.backend({}, driver_with_gap(rank, waits, records));
    run_process(run, *backend, rank.number());
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_collective)

BOOST_AUTO_TEST_CASE(sums_have_the_bits_of_the_hosts) {
  for (const int ranks : {1, 2, 3, 4, 5, 8})
    on_fake_ranks(ranks, [](const FakeRank& rank) { conform(rank, Algorithm::halving_doubling, {0, 1, 997, 20000}); });
}

BOOST_AUTO_TEST_CASE(the_librarys_own_all_reduce_sums_too) {
  for (const int ranks : {1, 3, 4})
    on_fake_ranks(ranks, [](const FakeRank& rank) {
      conform(rank, Algorithm::nccl, {0, 1, 997});
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
  // Two ranks have only one order of summing, so both algorithms give the same bits.
  BOOST_TEST((fast == run_on_gpus(run)));
}

// Sums must wait by an event for their input, and readers for the sums; without that a captured step is an error.
BOOST_AUTO_TEST_CASE(a_missing_wait_is_seen) {
  for (const auto& [waits, records] : {std::pair{3, 1}, std::pair{1, 3}})
    BOOST_CHECK_EXCEPTION(train_with_gap(waits, records, true), DriverFault, says("touch the same memory in no order"));
  BOOST_CHECK_EXCEPTION(train_with_gap(3, 1, false), DriverFault,
                        says("a captured stream waits for work outside the capture"));
  BOOST_CHECK_EXCEPTION(train_with_gap(1, 3, false), std::exception, says("CUDA_ERROR_STREAM_CAPTURE_UNJOINED"));
  BOOST_CHECK_NO_THROW(train_with_gap(2, 3, false));  // stream 2 never waits for stream 3
}

BOOST_AUTO_TEST_CASE(a_step_that_does_not_join_is_not_captured) {
  on_fake_ranks(2, [](const FakeRank& rank) {
    const auto driver = initialised(rank);
    const cuda::OpenDevice device(*driver, 0);
    cuda::EventHandle ready(*driver), done(*driver);
    const auto capture = [&](bool joins) {
      (*driver)(driver->capture_begin, device.compute, cuda::CaptureMode::thread_local_);
      ready.record(device.compute);
      ready.wait_on(device.communication);
      done.record(device.communication);
      if (joins) done.wait_on(device.compute);
      cuda::Captured captured = nullptr;
      const cuda::Result result = driver->capture_end.function(device.compute, &captured);
      if (captured) (*driver)(driver->graph_destroy, captured);
      return result;
    };
    if (capture(false) != cuda::kCaptureUnjoined) throw Error("a stream that does not come back");
    if (capture(true) != cuda::kSuccess) throw Error("a stream that comes back");
  });
}

// When a rank dies, the others end the work that waits for it, destroy captured graphs, and then their communicator.
BOOST_AUTO_TEST_CASE(a_dead_rank_is_an_error_of_the_others) {
  std::string error;
  on_fake_ranks(3, [&](const FakeRank& rank) {
    const auto backend = rank.backend();
    WorkerRun run{.split = {3, 1}, .steps = rank.number() == 2 ? 4 : 6, .bucket_bytes = 4096};
    if (rank.number() == 2) run.leaves = [&] { rank.nccl.kill(2); };
    try {
      run_process(run, *backend, rank.number());
    } catch (const Error& caught) {
      if (rank.number() == 0) error = caught.what();
      if (rank.number() == 2) throw;
    }
  });
  BOOST_TEST(error.starts_with("rank 0: NCCL cannot go on: remote process exited (6)\n  hint: another rank has died"));
}

// When a call in a group fails, the calls before it may have gone out; nothing waits for the rest of the group.
BOOST_AUTO_TEST_CASE(a_failed_call_is_told_by_its_step) {
  const WorkerRun run{.split = {2, 1}, .steps = 4, .bucket_bytes = 4096};
  BOOST_CHECK_EXCEPTION(
      on_fake_ranks(2,
                    [&](const FakeRank& rank) {
                      const auto backend = rank.backend();
                      if (rank.number() == 1) rank.nccl.fail_send(1, 3);
                      run_process(run, *backend, rank.number());
                    }),
      Error,
      says("ncclSend failed: invalid usage (5)\n  hint: NCCL_DEBUG=INFO", "\n  in step ", " of final: all_reduce "));
}

// The other rank's step is captured, and NCCL requires that the calls of all ranks are captured or none.
BOOST_AUTO_TEST_CASE(a_capture_that_one_rank_is_refused_ends_the_run) {
  const WorkerRun run{.split = {2, 1}, .steps = 4, .bucket_bytes = 4096};
  BOOST_CHECK_EXCEPTION(on_fake_ranks(2,
                                      [&](const FakeRank& rank) {
                                        const auto backend = rank.backend();
                                        if (rank.number() == 1) rank.gpu.gpu.fail_in_captures("cuLaunchKernel");
                                        run_process(run, *backend, rank.number());
                                      }),
                        std::exception, says("CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED (900)", "in step "));
}

BOOST_AUTO_TEST_CASE(profiled_steps_tell_of_the_sums) {
  const WorkerRun run{.split = {2, 1}, .steps = 4, .bucket_bytes = 4096};
  WorkerRun timed = run;
  timed.profiled = true;
  const WorkerOutcome got = run_on_gpus(timed);
  BOOST_TEST((got == run_on_gpus(run)));
  BOOST_TEST(got.overlaps.size() == 4u);
  for (const Overlap& overlap : got.overlaps) check_clock(overlap);
}

// The loop, the loader, the evaluations that the ranks share, and the files that the first rank writes are as in one
// process with as many virtual workers. The library's choices are the first rank's.
BOOST_AUTO_TEST_CASE(recipes_end_in_the_bits_of_one_process) {
  const Recipe recipe = on_noise(lenet_mnist(), {1, 28, 28}, 20);
  for (const int processes : {2, 4}) {
    const TemporaryDirectory folder;
    const std::vector<std::string> words = {"--minibatch",  "8", "--per-worker",     std::to_string(8 / processes),
                                            "--epochs",     "1", "--bucket-mb",      "0.02",
                                            "--eval-every", "1", "--loader-threads", "1"};
    Outcome alone;
    on_fake_ranks(1, [&](const FakeRank& rank) {
      const auto backend = rank.backend();
      alone = train(*backend, recipe, words, folder / "alone");
    });
    const auto network = make_in_process_network(processes);
    std::vector<Outcome> outcomes(static_cast<size_t>(processes));
    on_fake_ranks(processes, [&](const FakeRank& rank) {
      const auto backend = rank.backend();
      backend->use_algorithm_choices({{"a call", "as rank " + std::to_string(rank.number()) + " measured it"}});
      World world(make_in_process_communicator(network, rank.number()));
      outcomes[static_cast<size_t>(rank.number())] = train(*backend, world, recipe, words, folder / "shared");
      const Backend::AlgorithmChoices picks = backend->algorithm_choices();
      if (picks.size() < 2 || picks.at("a call") != "as rank 0 measured it") throw Error("other choices");
    });
    for (const Outcome& outcome : outcomes)
      BOOST_TEST(state_sha256(views_of(outcome.state)) == state_sha256(views_of(alone.state)));
    check_lines(alone, outcomes[0], 0);
  }
}

BOOST_AUTO_TEST_CASE(a_missing_library_is_every_ranks_error) {
  BOOST_CHECK_EXCEPTION(
      cuda::open_nccl("libnccl_that_is_not_there.so.2"), Error,
      says("several GPUs cannot be used\n  missing: libnccl.so.2\n", "hint:    apt install libnccl2"));
  BOOST_CHECK_EXCEPTION(cuda::open_nccl("libm.so.6"), Error, says("libm.so.6 has no ncclGetErrorString"));
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
  BOOST_TEST(errors == std::vector<std::string>(3, "rank 1: none here"));
}

// NVIDIA's own library is opened if it is installed. Looking for its functions needs no device.
BOOST_AUTO_TEST_CASE(the_real_library_has_every_function) {
  std::unique_ptr<const cuda::Nccl> nccl;
  try {
    nccl = cuda::open_nccl();
  } catch (const Error& error) {
    BOOST_TEST_MESSAGE("SKIPPED: " << error.what());
    return;
  }
  BOOST_CHECK_NO_THROW(cuda::check_version(*nccl));
  BOOST_TEST(nccl->version_text().starts_with("NCCL 2."));
}

BOOST_AUTO_TEST_CASE(an_old_library_is_named_with_what_it_lacks) {
  for (const auto& [version, text] : {std::pair{20904, "NCCL 2.9.4"}, std::pair{2708, "NCCL 2.7.8"}}) {
    FakeNccl old(version);
    BOOST_CHECK_EXCEPTION(cuda::check_version(*old.table()), Error,
                          says("missing: NCCL 2.10.0 or newer: send and receive in captured graphs, sums of bf16\n",
                               std::string("got:     ") + text + "\n"));
  }
  FakeNccl least(cuda::kLeastNccl);
  BOOST_CHECK_NO_THROW(cuda::check_version(*least.table()));
  BOOST_TEST(least.table()->version_text() == "NCCL 2.10.0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::collective_test
