#include "runtime/cuda/kept_picks.h"

#include <boost/test/unit_test.hpp>

#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "tests/support/support.h"

namespace kb::kept_picks_test {

using namespace kb::cuda;

namespace {

// A library whose pick depends on its mood, as if it measured, unless it was given one.
class Moody : public DeviceLibrary {
 public:
  explicit Moody(int mood) : mood_(mood) {}
  std::string name() const override { return "moody"; }
  DType compute_dtype(DType dtype) const override { return dtype; }
  int64_t scratch_bytes(const Graph& graph, const Node&, const Epilogue&) const override {
    picks_.try_emplace(graph.name, "engine " + std::to_string(mood_));
    return 0;
  }
  int64_t packed_bytes(const Graph&, const Node&) const override { return 0; }
  std::unique_ptr<cuda::LibraryOp> plan(const Graph& graph, const Node& node, const Epilogue& epilogue) override {
    scratch_bytes(graph, node, epilogue);
    return nullptr;
  }
  LibraryPicks algorithm_choices() const override { return picks_; }
  void use_algorithm_choices(LibraryPicks picks) override { picks_ = std::move(picks); }
  void add_choice(const std::string& call, const std::string& pick) override { picks_[call] = pick; }

 private:
  int mood_;
  mutable LibraryPicks picks_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(cuda_kept_picks)

BOOST_AUTO_TEST_CASE(a_later_run_chooses_as_the_first) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "deeper" / "picks.txt";
  const auto kept = [&](int mood) { return keep_picks(std::make_unique<Moody>(mood), file); };
  kept(1)->scratch_bytes(Graph("conv a"), {}, {});
  BOOST_TEST(read_file(file) == "conv a\tengine 1\n");
  auto second = kept(2);
  second->plan(Graph("conv a"), {}, {});
  second->plan(Graph("conv b"), {}, {});
  BOOST_TEST((second->algorithm_choices() == LibraryPicks{{"conv a", "engine 1"}, {"conv b", "engine 2"}}));
  BOOST_TEST(read_file(file) == "conv a\tengine 1\nconv b\tengine 2\n");
}

BOOST_AUTO_TEST_CASE(a_choice_of_the_backend_is_kept_as_the_librarys_are) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "picks.txt";
  keep_picks(std::make_unique<Moody>(1), file)->add_choice("product a", "own");
  BOOST_TEST(read_file(file) == "product a\town\n");
  BOOST_TEST((keep_picks(std::make_unique<Moody>(2), file)->algorithm_choices() == LibraryPicks{{"product a", "own"}}));
}

BOOST_AUTO_TEST_CASE(what_a_checkpoint_gives_goes_first) {
  const test::TemporaryDirectory directory;
  const auto file = directory.path() / "picks.txt";
  write_file_atomically(file, "conv a\tengine 1\nconv b\tengine 2\nno pick\n");
  auto library = keep_picks(std::make_unique<Moody>(3), file);
  library->use_algorithm_choices({{"conv a", "engine 7"}});
  BOOST_TEST((library->algorithm_choices() == LibraryPicks{{"conv a", "engine 7"}, {"conv b", "engine 2"}}));
}

BOOST_AUTO_TEST_CASE(a_place_that_cannot_be_written_is_as_none) {
  auto library = keep_picks(std::make_unique<Moody>(4), "/proc/none/picks.txt");
  library->plan(Graph("conv a"), {}, {});
  BOOST_TEST(library->algorithm_choices().size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_file_for_each_device_and_version) {
  BOOST_TEST(picks_file_name("NVIDIA H200", "cuDNN 9.19.0, cuBLASLt 13.1.0", true) ==
             "picks.NVIDIA-H200.cuDNN-9.19.0--cuBLASLt-13.1.0.txt");
  BOOST_TEST(picks_file_name("A/B", "x", false) == "picks.A-B.x.fast.txt");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::kept_picks_test
