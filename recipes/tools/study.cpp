// summary: how far the minibatch can grow: steps to a target of measurements, fitted, as table, figures and page
//
// ./run study STORE reads the run folders of a sweep; ./run study FILE.csv reads a table with a line per training
// (recipes/answer/measurements.h). The tool prints the best rate and the steps of each minibatch and the critical
// minibatch of McCandlish et al. 2018, and writes tables, study.json, study.html and figures into a folder.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "recipes/answer/answer_curves.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/measurements.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/answer/store_results.h"
#include "recipes/charts/drawn_svg.h"
#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/inspect/scale_json.h"
#include "recipes/run/command_words.h"
#include "recipes/run/guarded_main.h"
#include "recipes/trials/study_folder.h"
#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/options.h"

namespace {

using namespace kb;
namespace fs = std::filesystem;

struct StudyCall {
  std::vector<std::string> sources;  // one source, or several to compare
  std::string out, cluster, command = "./run study";
  std::optional<double> samples_per_epoch;
  AnswerOptions options;
};

// Draws the figures as PNG and PDF, or prints that rsvg-convert is not installed.
void draw_figures(const fs::path& folder, const std::vector<AnswerFigure>& figures) {
  const std::string program = RuntimeOptions::from_environment().rsvg_convert;
  if (program.empty()) {
    fmt::print("no PNG and no PDF: rsvg-convert is not installed (to have it: apt install librsvg2-bin)\n");
    return;
  }
  for (const AnswerFigure& figure : figures)
    for (const char* ending : {".png", ".pdf"})
      draw_svg(program, folder / (figure.name + ".svg"), folder / (figure.name + ending));
}

// Data of one study, read from a table of measurements or from the run folders of a sweep.
struct StudySource {
  std::vector<Measurement> runs;
  std::vector<AnswerFigure> figures = {};  // figures besides those of the answer
  std::optional<TargetNoise> noise = {};   // noise of the target on the part of the data that it was measured on
  StudyHead head = {};                     // facts of the sweep; empty for a table
};

StudySource read_table(const StudyCall& call, const std::string& file) {
  Measurements measured = read_measurement_table(file, call.samples_per_epoch);
  fmt::print("{}: {} runs\n", file, measured.runs.size());
  if (!measured.ignored.empty()) fmt::print("NOTE: columns that are not read: {}\n", fmt::join(measured.ignored, ", "));
  return {std::move(measured.runs)};
}

StudySource read_sweep_store(const StudyCall& call, const std::string& store) {
  if (call.samples_per_epoch) throw UsageError("--samples-per-epoch: expected with a table of epochs, got a sweep");
  StoreResults results = read_store(store);
  fmt::print("{}: {} runs to {}\n", store, results.measurements.size(), results.target.text());
  for (const std::string& line : results.left_out) fmt::print("NOTE: {}\n", line);
  if (results.waiting > 0)
    fmt::print("NOTE: the sweep is not done: {} trials that are known wait or run\n", results.waiting);
  StudySource source{std::move(results.measurements)};
  source.noise = results.noise;
  source.head = results.head;
  for (const std::string& note : results.head.notes) fmt::print("NOTE: {}\n", note);
  if (!results.best_runs.empty()) source.figures.push_back(curves_figure(results));
  return source;
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(fmt::format("--out: cannot make the folder {}: {}", folder.string(), error.message()));
}

void write_figures(const fs::path& folder, const std::vector<AnswerFigure>& figures) {
  for (const AnswerFigure& figure : figures) write_file_atomically(folder / (figure.name + ".svg"), figure.svg);
  draw_figures(folder, figures);
}

void write_answer(const fs::path& folder, const StudyAnswer& answer, const AnswerSource& described,
                  const StudySource& source) {
  make_folder(folder);
  std::vector<AnswerFigure> figures = answer_figures(answer);
  figures.insert(figures.end(), source.figures.begin(), source.figures.end());
  write_file_atomically(folder / "study.csv", answer_csv(answer));
  write_file_atomically(folder / "runs.csv", measurement_table(source.runs));
  write_file_atomically(folder / "study.json", answer_json(answer, described));
  write_file_atomically(folder / "study.html", answer_page(answer, described, figures));
  write_figures(folder, figures);
  fmt::print("answer: {} (study.html, study.csv, runs.csv, study.json, figures)\n", folder.string());
}

StudySource read_source(const StudyCall& call, const std::string& source) {
  return fs::is_directory(source) ? read_sweep_store(call, source) : read_table(call, source);
}

StudyAnswer answer_of(const StudyCall& call, const StudySource& source) {
  AnswerOptions options = call.options;
  options.noise = source.noise;
  return answer_study(source.runs, options);
}

int study_one(const StudyCall& call) {
  const fs::path from = call.sources.front();
  const StudySource source = read_source(call, from.string());
  const StudyAnswer answer = answer_of(call, source);
  fmt::print("\n{}\n", answer_text(answer));
  const fs::path beside =
      fs::is_directory(from) ? from / "study" : fs::path(fs::path(from).replace_extension().string() + "-study");
  write_answer(call.out.empty() ? beside : fs::path(call.out), answer, {call.command, from.string(), source.head},
               source);
  return 0;
}

// Returns the name of the folder or file, without the ending ".csv".
std::string name_of(const std::string& source) {
  const fs::path path = fs::path(source).lexically_normal();
  const fs::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.extension() == ".csv" ? name.stem().string() : name.string();
}

int study_several(const StudyCall& call) {
  std::vector<NamedStudy> studies;
  for (const std::string& from : call.sources) {
    const StudySource source = read_source(call, from);
    studies.push_back({name_of(from), answer_of(call, source), source.head, effort_of(source.runs)});
  }
  for (const std::string& note : check_side_by_side(studies)) fmt::print("NOTE: {}\n", note);
  fmt::print("\n{}\n", side_by_side_text(studies));
  const fs::path folder = call.out.empty() ? new_dated_folder("study") : fs::path(call.out);
  make_folder(folder);
  const std::vector<AnswerFigure> figures = side_by_side_figures(studies);
  write_file_atomically(folder / "studies.json", side_by_side_json(studies, call.command));
  write_file_atomically(folder / "studies.html", side_by_side_page(studies, call.command, figures));
  write_figures(folder, figures);
  fmt::print("answer: {} (studies.html, studies.json, figures)\n", folder.string());
  return 0;
}

int study(StudyCall call) {
  if (!call.cluster.empty()) call.options.forecast = parse_scale_json(read_file(call.cluster), call.cluster);
  return call.sources.size() == 1 ? study_one(call) : study_several(call);
}

}  // namespace

int main(int argc, char** argv) {
  StudyCall call;
  for (int i = 1; i < argc; ++i) call.command += " " + shell_quoted(argv[i]);
  CommandLine line(
      "Steps to a target against the minibatch: the best rate of each, the critical minibatch, the largest useful one. "
      "SOURCE is the folder of a sweep, or a table (CSV) whose first line names its columns: minibatch, one of steps, "
      "samples and epochs to the target, and rate, setting, seed, reached, diverged, seconds where they are known.",
      "./run study SOURCE... [--out DIR] [--cluster FILE.json]");
  line.texts({"SOURCE", "",
              "the store of a sweep, or measurements, a line a training: STORE or FILE.csv; several are held against "
              "the first, on one page"},
             call.sources)
      .required()
      .text({"--out", "DIR", "folder of the answer; STORE/study or FILE-study, of several sources runs/study-TIME"},
            call.out)
      .positive({"--samples-per-epoch", "N", "samples of an epoch, for a column of epochs"}, call.samples_per_epoch,
                1e15)
      .text({"--cluster", "FILE.json",
             "a forecast of `./run scale RECIPE ... --json FILE`: what the target takes on that cluster"},
            call.cluster)
      .whole({"--base-minibatch", "B",
              "minibatch whose samples efficiencies, and whose rate the lines of rates, are counted from; the "
              "smallest that reached the target"},
             call.options.base_minibatch, 1);
  return guarded_main("study", [&] {
    if (!line.parse({argv + 1, argv + argc})) return 0;
    return study(call);
  });
}
