#include "runtime/comm/communicator.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <ctime>
#include <functional>
#include <map>
#include <thread>

#include "graph/error.h"
#include "runtime/comm/cost.h"
#include "runtime/comm/halving_doubling.h"
#include "runtime/comm/link_communicator.h"
#include "runtime/comm/measure_network.h"
#include "runtime/comm/throttled.h"
#include "tests/runtime/allocations.h"
#include "tests/runtime/comm/conformance.h"
#include "tests/support/few_threads.h"
#include "tests/support/in_process.h"

namespace kb::test::communicator_test {
namespace {

using Make = std::function<std::unique_ptr<Communicator>(const std::shared_ptr<InProcessNetwork>& network, int rank)>;

// Runs `body` on every rank, each a thread. Returns the first text that is not empty; an exception counts as its text.
std::string on_made_ranks(int ranks, const Make& make, const auto& body) {
  const auto network = make_in_process_network(ranks);
  std::vector<std::string> results(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      try {
        results[static_cast<size_t>(rank)] = body(*make(network, rank));
      } catch (const std::exception& error) {
        results[static_cast<size_t>(rank)] = error.what();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results)
    if (!result.empty()) return result;
  return "";
}

std::string on_ranks(int ranks, const CommunicatorOptions& options, const auto& body) {
  const Make make = [&](const auto& network, int rank) { return make_in_process_communicator(network, rank, options); };
  return on_made_ranks(ranks, make, body);
}

// Makes communicators that only count the seconds a network takes, so that times are equal on every machine, however
// busy it is.
Make counted(const Network& network, Algorithm algorithm = Algorithm::halving_doubling) {
  return [=](const auto& ranks, int rank) {
    const auto link = [&] { return throttled(make_in_process_link(ranks, rank, 30), &network, Throttle::counts); };
    return std::make_unique<LinkCommunicator>(link, algorithm);
  };
}

constexpr Algorithm kOurs[] = {Algorithm::halving_doubling, Algorithm::ring};

}  // namespace

BOOST_AUTO_TEST_SUITE(communicator)

BOOST_AUTO_TEST_CASE(one_process) {
  const auto local = make_local_communicator();
  BOOST_TEST(conforms(*local, Algorithm::halving_doubling, 5000) == "");
  BOOST_TEST(local->description() == "one process");
  BOOST_TEST((local->traffic() == Traffic{}));
}

BOOST_AUTO_TEST_CASE(without_its_thread_it_says_so) {
  const auto network = make_in_process_network(2);
  const FewThreads few(0);
  BOOST_CHECK_EXCEPTION(make_in_process_communicator(network, 0, {}), Error, [](const Error& error) {
    const std::string text = error.what();
    return text.starts_with("no thread can be made for the messages between processes\n  expected: ") &&
           text.find("ulimit -u") != std::string::npos && text.find("ulimit -v") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(every_count_of_ranks_conforms) {
  for (const int ranks : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16})
    for (const Algorithm algorithm : kOurs)
      BOOST_TEST(on_ranks(ranks, {}, [&](Communicator& c) { return conforms(c, algorithm, 4999); }) == "");
}

// The arrays have more chunks than a window, and their last chunk is not full.
BOOST_AUTO_TEST_CASE(long_arrays_conform) {
  for (const int ranks : {3, 4})
    for (const Algorithm algorithm : kOurs)
      BOOST_TEST(on_ranks(ranks, {}, [&](Communicator& c) { return conforms(c, algorithm, 300007); }) == "");
}

BOOST_AUTO_TEST_CASE(traffic_is_what_the_formulas_say) {
  const auto traffic = [](Communicator& c, Algorithm algorithm, int64_t elements) -> std::string {
    std::vector<double> data(static_cast<size_t>(elements));
    c.choose(algorithm);
    const Traffic before = c.traffic();
    c.wait(c.all_reduce(reinterpret_cast<std::byte*>(data.data()), elements, DType::f64));
    Traffic got = c.traffic();
    got = {got.steps - before.steps, got.bytes_sent - before.bytes_sent, got.bytes_received - before.bytes_received};
    const Traffic want = expected_traffic(algorithm, elements, 8, c.rank(), c.size());
    if (got == want) return "";
    return fmt::format("{} ranks, rank {}, {} elements, {}: {} {} {}, got {} {} {}", c.size(), c.rank(), elements,
                       name(algorithm), want.steps, want.bytes_sent, want.bytes_received, got.steps, got.bytes_sent,
                       got.bytes_received);
  };
  for (int ranks = 2; ranks <= 9; ++ranks) {
    const std::string wrong = on_ranks(ranks, {}, [&](Communicator& c) {
      for (const Algorithm algorithm : kOurs)
        for (const int64_t elements : {0, 1, 2, 13, 1009, 5040, 100003})
          if (const std::string one = traffic(c, algorithm, elements); !one.empty()) return one;
      return std::string();
    });
    BOOST_TEST(wrong == "");
  }
}

// With p ranks, halving and doubling takes 2 log2(p) steps and a ring 2(p - 1); both send and receive 2n(p - 1)/p bytes
// of an array of n bytes (Goyal et al. 2017, section 4).
BOOST_AUTO_TEST_CASE(traffic_of_even_sizes) {
  for (const int ranks : {2, 4, 8})
    for (int rank = 0; rank < ranks; ++rank) {
      const int64_t bytes = 2 * 4 * 840 * 8 * (ranks - 1) / ranks;
      const int steps = ranks == 2 ? 2 : ranks == 4 ? 4 : 6;
      const Traffic halving = expected_traffic(Algorithm::halving_doubling, 840 * 8, 4, rank, ranks);
      BOOST_TEST((halving == Traffic{steps, bytes, bytes}));
      const Traffic ring = expected_traffic(Algorithm::ring, 840 * 8, 4, rank, ranks);
      BOOST_TEST((ring == Traffic{2 * (ranks - 1), bytes, bytes}));
    }
}

BOOST_AUTO_TEST_CASE(a_steady_reduction_allocates_nothing) {
  const std::string wrong = on_ranks(3, {}, [](Communicator& c) -> std::string {
    std::vector<float> data(300007);
    const auto reduce = [&] {
      int64_t tickets[20];
      for (int64_t& ticket : tickets)
        ticket = c.all_reduce(reinterpret_cast<std::byte*>(data.data()), 300007, DType::f32);
      for (const int64_t ticket : tickets) c.wait(ticket);
    };
    for (const Algorithm algorithm : kOurs) {
      c.choose(algorithm);
      reduce();
    }
    c.barrier();
    const int64_t before = allocations_of_ours();
    for (const Algorithm algorithm : kOurs) {
      c.choose(algorithm);
      for (int i = 0; i < 3; ++i) reduce();
    }
    const int64_t made = allocations_of_ours() - before;
    c.barrier();
    return made == 0 ? "" : fmt::format("{} allocations", made);
  });
  BOOST_TEST(wrong == "");
}

BOOST_AUTO_TEST_CASE(the_librarys_own_needs_the_library) {
  const std::string error = on_ranks(2, {}, [](Communicator& c) -> std::string {
    c.choose(Algorithm::mpi);
    return "";
  });
  BOOST_TEST(error == "all-reduce \"mpi\" is the MPI library's own, and these ranks are connected by threads");
  BOOST_TEST(on_ranks(2, {.algorithm = Algorithm::nccl}, [](Communicator&) { return std::string(); }) ==
             "all-reduce \"nccl\" sums on GPUs, and these arrays are in the memory of the host");
}

// In each round a partner receives exactly the elements that a rank sends to it, and pieces begin at whole units.
BOOST_AUTO_TEST_CASE(the_plans_of_all_ranks_fit) {
  for (const int ranks : {1, 2, 3, 5, 6, 7, 8, 13})
    for (const int64_t unit : {1, 16})
      for (const int64_t elements : {0, 1, 15, 16, 17, 997}) {
        std::map<std::tuple<int, int, int64_t, int64_t>, int> open;  // sends less receives, keyed by from, to and range
        for (int rank = 0; rank < ranks; ++rank) {
          std::vector<Move> plan;
          plan_halving_doubling(rank, ranks, elements, unit, plan);
          for (const Move& move : plan) {
            ++open[{rank, move.partner, move.send.begin, move.send.end}];
            --open[{move.partner, rank, move.receive.begin, move.receive.end}];
            for (const Range& range : {move.send, move.receive})
              BOOST_TEST((range.elements() == 0 || range.begin % unit == 0));
          }
        }
        for (const auto& [message, count] : open)
          BOOST_TEST((count == 0 || std::get<2>(message) == std::get<3>(message)));
      }
}

// Every rank that waits for the dead one, or for one that does, says so.
BOOST_AUTO_TEST_CASE(a_dead_rank_is_named) {
  for (const int ranks : {2, 4, 5}) {
    const int dead = ranks - 1;
    const auto network = make_in_process_network(ranks);
    std::vector<std::string> errors(static_cast<size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        const auto c = make_in_process_communicator(network, rank, {.timeout = 0.3});
        std::vector<float> data(100000);
        try {
          for (int step = 0;; ++step) {
            if (step == 5 && rank == dead) kill_rank(*network, dead);
            c->wait(c->all_reduce(reinterpret_cast<std::byte*>(data.data()), 100000, DType::f32));
          }
        } catch (const Error& error) {
          errors[static_cast<size_t>(rank)] = error.what();
        }
        try {
          c->barrier();
          errors[static_cast<size_t>(rank)] = "goes on after an error";
        } catch (const Error&) {
        }
      });
    for (std::thread& thread : threads) thread.join();
    bool named = false;
    for (int rank = 0; rank < dead; ++rank) {
      BOOST_TEST(errors[static_cast<size_t>(rank)].find(fmt::format("rank {} has been waiting for rank ", rank)) == 0u);
      named |= errors[static_cast<size_t>(rank)].find(fmt::format("for rank {} for 0.3 s", dead)) != std::string::npos;
    }
    BOOST_TEST(named);
  }
}

// A communicator that is left with work under way, as an exception leaves it, does not wait for the others, who never
// come.
BOOST_AUTO_TEST_CASE(leaving_does_not_hang) {
  const auto network = make_in_process_network(2);
  std::vector<float> data(1000);
  std::unique_ptr<Communicator> c = make_in_process_communicator(network, 0, {.timeout = 1e6});
  c->all_reduce(reinterpret_cast<std::byte*>(data.data()), 1000, DType::f32);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the reduction may have begun to wait by then
  c.reset();
  BOOST_TEST(!c);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(throttled_communicator)

BOOST_AUTO_TEST_CASE(conforms_too) {
  const Network network{.latency = 20e-6, .bandwidth = 1e9};
  for (const int ranks : {2, 3, 4})
    for (const Algorithm algorithm : kOurs)
      BOOST_TEST(on_ranks(ranks, {.throttle = &network},
                          [&](Communicator& c) { return conforms(c, algorithm, 150001); }) == "");
}

// Returns the seconds that the reduction of `elements` numbers took on rank 0.
double seconds_of(const Make& make, int64_t elements, int ranks) {
  double seconds = 0;
  const std::string wrong = on_made_ranks(ranks, make, [&](Communicator& c) {
    std::vector<float> data(static_cast<size_t>(elements), 1.0f);
    c.barrier();
    const Interval interval = c.wait(c.all_reduce(reinterpret_cast<std::byte*>(data.data()), elements, DType::f32));
    if (c.rank() == 0) seconds = std::chrono::duration<double>(interval.end - interval.begin).count();
    return std::string(data.back() == static_cast<float>(ranks) ? "" : "the sum differs");
  });
  BOOST_TEST(wrong == "");
  return seconds;
}

// The model is 2 log2(p) latencies for halving and doubling, or 2(p - 1) for a ring, and the time in which the network
// carries the bytes.
BOOST_AUTO_TEST_CASE(takes_as_long_as_the_network) {
  const Network network{.latency = 2e-3, .bandwidth = 12.5e6};
  const int64_t elements = 1 << 18;
  for (const Algorithm algorithm : kOurs) {
    const double steps = algorithm == Algorithm::ring ? 6 : 4;
    const double model = steps * network.latency + 2.0 * 4 * elements * 3 / 4 / network.bandwidth;
    const double seconds = seconds_of(counted(network, algorithm), elements, 4);
    BOOST_TEST_MESSAGE(fmt::format("{}: {:.4f} s, model {:.4f} s", name(algorithm), seconds, model));
    BOOST_TEST(seconds > 0.95 * model);
    BOOST_TEST(seconds < 1.1 * model);
  }
}

BOOST_AUTO_TEST_CASE(counts_that_are_no_power_of_two_take_as_long_as_replayed) {
  const Network network{.latency = 1e-3, .bandwidth = 12.5e6};
  const int64_t elements = 1 << 18;
  for (const int ranks : {3, 6, 7}) {
    const double model = halving_doubling_seconds(4 * elements, ranks, network);
    const double seconds = seconds_of(counted(network), elements, ranks);
    BOOST_TEST_MESSAGE(fmt::format("{} ranks: {:.4f} s, model {:.4f} s", ranks, seconds, model));
    BOOST_TEST(seconds > 0.9 * model);
    BOOST_TEST(seconds < 1.1 * model);
  }
}

// A throttled run really sleeps the seconds that `counted` only counts; a busy machine can add to them, never subtract.
BOOST_AUTO_TEST_CASE(what_the_network_takes_is_slept) {
  const Network network{.latency = 2e-3, .bandwidth = 12.5e6};
  const Make sleeps = [&](const auto& ranks, int rank) {
    return make_in_process_communicator(ranks, rank, {.throttle = &network});
  };
  BOOST_TEST(seconds_of(sleeps, 1 << 16, 4) > 0.95 * seconds_of(counted(network), 1 << 16, 4));
}

BOOST_AUTO_TEST_CASE(a_network_has_a_latency_and_a_bandwidth) {
  const auto ranks = make_in_process_network(1);
  const auto link = [&](Network network) {
    return throttled(make_in_process_link(ranks, 0, 30), &network, Throttle::counts)->name();
  };
  for (const Network& wrong : {Network{-1e-9, 1e9}, {1e-6, 0}, {1e-6, -1}, {NAN, 1e9}, {1e-6, NAN}})
    BOOST_CHECK_THROW(link(wrong), InternalError);
  BOOST_TEST(link({0, 1e9}).ends_with(" as over 0 us, 1 GB/s"));
}

// A rank sleeps while it waits for the network, so that its core is free for other work.
BOOST_AUTO_TEST_CASE(uses_no_core) {
  const auto processor_seconds = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
  const double before = processor_seconds();
  const auto start = std::chrono::steady_clock::now();
  const Network network{.latency = 50e-3, .bandwidth = 250e3};
  const Make sleeps = [&](const auto& ranks, int rank) {
    return make_in_process_communicator(ranks, rank, {.throttle = &network});
  };
  seconds_of(sleeps, 1 << 14, 4);
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  BOOST_TEST_MESSAGE(fmt::format("{:.1f} ms of a core in {:.0f} ms", 1e3 * (processor_seconds() - before), 1e3 * took));
  BOOST_TEST(took > 0.5);
  BOOST_TEST(processor_seconds() - before < 0.1 * took);
}

// The measured latency and bandwidth are near those of the described network, and the same on every rank.
BOOST_AUTO_TEST_CASE(the_network_is_measured) {
  const Network network{.latency = 2e-3, .bandwidth = 25e6};
  for (const int ranks : {2, 3, 4}) {
    std::vector<Network> measured(static_cast<size_t>(ranks));
    const std::string wrong = on_made_ranks(ranks, counted(network), [&](Communicator& c) -> std::string {
      measured[static_cast<size_t>(c.rank())] = measure_network(c, 1 << 19, 3);
      return "";
    });
    BOOST_TEST(wrong == "");
    BOOST_TEST_MESSAGE(fmt::format("{} us, {} MB/s", measured[0].latency * 1e6, measured[0].bandwidth / 1e6));
    for (const Network& one : measured) {
      BOOST_TEST((one.latency == measured[0].latency && one.bandwidth == measured[0].bandwidth));
      BOOST_TEST(one.latency > 0.95 * network.latency);
      BOOST_TEST(one.latency < 1.5 * network.latency);
      BOOST_TEST(one.bandwidth > 0.6 * network.bandwidth);
      BOOST_TEST(one.bandwidth < 1.1 * network.bandwidth);
    }
  }
  const Network none = measure_network(*make_local_communicator());
  BOOST_TEST(none.latency == 0);
  BOOST_TEST(std::isinf(none.bandwidth));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::test::communicator_test
