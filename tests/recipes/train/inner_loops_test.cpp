// The innermost loops of every recipe's CPU kernels, which walk through memory: a 64-bit division costs as much there
// as several vectors of elements, and one for each lane as dozens. A division by a literal power of two is a shift.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <boost/test/unit_test.hpp>
#include <map>

#include "recipes/config/flags.h"
#include "recipes/config/run_task.h"
#include "recipes/papers/table.h"
#include "recipes/train/programs.h"

namespace kb::inner_loops_test {
namespace {

class Divisions {
 public:
  explicit Divisions(const ir::Kernel& kernel) {
    for (const ir::Phase& phase : kernel.phases) visit(phase.body, false);
  }
  const std::string& found() const { return found_; }

 private:
  bool is_shift(const ir::Instr& division) const {
    const auto literal = literals_.find(division.b);
    return literal != literals_.end() && std::has_single_bit(static_cast<uint64_t>(literal->second));
  }

  static bool is_serial(const ir::Instr& instr) {
    return instr.code == ir::Code::loop && instr.bind == ir::Bind::serial;
  }
  static bool holds_serial(const std::vector<ir::Instr>& body) {
    return std::any_of(body.begin(), body.end(),
                       [](const ir::Instr& instr) { return is_serial(instr) || holds_serial(instr.body); });
  }

  void visit(const std::vector<ir::Instr>& body, bool innermost) {
    for (const ir::Instr& instr : body) {
      if (instr.code == ir::Code::constant && instr.type == DType::i64) literals_[instr.dst] = instr.integer;
      const bool division = instr.code == ir::Code::index_div || instr.code == ir::Code::index_mod;
      if (division && (instr.lane_varying || (innermost && !is_shift(instr))))
        found_ += fmt::format("{}r{} is a division {}", found_.empty() ? "" : ", ", instr.dst,
                              instr.lane_varying ? "for each lane" : "in an innermost loop");
      visit(instr.body, innermost || (is_serial(instr) && !holds_serial(instr.body)));
    }
  }

  std::map<ir::Reg, int64_t> literals_;
  std::string found_;
};

// Returns whether a launch is a single tile, as those over one number a label are: it costs next to nothing.
bool is_small(const KernelLaunch& launch) {
  return std::all_of(launch.tiles.begin(), launch.tiles.end(), [](int64_t tiles) { return tiles == 1; });
}

void check(const Program& program) {
  for (const Schedule* schedule : program.all())
    for (const Step& step : schedule->steps) {
      const ir::Kernel* kernel = schedule->kernel_of(step);
      if (!kernel || is_small(*step.launch())) continue;
      const Divisions divisions(*kernel);
      BOOST_TEST(divisions.found() == "",
                 schedule->name << ", " << kernel->kind << " " << step.name << ": " << divisions.found());
    }
}

}  // namespace

BOOST_AUTO_TEST_SUITE(inner_loops)

BOOST_AUTO_TEST_CASE(no_recipe_divides_in_one) {
  for (const char* library_isa : {"avx512", "avx2", "generic"})  // blocks of 16, of 8, NHWC
    for (const Recipe& recipe : all_recipes())
      for (const std::string augment : {"none", "crop,flip,cutout,mixup"}) {
        Target target = generic_cpu_target();
        target.library_isa = library_isa;
        std::vector<std::string> words = {"--minibatch", "32"};
        if (recipe.task && augment != "none") continue;  // only labelled images are augmented
        if (!recipe.task) words.insert(words.end(), {"--augment", augment});
        if (recipe.is_ragged) words.insert(words.end(), {"--bucket", "65"});
        const RunConfig config = *parse_flags(recipe, "", words);
        const Programs programs = compile_programs(declared_task(recipe, config),
                                                   settle_for_one_step(config, target, config.machine.processes));
        BOOST_TEST_CONTEXT(recipe.name << " --augment " << augment << ", layout of " << library_isa) {
          check(programs.update().program);
          check(programs.evaluate().program);
        }
      }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::inner_loops_test
