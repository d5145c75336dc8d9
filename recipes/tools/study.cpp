// summary: how far the minibatch can grow: steps to a target of measurements, fitted, as table, figures and page
//
// ./run study STORE reads the run folders of a sweep; ./run study FILE.csv reads a table with a line per training
// (recipes/answer/measurements.h). The tool prints the best rate and the steps of each minibatch and the critical
// minibatch of McCandlish et al. 2018, and writes tables, study.json, study.html and figures into a folder.
// ./run study --branches RUN@500st,2000st trains branches of a run at these places (recipes/answer/branches_plan.h).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "recipes/answer/answer_figures.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/branches_files.h"
#include "recipes/answer/branches_study.h"
#include "recipes/answer/branches_text.h"
#include "recipes/answer/measurements.h"
#include "recipes/answer/performance_profile.h"
#include "recipes/answer/side_by_side.h"
#include "recipes/answer/store_results.h"
#include "recipes/answer/targets_files.h"
#include "recipes/answer/targets_text.h"
#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/inspect/scaling.h"
#include "recipes/run/command_words.h"
#include "recipes/run/run_folder.h"
#include "recipes/trials/study_process.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/input_file.h"
#include "runtime/options.h"
#include "runtime/process.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

struct StudyCall {
  std::vector<std::string> sources;  // one source, or several to compare
  std::string out, cluster, command = "./run study";
  std::string target_list;      // text of --targets
  std::vector<double> targets;  // its values, of the sweep's figure; empty: its own target
  std::optional<double> samples_per_epoch;
  bool by_setting = false;
  AnswerOptions options;
  BranchesFlags branches;  // given in place of sources
};

// Draws the file `svg` by librsvg's program into the file `to`, whose ending decides: a PNG at twice the size, or a PDF
// with vectors.
void draw_svg(const std::string& rsvg_convert, const fs::path& svg, const fs::path& to) {
  const fs::path drawn = to.string() + ".tmp";
  const bool is_pdf = to.extension() == ".pdf";
  const ProcessResult result = Process({rsvg_convert, is_pdf ? "--format=pdf" : "--format=png",
                                        is_pdf ? "--zoom=1" : "--zoom=2", "--output=" + drawn.string(), svg.string()})
                                   .wait();
  const std::string picture = result.status == 0 ? read_file(drawn) : "";
  std::error_code none;  // not reported: a program that failed may have written nothing
  fs::remove(drawn, none);
  if (result.status != 0)
    throw Error(fmt::format("{}: exit code {}\n  got:      {}", rsvg_convert, result.status, result.output));
  write_file_atomically(to, picture);
}

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

// Reads the runs of a sweep and prints what a reader has to know of them.
StoreRuns read_told(const StudyCall& call, const std::string& store) {
  if (call.samples_per_epoch) throw UsageError("--samples-per-epoch: expected with a table of epochs, got a sweep");
  StoreRuns runs = read_store(store);
  fmt::print("{}: {} runs to {}\n", store, runs.trials.size(), target_of(runs.definition).text());
  for (const std::string& line : runs.left_out) fmt::print("NOTE: {}\n", line);
  if (runs.waiting > 0) fmt::print("NOTE: the sweep is not done: {} trials that are known wait or run\n", runs.waiting);
  for (const std::string& note : runs.head.notes) fmt::print("NOTE: {}\n", note);
  return runs;
}

StudySource read_sweep_store(const StudyCall& call, const std::string& store) {
  const StoreRuns runs = read_told(call, store);
  StoreResults results = results_to_own_target(runs);
  StudySource source{std::move(results.measurements)};
  source.noise = results.noise;
  source.head = runs.head;
  if (!results.best_runs.empty()) source.figures.push_back(curves_figure(results));
  return source;
}

// Names and texts of the files of an answer.
using AnswerFiles = std::vector<std::pair<std::string, std::string>>;

// Writes an answer into the folder, with its figures if it has some, and prints the names of its files.
void write_answer(const fs::path& folder, const AnswerFiles& files, const std::vector<AnswerFigure>* figures) {
  make_folder(folder, "--out: ");
  std::vector<std::string> names;
  for (const auto& [name, text] : files) {
    write_file_atomically(folder / name, text);
    names.push_back(name);
  }
  if (figures) {
    for (const AnswerFigure& figure : *figures) write_file_atomically(folder / (figure.name + ".svg"), figure.svg);
    draw_figures(folder, *figures);
    names.emplace_back("figures");
  }
  fmt::print("answer: {} ({})\n", folder.string(), fmt::join(names, ", "));
}

StudySource read_source(const StudyCall& call, const std::string& source) {
  return fs::is_directory(source) ? read_sweep_store(call, source) : read_table(call, source);
}

AnswerOptions options_of(const StudyCall& call, const StudySource& source) {
  AnswerOptions options = call.options;
  options.noise = source.noise;
  return options;
}

// Returns the folder of an answer from several sources: that of --out, or one in runs/.
fs::path folder_of(const StudyCall& call) { return call.out.empty() ? new_dated_folder("study") : fs::path(call.out); }

// Returns the folder of the answer: that of --out, or the folder `study` of a store, or one beside a table.
fs::path folder_of(const StudyCall& call, const fs::path& from) {
  if (!call.out.empty()) return call.out;
  return fs::is_directory(from) ? from / "study" : fs::path(fs::path(from).replace_extension().string() + "-study");
}

// Returns the answer. Errors name the source.
StudyAnswer answer_of(const StudyCall& call, const std::string& from, const StudySource& source) try {
  return answer_study(source.runs, options_of(call, source));
} catch (const Error& error) {
  throw Error(fmt::format("{}: {}", from, error.what()));
}

int study_one(const StudyCall& call) {
  const fs::path from = call.sources.front();
  const StudySource source = read_source(call, from.string());
  const StudyAnswer answer = answer_of(call, from.string(), source);
  fmt::print("\n{}\n", answer_text(answer));
  const AnswerSource described = {call.command, from.string(), source.head};
  std::vector<AnswerFigure> figures = answer_figures(answer);
  figures.insert(figures.end(), source.figures.begin(), source.figures.end());
  write_answer(folder_of(call, from),
               {{"study.html", answer_page(answer, described, figures)},
                {"study.csv", answer_csv(answer)},
                {"runs.csv", measurement_table(source.runs)},
                {"study.json", answer_json(answer, described)}},
               &figures);
  return 0;
}

// Returns the name of the folder or file, without the ending ".csv".
std::string name_of(const std::string& source) {
  const fs::path path = fs::path(source).lexically_normal();
  const fs::path name = path.has_filename() ? path.filename() : path.parent_path().filename();
  return name.extension() == ".csv" ? name.stem().string() : name.string();
}

// Returns the studies of a source: one, or one for each setting.
std::vector<NamedStudy> studies_of(const StudyCall& call, const std::string& from) {
  StudySource source = read_source(call, from);
  const AnswerOptions options = options_of(call, source);
  std::vector<NamedRuns> all = {{name_of(from), std::move(source.runs)}};
  if (call.by_setting) all = runs_by_setting(std::move(all.front()));
  for (const std::string& note : stopped_notes(all)) fmt::print("NOTE: {}\n", note);
  std::vector<NamedStudy> studies;
  for (const auto& [name, runs] : all)
    studies.push_back({name, answer_or_missed(runs, options), source.head, effort_of(runs), name_of(from)});
  return studies;
}

int study_several(const StudyCall& call) {
  std::vector<NamedStudy> studies;
  for (const std::string& from : call.sources)
    for (NamedStudy& study : studies_of(call, from)) studies.push_back(std::move(study));
  check_reached(studies);
  for (const std::string& note : check_side_by_side(studies)) fmt::print("NOTE: {}\n", note);
  fmt::print("\n{}\n", side_by_side_text(studies));
  const std::vector<AnswerFigure> figures = side_by_side_figures(studies);
  write_answer(folder_of(call),
               {{"studies.html", side_by_side_page(studies, call.command, figures)},
                {"studies.json", side_by_side_json(studies, call.command)}},
               &figures);
  return 0;
}

TargetsAnswer targets_of(const StudyCall& call, const std::string& store) {
  if (!fs::is_directory(store))
    throw UsageError(fmt::format(
        "--targets: expected the folder of a sweep, whose runs tell when they reached each, got {}", store));
  const StoreRuns runs = read_told(call, store);
  if (!has_constant_rate(runs.definition))
    fmt::print("NOTE: rates fall with --schedule: at an easier target they are those of a longer training\n");
  TargetsAnswer answer = answer_targets(runs, name_of(store), call.targets);
  for (const std::string& note : target_notes(answer)) fmt::print("NOTE: {}\n", note);
  fmt::print("\n{}\n", targets_text(answer));
  return answer;
}

int study_targets(const StudyCall& call) {
  const std::string& from = call.sources.front();
  const TargetsAnswer answer = targets_of(call, from);
  const std::vector<AnswerFigure> figures = targets_figures(answer);
  write_answer(folder_of(call, from),
               {{"targets.html", targets_page(answer, call.command, figures)},
                {"targets.csv", targets_csv(answer)},
                {"targets_steps.csv", targets_steps_csv(answer)},
                {"targets.json", targets_json(answer, call.command)}},
               &figures);
  return 0;
}

int profile_targets(const StudyCall& call) {
  std::vector<TargetsAnswer> sweeps;
  for (const std::string& from : call.sources) sweeps.push_back(targets_of(call, from));
  const PerformanceProfile profile = performance_profile(sweeps);
  fmt::print("{}\n", profile_text(profile));
  write_answer(folder_of(call),
               {{"profile.csv", profile_csv(profile)}, {"profile.json", profile_json(profile, call.command)}}, nullptr);
  return 0;
}

// Throws UsageError for what only studies of sources read.
void check_without_sources(const StudyCall& call) {
  if (!call.sources.empty())
    throw UsageError(fmt::format("{}: expected no SOURCE beside it, got {}", kBranchesFlag, call.sources.front()));
  for (const auto& [flag, is_there] :
       {std::pair{"--samples-per-epoch", call.samples_per_epoch.has_value()},
        std::pair{"--cluster", !call.cluster.empty()}, std::pair{"--targets", !call.target_list.empty()},
        std::pair{"--by-setting", call.by_setting},
        std::pair{"--base-minibatch", call.options.base_minibatch.has_value()}})
    if (is_there) throw UsageError(fmt::format("{}: expected no {} beside it", kBranchesFlag, flag));
}

int study_branches(const StudyCall& call) {
  check_without_sources(call);
  const MeasuredBranches measured = measure_branches(call.branches, call.out);
  if (!measured.answer) return measured.exit_code;
  const BranchesAnswer& answer = *measured.answer;
  fmt::print("\n");
  for (const std::string& note : branches_notes(answer)) fmt::print("NOTE: {}\n", note);
  fmt::print("{}\n", branches_text(answer));
  const std::vector<AnswerFigure> figures = branches_figures(answer);
  write_answer(measured.folder,
               {{"branches.html", branches_page(answer, call.command, figures)},
                {"branches.csv", branches_csv(answer)},
                {"branches.json", branches_json(answer, call.command)}},
               &figures);
  return 0;
}

int study(StudyCall call) {
  call.branches.check_together();
  if (call.branches.is_given()) return study_branches(call);
  if (call.sources.empty()) throw UsageError("SOURCE or --branches RUN@PLACES: expected one of them, got none");
  if (!call.target_list.empty()) {
    call.targets = parse_target_values("--targets", call.target_list);
    return call.sources.size() == 1 ? study_targets(call) : profile_targets(call);
  }
  if (!call.cluster.empty()) call.options.forecast = parse_scale_json(read_file(call.cluster), call.cluster);
  return call.sources.size() == 1 && !call.by_setting ? study_one(call) : study_several(call);
}

void add_flags(CommandLine& line, StudyCall& call) {
  line.texts({"SOURCE", "",
              "the store of a sweep, or measurements, a line a training: STORE or FILE.csv; several are held against "
              "the first, on one page"},
             call.sources)
      .text({"--out", "DIR",
             "folder of the answer; STORE/study or FILE-study, of several sources runs/study-TIME, of branches "
             "RUN/branches"},
            call.out)
      .positive({"--samples-per-epoch", "N", "samples of an epoch, for a column of epochs"}, call.samples_per_epoch,
                1e15)
      .text({"--cluster", "FILE.json",
             "a forecast of `./run scale RECIPE ... --json FILE`: what the target takes on that cluster"},
            call.cluster)
      .text({"--targets", "A,B,C",
             "values of a sweep's figure, up to ten: the critical minibatch at each of them, out of the same runs; of "
             "several sweeps also the share of targets that each reaches within a factor of the fewest steps"},
            call.target_list)
      .excludes("--cluster")
      .flag("--by-setting", call.by_setting,
            "make a study of each value of the column setting, such as a searched policy or momentum, and hold them "
            "side by side")
      .excludes("--targets")
      .whole({"--base-minibatch", "B",
              "minibatch whose samples efficiencies, and whose rate the lines of rates, are counted from; the "
              "smallest that reached the target"},
             call.options.base_minibatch, 1)
      .excludes("--targets");
}

}  // namespace

int study_command(const ToolArguments& arguments) {
  if (const std::optional<int> code = trial_or_rank(arguments)) return *code;
  StudyCall call;
  for (const std::string& word : arguments.words) call.command += " " + shell_quoted(word);
  CommandLine line(
      "Steps to a target against the minibatch: the best rate of each, the critical minibatch, the largest useful one. "
      "SOURCE is the folder of a sweep, or a table (CSV) whose first line names its columns: minibatch, one of steps, "
      "samples and epochs to the target, and rate, setting, seed, reached, diverged, seconds where they are known. "
      "With "
      "--branches, the local critical minibatch of a run, on branches that are trained.",
      "./run study SOURCE... [--out DIR] [--by-setting] [--cluster FILE.json | --targets A,B,C], or ./run study "
      "--branches RUN@500st,2000st");
  add_flags(line, call);
  call.branches.declare(line);
  return line.parse(arguments.words) ? study(call) : 0;
}

}  // namespace kb
