#include "recipes/config/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

#include "recipes/config/duration.h"
#include "recipes/config/flag_rows.h"
#include "recipes/config/learning.h"
#include "recipes/config/network.h"
#include "recipes/task/suggest.h"
#include "runtime/options.h"

namespace kb {
namespace {

// Words separated by commas, each a choice; `none` stands for no word where it is not null.
template <class Value, size_t count>
FlagRow list(FlagText text, std::vector<Value> RunConfig::*member, const Choice<Value> (&choices)[count],
             const char* none = nullptr) {
  const std::string name = text.name;
  return {std::move(text),
          [=, &choices](RunConfig& config, const std::string& value) {
            std::vector<Value> values;
            if (!none || value != none)
              for (const std::string& word : comma_separated(value)) values.push_back(choice_of(name, choices, word));
            config.*member = std::move(values);
          },
          [=, &choices](const RunConfig& config) {
            std::vector<std::string> words;
            for (const Value value : config.*member) words.push_back(word_of(choices, value));
            return words.empty() && none ? none : fmt::format("{}", fmt::join(words, ","));
          }};
}

FlagRow dump() {
  return list({"--dump", "WHAT",
               fmt::format("write into the run folder, separated by commas (kernels: cpp of a CPU, cuda of a GPU): {}",
                           fmt::join(words_of(kDumps), ", "))},
              &RunConfig::dump, kDumps);
}

FlagRow augment() {
  return list({"--augment", "KINDS",
               fmt::format("augmentations of training images, separated by commas: {}; or none",
                           fmt::join(words_of(kAugmentKinds), ", "))},
              &RunConfig::augment, kAugmentKinds, "none");
}

FlagRow loader_threads() {
  static constexpr const char* kName = "--loader-threads";
  return {
      {kName, "N", "threads that fill minibatches ahead; 0: the step fills its own; auto: as cores are left"},
      [](RunConfig& config, const std::string& value) {
        config.loader_threads.reset();
        if (value != "auto") config.loader_threads = parse_whole(kName, value, "auto, or 0 to 256", 0, 257);
      },
      [](const RunConfig& config) { return config.loader_threads ? fmt::to_string(*config.loader_threads) : "auto"; }};
}

FlagRow threads() {
  static constexpr const char* kName = "--threads";
  return {{kName, "N", "threads; 0: one a core, of those that this process may use"},
          [](RunConfig& config, const std::string& value) {
            config.threads = parse_whole(kName, value, "a whole number in [0, 4096]", 0, 4097);
          },
          [](const RunConfig& config) { return fmt::to_string(config.threads); }};
}

FlagRow bucket_mb() {
  static constexpr const char* kName = "--bucket-mb";
  return {{kName, "MB",
           "part of the gradient that processes sum together while the rest is computed, in units of 1e6 bytes; the "
           "same bits; auto: the least step that a cost model finds"},
          [](RunConfig& config, const std::string& value) {
            if (value == "auto") return void(config.bucket_mb = 0);
            config.bucket_mb = parse_real(kName, value, "auto, or a number > 0", 1e6);
            if (config.bucket_mb == 0) refuse_value(kName, "auto, or a number > 0", value);
          },
          [](const RunConfig& config) { return config.bucket_mb == 0 ? "auto" : fmt::to_string(config.bucket_mb); }};
}

FlagRow net() {
  return {
      {"--net", "L,B", "a network to run over as if it lay between the processes: latency and bandwidth, 50us,1GB/s"},
      [](RunConfig& config, const std::string& value) { config.net = parse_network(value); },
      [](const RunConfig& config) { return config.net ? network_words(*config.net) : ""; }};
}

FlagRow stop_at() {
  return {{"--stop-at", "WHEN",
           "end the run before its schedule ends, which stays as --epochs says: 500st after 500 steps, 30ep after 30 "
           "epochs, 8.5% at the first evaluation of at most that test error"},
          [](RunConfig& config, const std::string& value) {
            if (value.empty()) refuse_value("--stop-at", "500st, 30ep or 8.5%", value);
            config.stop_at = parse_stop_at(value);
          },
          [](const RunConfig& config) { return config.stop_at.text(); }};
}

FlagRow log_layers() {
  static constexpr const char* kName = "--log-layers";
  return {{kName, "EVERY",
           "write the norms of every layer's weights and gradient and its trust ratio into metrics.jsonl, each 50st "
           "(steps) or 1ep (epochs), and draw them into layers.svg at the end; the same bits"},
          [](RunConfig& config, const std::string& value) { config.log_layers = parse_duration(kName, value); },
          [](const RunConfig& config) { return config.log_layers ? config.log_layers->text() : ""; }};
}

FlagRow print_schedule() {
  static constexpr const char* kName = "--print-schedule";
  return {{kName, "WHERE",
           "print the learning rate over the run and stop, without compiling: table; or FILE.svg, which it is drawn "
           "into too"},
          [](RunConfig& config, const std::string& value) {
            if (value != kTableAlone && !value.ends_with(".svg")) refuse_value(kName, "table or FILE.svg", value);
            config.print_schedule = value;
          },
          [](const RunConfig& config) { return config.print_schedule; }};
}

// ghost(M) and sync(K) of the text; worker of anything else.
NormGroup group_of(const std::string& flag, const std::string& text, const std::string& expected) {
  for (const auto& [kind, start] : {std::pair{NormGroup::Kind::ghost, "ghost("}, {NormGroup::Kind::sync, "sync("}})
    if (text.starts_with(start) && text.ends_with(")")) {
      const size_t from = std::string_view(start).size();
      try {
        return {kind, parse_whole(flag, text.substr(from, text.size() - from - 1), expected, 1)};
      } catch (const UsageError&) {
        refuse_value(flag, expected, text);
      }
    }
  if (text != "worker") refuse_value(flag, expected, text);
  return {};
}

FlagRow batch_norm() {
  static constexpr const char* kName = "--batch-norm";
  return {{kName, "GROUP",
           "samples that share statistics: worker, its own; ghost(M), groups of M that workers are cut into; sync(K), "
           "K virtual workers' as one"},
          [](RunConfig& config, const std::string& value) {
            config.batch_norm = group_of(kName, value, "worker, ghost(M) or sync(K) with " + whole_expectation(1));
          },
          [](const RunConfig& config) { return to_string(config.batch_norm); }};
}

FlagRow recipe_option(const RecipeOption& option) {
  const std::string flag = "--" + option.name;
  if (!option.words.empty())
    return {{flag, "WORD", fmt::format("{}: {}", option.doc, option.expectation())},
            [=](RunConfig& config, const std::string& text) {
              check_choice(flag, text, option.words);
              config.options.set(option.name, text);
            },
            [=](const RunConfig& config) { return config.options.word(option.name); }};
  return {{flag, option.whole ? "N" : "X", fmt::format("{}: {}", option.doc, option.expectation())},
          [=](RunConfig& config, const std::string& text) {
            const double value = parse_finite(flag, text, option.expectation());
            if (!option.allows(value)) refuse_value(flag, option.expectation(), text);
            config.options.set(option.name, value);
          },
          [=](const RunConfig& config) { return fmt::format("{}", config.options.real(option.name)); }};
}

std::function<bool(const RunConfig&)> augments_by(AugmentKind kind) {
  return [=](const RunConfig& config) {
    return std::find(config.augment.begin(), config.augment.end(), kind) != config.augment.end();
  };
}

// The stable flags, in the order of the help.
std::vector<FlagRow> stable_flags(const Recipe& recipe) {
  std::vector<FlagRow> rows = {
      path({"--data", "DIR",
            "folder of the data set, or the one above it; $KB_DATA where it is not given; synthetic: noise, made once, "
            "no loader"},
           &RunConfig::data)
          .under("Data")
          .as(FlagEffect::comfort)
          .of_a_process(),
      choice({"--dataset", "NAME", "data set"}, &RunConfig::dataset, input_names(recipe.load)),
      whole({"--minibatch", "KN", "samples of one step"}, &RunConfig::minibatch, false)
          .under("Minibatch, workers and processes"),
      whole({"--per-worker", "N",
             "samples of one virtual worker, which has its own batch-norm statistics; 0: one worker a process"},
            &RunConfig::per_worker, true),
      batch_norm().as(FlagEffect::call),  // a part of --per-worker, see with_plan
      whole({"--processes", "P", "processes on this machine that share a step; a launcher's own where it starts them"},
            &RunConfig::processes, false)
          .as(FlagEffect::comfort),
      choice({"--all-reduce", "HOW",
              "processes sum their gradients; all but the first only with --fast; ring, mpi on CPUs, nccl on GPUs"},
             &RunConfig::all_reduce, kAllReduces),
      choice({"--reduce-precision", "DTYPE", "dtype to which every sum of gradients over workers is rounded"},
             &RunConfig::reduce_precision, kReducePrecisions),
      choice({"--running-statistics", "OF",
              "whose running statistics of batch norm are kept where a step has several workers: the first one's or "
              "their mean"},
             &RunConfig::running_statistics, kStatisticsOf),
      whole({"--recompute-bn", "N",
             "training minibatches whose mean batch norm's running statistics are set to before every evaluation; 0: "
             "they stay the moving average of training"},
            &RunConfig::recompute_bn, true),
      bucket_mb().as(FlagEffect::comfort),
      net().as(FlagEffect::call),
      whole({"--epochs", "E", "passes over the training set"}, &RunConfig::epochs, true)
          .under("Length")
          .as(FlagEffect::length),
      whole({"--steps", "S", "length of the run in place of --epochs, schedule included; 0: as the epochs say"},
            &RunConfig::steps, true)
          .as(FlagEffect::length),
      stop_at().as(FlagEffect::comfort),
  };
  auto append = [&](const std::vector<FlagRow>& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  append(learning_flags(recipe));
  append({
      fraction({"--label-smoothing", "S", "share of the target spread over all classes"}, &RunConfig::label_smoothing)
          .under("Loss and augmentation"),
      augment(),
      whole({"--pad", "N", "pixels of 0 that --augment crop adds on each side"}, &RunConfig::pad, true)
          .needs("--augment crop", "--augment", augments_by(AugmentKind::crop)),
      whole({"--cutout-size", "N", "side of the square that --augment cutout paints, pixels"}, &RunConfig::cutout_size,
            false)
          .needs("--augment cutout", "--augment", augments_by(AugmentKind::cutout)),
      positive({"--mixup-alpha", "A", "parameter of the Beta distribution that --augment mixup draws from"},
               &RunConfig::mixup_alpha)
          .needs("--augment mixup", "--augment", augments_by(AugmentKind::mixup)),
      choice({"--augment-in", "WHERE", "who moves the pixels; the same bits"}, &RunConfig::augment_in, kAugmentPlaces)
          .needs("--augment KINDS", "--augment", [](const RunConfig& config) { return !config.augment.empty(); }),
      loader_threads().under("Feeding the processor").as(FlagEffect::comfort).of_a_process(),
      choice(
          {"--resident", "WHEN",
           "the data set lives in the device's memory, a step sends the numbers of its samples; the same bits; auto: "
           "on a GPU, where it takes at most 1 GiB"},
          &RunConfig::resident, kResidentChoices)
          .as(FlagEffect::comfort)
          .of_a_process(),
      choice({"--precision", "P",
              "arithmetic; bf16 and f16 are mixed with f32, tf32 likewise (GPUs); f16 scales the loss"},
             &RunConfig::precision, kPrecisions)
          .under("Arithmetic and processor"),
      toggle({"--fast", "",
              "results may differ in the last bits from run to run, where that is faster (GPUs, --all-reduce)"},
             &RunConfig::fast),
      choice({"--device", "D", "processor"}, &RunConfig::device, kDevices),
      threads().as(FlagEffect::comfort).of_a_process(),
      whole({"--shards", "N", "parts of a minibatch in library calls: changes the last bits; 0: one a core"},
            &RunConfig::shards, true),
      seed_row({"--seed", "N", "seed of initial values, sample order and dropout"}, &RunConfig::seed),
      path({"--out", "DIR", "the run folder; runs/RECIPE-TIME where it is not given"}, &RunConfig::out)
          .under("Run folder: results, checkpoints, going on")
          .as(FlagEffect::call)
          .of_a_process(),
      whole({"--eval-every", "E", "evaluate every so many epochs, and at the end; 0: at the end alone"},
            &RunConfig::eval_every, true)
          .as(FlagEffect::comfort),
      toggle({"--train-metrics", "",
              "compute the metrics (error) in training too, on augmented samples as the parameters move: each step in "
              "metrics.jsonl, their means beside every evaluation"},
             &RunConfig::train_metrics),
      path({"--init", "FILE", "safetensors or run folder with weights to begin with, under PyTorch's names"},
           &RunConfig::init, "a file")
          .of_a_process(),
      toggle({"--init-partial", "", "with --init: tensors that the file lacks or has in another shape start as usual"},
             &RunConfig::init_partial)
          .needs("--init FILE", "--init", [](const RunConfig& config) { return !config.init.empty(); }),
      path({"--resume", "RUN",
            "go on in this run's folder, with its flags; auto: begin in --out, or go on where it holds the same run"},
           &RunConfig::resume)
          .as(FlagEffect::call)
          .of_a_process(),
      path({"--checkpoint", "FILE", "with --resume: go on from this one; the newest where it is not given"},
           &RunConfig::checkpoint, "a file")
          .as(FlagEffect::call)
          .of_a_process(),
      whole({"--save-every", "S", "a checkpoint every so many steps, besides those at evaluations; 0: those alone"},
            &RunConfig::save_every, true)
          .as(FlagEffect::comfort),
      whole({"--keep", "N", "number of checkpoints that are kept"}, &RunConfig::keep, false)
          .as(FlagEffect::comfort)
          .of_a_process(),
      toggle({"--eval-on-stop", "", "evaluate also where a signal stops the run, behind its checkpoint"},
             &RunConfig::eval_on_stop)
          .as(FlagEffect::comfort),
      log_layers().as(FlagEffect::comfort),
      print_schedule().under("Looking inside").as(FlagEffect::call),
      toggle({"--dry-run", "", "compile, print the plan and the memory it takes, and stop"}, &RunConfig::dry_run)
          .as(FlagEffect::call),
      dump().as(FlagEffect::call).of_a_process(),
      toggle({"--explain-overlap", "",
              "print how the all-reduces of a step overlap with its compute, each with its times, at the end"},
             &RunConfig::explain_overlap)
          .as(FlagEffect::call),
      path({"--picture", "FILE.svg",
            "draw a step: what its lanes did when, of which of your lines, and the live memory"},
           &RunConfig::picture, "a file")
          .as(FlagEffect::call),
      path({"--trace", "FILE.json", "write the same for every process, to open in ui.perfetto.dev or chrome://tracing"},
           &RunConfig::trace, "a file")
          .as(FlagEffect::call),
      toggle({"--sync-steps", "", "wait after every schedule step, capture none: a GPU's fault is told by its step"},
             &RunConfig::sync_steps)
          .as(FlagEffect::call),
      toggle({"--check-finite", "",
              "look at every value of each step before it is taken, and name the op that makes the first that is not "
              "finite; the same bits, slower"},
             &RunConfig::check_finite)
          .as(FlagEffect::call),
      toggle({"--quiet", "", "print nothing but errors"}, &RunConfig::quiet).as(FlagEffect::call).of_a_process(),
  });
  return rows;
}

// Names that other programs give to flags of ours.
const std::map<std::string, std::string> kElsewhere = {
    {"--batch-size", "--minibatch"},  {"--batch_size", "--minibatch"},
    {"--batch", "--minibatch"},       {"--learning-rate", "--lr"},
    {"--learning_rate", "--lr"},      {"--wd", "--weight-decay"},
    {"--lr-scheduler", "--schedule"}, {"--lr-schedule", "--schedule"},
    {"--output-dir", "--out"},        {"--amp", "--precision"},
    {"--dtype", "--precision"},       {"--num-workers", "--loader-threads"},
    {"--pretrained", "--init"},       {"--max-steps", "--steps"},
    {"--model-ema", "--ema"},         {"--gradient-clipping", "--clip-norm"},
};

[[noreturn]] void refuse_extra(const std::string& word, const CLI::App& app) {
  if (!word.starts_with("-")) throw UsageError(fmt::format("'{}' is not expected here: flags begin with --", word));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back("--" + option->get_lnames().at(0));
  const std::string flag = word.substr(0, word.find('='));
  const auto usual = kElsewhere.find(flag);
  const std::string guess = usual == kElsewhere.end() ? nearest(flag, names) : usual->second;
  throw UsageError(fmt::format("there is no flag '{}'{}", flag,
                               guess.empty() ? "; --help lists all" : fmt::format("; did you mean '{}'?", guess)));
}

[[noreturn]] void refuse_without_effect(const FlagRow& row, const std::vector<FlagRow>& table,
                                        const RunConfig& config) {
  const auto other =
      std::find_if(table.begin(), table.end(), [&](const FlagRow& r) { return r.text.name == row.need.flag; });
  ensure(other != table.end(), "a flag needs one that is not in the table");
  throw UsageError(fmt::format("{}: it has no effect here\n  expected: {} beside it\n  got:      {} {}", row.text.name,
                               row.need.expected, row.need.flag, other->print(config)));
}

}  // namespace

std::vector<FlagRow> flag_table(const Recipe& recipe) {
  std::vector<FlagRow> table;
  for (const RecipeOption& option : recipe.options) table.push_back(recipe_option(option));
  if (!table.empty()) table.front().heading = "This recipe";
  for (FlagRow& row : stable_flags(recipe)) table.push_back(std::move(row));
  return table;
}

RunConfig default_config(const Recipe& recipe) {
  RunConfig config = config_of(recipe.defaults, recipe.optimizers);
  config.data = RuntimeOptions::from_environment().data_dir.string();
  config.options = OptionValues(recipe.options);
  return config;
}

std::string flags_help(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches) {
  const RunConfig defaults = default_config(recipe);
  std::vector<HelpRow> rows;
  for (const ToolSwitch& item : switches) rows.push_back({rows.empty() ? "This tool" : "", item.text});
  for (const FlagRow& row : flag_table(recipe))
    rows.push_back({row.heading, row.text, row.text.value.empty() ? "" : row.print(defaults)});
  rows.push_back({"", {"--help", "", "this text"}});
  return help_text(fmt::format("{}: {}\n{}\n\nusage: {} [flags]; defaults stand in brackets", recipe.name,
                               recipe.summary, recipe.paper, usage),
                   rows);
}

std::optional<RunConfig> parse_flags(const Recipe& recipe, const std::string& usage,
                                     const std::vector<std::string>& arguments, const std::vector<ToolSwitch>& switches,
                                     const RunConfig* base) {
  RunConfig config = base ? *base : default_config(recipe);
  const std::vector<FlagRow> table = flag_table(recipe);
  CLI::App app;
  app.set_help_flag("--help,-h");
  app.allow_extras();
  for (const ToolSwitch& item : switches) {
    if (item.set) app.add_flag(item.text.name, *item.set);
    if (item.number)
      app.add_option_function<std::string>(item.text.name, [&](const std::string& value) {
        *item.number = parse_whole(item.text.name, value, whole_expectation(1), 1);
      });
    if (item.word) app.add_option(item.text.name, *item.word);
  }
  for (const FlagRow& row : table) {
    if (row.text.value.empty())
      app.add_flag_callback(row.text.name, [&] { row.read(config, ""); });
    else
      app.add_option_function<std::string>(row.text.name, [&](const std::string& value) { row.read(config, value); })
          ->type_name(row.text.value);
  }
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print("{}", flags_help(recipe, usage, switches));
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (!app.remaining().empty()) refuse_extra(app.remaining().front(), app);
  const auto given = [&](const std::string& flag) { return app.count(flag) > 0; };
  check_learning_flags(config, given);
  for (const FlagRow& row : table)
    if (given(row.text.name) && !row.has_effect(config)) refuse_without_effect(row, table, config);
  return config;
}

std::vector<std::string> flag_words(const Recipe& recipe, const RunConfig& config) {
  std::vector<std::string> words;
  for (const FlagRow& row : flag_table(recipe)) {
    std::string value = row.print(config);
    if (row.effect == FlagEffect::call || !row.has_effect(config) || value.empty() ||
        (row.text.value.empty() && value == "false"))
      continue;
    words.push_back(row.text.name);
    if (!row.text.value.empty()) words.push_back(value);
  }
  return words;
}

std::string shared_flags(const Recipe& recipe, const RunConfig& config) {
  std::string text;
  for (const FlagRow& row : flag_table(recipe))
    if (!row.differs) text += fmt::format("{} {}\n", row.text.name, row.print(config));
  return text;
}

std::vector<FlagValue> flag_values(const Recipe& recipe, const RunConfig& config) {
  std::vector<FlagValue> values;
  for (const FlagRow& row : flag_table(recipe))
    values.push_back({row.text.name.substr(2), row.print(config), row.effect});
  return values;
}

}  // namespace kb
