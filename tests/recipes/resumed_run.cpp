#include "tests/recipes/resumed_run.h"

#include <fmt/format.h>

#include <boost/test/unit_test.hpp>

#include "recipes/run/resume.h"
#include "tests/support/says.h"

namespace kb::test {

namespace fs = std::filesystem;

std::string checkpoint_name(int64_t step) { return fmt::format("step-{:08}.safetensors", step); }

fs::path checkpoint_of(const fs::path& out, int64_t step) { return out / "checkpoints" / checkpoint_name(step); }

std::string complaint(const fs::path& out, std::vector<std::string> words, const Recipe& recipe) {
  words.insert(words.begin(), {"--resume", out.string()});
  return test::error_of([&] { open_resumed(recipe, *parse_flags(recipe, "small", words), words); });
}

void ResumedRun::train(std::vector<std::string> words) const {
  words.insert(words.end(), {"--save-every", "1", "--keep", "100"});
  BOOST_REQUIRE(run(whole, words) == 0);
}

void ResumedRun::die_after(int64_t step) const {
  fs::remove_all(out);
  fs::copy(whole, out, fs::copy_options::recursive);
  for (const fs::path& path : list_checkpoints(out / "checkpoints"))
    if (path.filename() > checkpoint_name(step)) fs::remove(path);
  write_file(out / "checkpoints" / (checkpoint_name(step + 1) + ".77.0.tmp"), "half of one");
  const std::string text = read_file(out / "metrics.jsonl");
  write_file(out / "metrics.jsonl", text.substr(0, text.size() - 20));  // the last line is torn
}

}  // namespace kb::test
