// summary: how far the minibatch can grow: steps to a target of measurements, fitted, as table, figures and page
//
// ./run study FILE.csv reads a line a training (recipes/study/measurements.h), prints the best rate and the steps of
// each minibatch and the critical minibatch of McCandlish et al. 2018, and leaves study.csv, study.json, study.html and
// the figures in a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "recipes/report/png.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "recipes/run/parse_app.h"
#include "recipes/study/answer_page.h"
#include "recipes/study/answer_text.h"
#include "recipes/study/measurements.h"
#include "runtime/atomic_file.h"
#include "runtime/options.h"

namespace {

using namespace kb;
namespace fs = std::filesystem;

struct StudyCall {
  std::string file, out, command = "./run study";
  std::optional<double> samples_per_epoch;
  AnswerOptions options;
};

// Where rsvg-convert is not installed, says so.
void draw_points(const fs::path& folder, const std::vector<AnswerFigure>& figures) {
  const std::string program = RuntimeOptions::from_environment().rsvg_convert;
  if (program.empty()) {
    fmt::print("no PNG: rsvg-convert is not installed (to have it: apt install librsvg2-bin)\n");
    return;
  }
  for (const AnswerFigure& figure : figures)
    write_png(program, folder / (figure.name + ".svg"), folder / (figure.name + ".png"));
}

void write_answer(const fs::path& folder, const StudyAnswer& answer, const AnswerSource& source) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("--out: cannot make the folder {}: {}", folder.string(), error.message()));
  const std::vector<AnswerFigure> figures = answer_figures(answer);
  write_file_atomically(folder / "study.csv", answer_csv(answer));
  write_file_atomically(folder / "study.json", answer_json(answer, source));
  write_file_atomically(folder / "study.html", answer_page(answer, source, figures));
  for (const AnswerFigure& figure : figures) write_file_atomically(folder / (figure.name + ".svg"), figure.svg);
  draw_points(folder, figures);
  fmt::print("answer: {} (study.html, study.csv, study.json, figures)\n", folder.string());
}

int study(const StudyCall& call) {
  const Measurements measured = read_measurement_table(call.file, call.samples_per_epoch);
  fmt::print("{}: {} runs\n", call.file, measured.runs.size());
  if (!measured.ignored.empty()) fmt::print("NOTE: columns that are not read: {}\n", fmt::join(measured.ignored, ", "));
  const StudyAnswer answer = answer_study(measured.runs, call.options);
  const int64_t resamples = call.options.resampling.resamples;
  fmt::print("\n{}\n", answer_text(answer, resamples));
  const fs::path folder = call.out.empty() ? fs::path(call.file).replace_extension().string() + "-study" : call.out;
  write_answer(folder, answer, {call.command, call.file, resamples});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  StudyCall call;
  for (int i = 1; i < argc; ++i) call.command += " " + shell_quoted(argv[i]);
  CLI::App app(
      "Steps to a target against the minibatch: the best rate of each, the critical minibatch, the largest useful one. "
      "FILE is a table (CSV) whose first line names its columns: minibatch; steps, samples or epochs to the target; "
      "and "
      "rate, seed, reached, diverged, seconds where they are known.",
      "./run study");
  app.add_option("FILE", call.file, "measurements, a line a training")->required()->type_name("FILE.csv");
  app.add_option("--out", call.out, "folder of the answer; FILE-study where it is not given")->type_name("DIR");
  app.add_option("--samples-per-epoch", call.samples_per_epoch, "samples of an epoch, for a column of epochs")
      ->check(CLI::Range(1.0, 1e15))
      ->type_name("N");
  app.add_option(
         "--base-minibatch", call.options.base_minibatch,
         "minibatch from which perfect scaling and the lines of the rate are counted; the smallest that reached "
         "the target")
      ->type_name("B");
  app.add_option("--resamples", call.options.resampling.resamples, "of the bootstrap behind the intervals")
      ->capture_default_str()
      ->check(CLI::Range(100, 1000000))
      ->type_name("N");
  return guarded_main("study", [&] {
    if (!parse_app(app, {argv + 1, argv + argc}, "./run study FILE.csv [--out DIR] [--samples-per-epoch N]")) return 0;
    return study(call);
  });
}
