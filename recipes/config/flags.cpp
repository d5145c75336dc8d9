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
#include "recipes/config/suggest.h"
#include "recipes/task/augment.h"
#include "runtime/options.h"

namespace kb {
namespace {

FlagRow dump() {
  static constexpr const char* kName = "--dump";
  const std::vector<std::string> choices = {"graph", "graphviz", "passes", "schedule", "cpp", "cuda"};
  return {{kName, "WHAT",
           fmt::format("write into the run folder, separated by commas (kernels: cpp of a CPU, cuda of a GPU): {}",
                       fmt::join(choices, ", "))},
          [=](Flags& flags, const std::string& value) {
            flags.dump.clear();
            for (const std::string& word : comma_separated(value)) {
              check_choice(kName, word, choices);
              flags.dump.push_back(word);
            }
          },
          [](const Flags& flags) { return fmt::format("{}", fmt::join(flags.dump, ",")); }};
}

FlagRow augment() {
  static constexpr const char* kName = "--augment";
  const std::vector<std::string> kinds = augment_kinds();
  return {{kName, "KINDS",
           fmt::format("augmentations of training images, separated by commas: {}; or none", fmt::join(kinds, ", "))},
          [=](Flags& flags, const std::string& value) {
            const std::vector<std::string> words = comma_separated(value);
            for (const std::string& word : words)
              if (value != "none") check_choice(kName, word, kinds);
            flags.augment = fmt::format("{}", fmt::join(words, ","));
          },
          [](const Flags& flags) { return flags.augment; }};
}

FlagRow loader_threads() {
  static constexpr const char* kName = "--loader-threads";
  return {{kName, "N", "threads that fill minibatches ahead; 0: the step fills its own; auto: as cores are left"},
          [](Flags& flags, const std::string& value) {
            flags.loader_threads =
                value == "auto" ? kAutoThreads : parse_whole(kName, value, "auto, or 0 to 256", 0, 257);
          },
          [](const Flags& flags) {
            return flags.loader_threads == kAutoThreads ? "auto" : fmt::to_string(flags.loader_threads);
          }};
}

FlagRow threads() {
  static constexpr const char* kName = "--threads";
  return {{kName, "N", "threads; 0: one a core, of those that this process may use"},
          [](Flags& flags, const std::string& value) {
            flags.threads = parse_whole(kName, value, "a whole number in [0, 4096]", 0, 4097);
          },
          [](const Flags& flags) { return fmt::to_string(flags.threads); }};
}

FlagRow bucket_mb() {
  static constexpr const char* kName = "--bucket-mb";
  return {{kName, "MB",
           "part of the gradient that processes sum together while the rest is computed, in units of 1e6 bytes; the "
           "same bits; auto: the least step that a cost model finds"},
          [](Flags& flags, const std::string& value) {
            if (value == "auto") return void(flags.bucket_mb = 0);
            flags.bucket_mb = parse_real(kName, value, "auto, or a number > 0", 1e6);
            if (flags.bucket_mb == 0) refuse_value(kName, "auto, or a number > 0", value);
          },
          [](const Flags& flags) { return flags.bucket_mb == 0 ? "auto" : fmt::to_string(flags.bucket_mb); }};
}

FlagRow net() {
  return {
      {"--net", "L,B", "a network to run over as if it lay between the processes: latency and bandwidth, 50us,1GB/s"},
      [](Flags& flags, const std::string& value) {
        parse_network(value);
        flags.net = value;
      },
      [](const Flags& flags) { return flags.net; }};
}

FlagRow stop_at() {
  return {{"--stop-at", "WHEN",
           "end the run before its schedule ends, which stays as --epochs says: 500st after 500 steps, 30ep after 30 "
           "epochs, 8.5% at the first evaluation of at most that test error"},
          [](Flags& flags, const std::string& value) {
            if (value.empty()) refuse_value("--stop-at", "500st, 30ep or 8.5%", value);
            parse_stop_at(value);
            flags.stop_at = value;
          },
          [](const Flags& flags) { return flags.stop_at; }};
}

FlagRow log_layers() {
  static constexpr const char* kName = "--log-layers";
  return {{kName, "EVERY",
           "write the norms of every layer's weights and gradient and its trust ratio into metrics.jsonl, each 50st "
           "(steps) or 1ep (epochs), and draw them into layers.svg at the end; the same bits"},
          [](Flags& flags, const std::string& value) {
            parse_duration(kName, value);
            flags.log_layers = value;
          },
          [](const Flags& flags) { return flags.log_layers; }};
}

FlagRow print_schedule() {
  static constexpr const char* kName = "--print-schedule";
  return {{kName, "WHERE",
           "print the learning rate over the run and stop, without compiling: table; or FILE.svg, which it is drawn "
           "into too"},
          [](Flags& flags, const std::string& value) {
            if (value != kTableAlone && !value.ends_with(".svg")) refuse_value(kName, "table or FILE.svg", value);
            flags.print_schedule = value;
          },
          [](const Flags& flags) { return flags.print_schedule; }};
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
          [](Flags& flags, const std::string& value) {
            flags.batch_norm = group_of(kName, value, "worker, ghost(M) or sync(K) with " + whole_expectation(1));
          },
          [](const Flags& flags) { return to_string(flags.batch_norm); }};
}

FlagRow recipe_option(const RecipeOption& option) {
  const std::string flag = "--" + option.name;
  if (!option.words.empty())
    return {{flag, "WORD", fmt::format("{}: {}", option.doc, option.expectation())},
            [=](Flags& flags, const std::string& text) {
              check_choice(flag, text, option.words);
              flags.options.set(option.name, text);
            },
            [=](const Flags& flags) { return flags.options.word(option.name); }};
  return {{flag, option.whole ? "N" : "X", fmt::format("{}: {}", option.doc, option.expectation())},
          [=](Flags& flags, const std::string& text) {
            const double value = parse_finite(flag, text, option.expectation());
            if (!option.allows(value)) refuse_value(flag, option.expectation(), text);
            flags.options.set(option.name, value);
          },
          [=](const Flags& flags) { return fmt::format("{}", flags.options.real(option.name)); }};
}

std::function<bool(const Flags&)> augments_by(const std::string& kind) {
  return [=](const Flags& flags) {
    const std::vector<std::string> kinds = comma_separated(flags.augment);
    return std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
  };
}

// The stable flags, in the order of the help.
std::vector<FlagRow> stable_flags(const Recipe& recipe) {
  std::vector<FlagRow> rows = {
      path({"--data", "DIR",
            "folder of the data set, or the one above it; $KB_DATA where it is not given; synthetic: noise, made once, "
            "no loader"},
           &Flags::data)
          .under("Data")
          .as(FlagEffect::comfort)
          .of_a_process(),
      choice({"--dataset", "NAME", "data set"}, &Flags::dataset, input_names(recipe.load)),
      whole({"--minibatch", "KN", "samples of one step"}, &Flags::minibatch, false)
          .under("Minibatch, workers and processes"),
      whole({"--per-worker", "N",
             "samples of one virtual worker, which has its own batch-norm statistics; 0: one worker a process"},
            &Flags::per_worker, true),
      batch_norm().as(FlagEffect::call),  // a part of --per-worker, see with_plan
      whole({"--processes", "P", "processes on this machine that share a step; a launcher's own where it starts them"},
            &Flags::processes, false)
          .as(FlagEffect::comfort),
      choice({"--all-reduce", "HOW",
              "processes sum their gradients; all but the first only with --fast; ring, mpi on CPUs, nccl on GPUs"},
             &Flags::all_reduce, {"halving-doubling", "ring", "mpi", "nccl"}),
      choice({"--reduce-precision", "DTYPE", "dtype to which every sum of gradients over workers is rounded"},
             &Flags::reduce_precision, {"f32", "bf16", "f16"}),
      choice({"--running-statistics", "OF",
              "whose running statistics of batch norm are kept where a step has several workers: the first one's or "
              "their mean"},
             &Flags::running_statistics, {"first", "mean"}),
      whole({"--recompute-bn", "N",
             "training minibatches whose mean batch norm's running statistics are set to before every evaluation; 0: "
             "they stay the moving average of training"},
            &Flags::recompute_bn, true),
      bucket_mb().as(FlagEffect::comfort),
      net().as(FlagEffect::call),
      whole({"--epochs", "E", "passes over the training set"}, &Flags::epochs, true)
          .under("Length")
          .as(FlagEffect::length),
      whole({"--steps", "S", "length of the run in place of --epochs, schedule included; 0: as the epochs say"},
            &Flags::steps, true)
          .as(FlagEffect::length),
      stop_at().as(FlagEffect::comfort),
  };
  auto append = [&](const std::vector<FlagRow>& more) { rows.insert(rows.end(), more.begin(), more.end()); };
  append(learning_flags(recipe));
  append({
      fraction({"--label-smoothing", "S", "share of the target spread over all classes"}, &Flags::label_smoothing)
          .under("Loss and augmentation"),
      augment(),
      whole({"--pad", "N", "pixels of 0 that --augment crop adds on each side"}, &Flags::pad, true)
          .needs("--augment crop", "--augment", augments_by("crop")),
      whole({"--cutout-size", "N", "side of the square that --augment cutout paints, pixels"}, &Flags::cutout_size,
            false)
          .needs("--augment cutout", "--augment", augments_by("cutout")),
      positive({"--mixup-alpha", "A", "parameter of the Beta distribution that --augment mixup draws from"},
               &Flags::mixup_alpha)
          .needs("--augment mixup", "--augment", augments_by("mixup")),
      choice({"--augment-in", "WHERE", "who moves the pixels; the same bits"}, &Flags::augment_in, {"graph", "loader"})
          .needs("--augment KINDS", "--augment", [](const Flags& flags) { return flags.augment != "none"; }),
      loader_threads().under("Feeding the processor").as(FlagEffect::comfort).of_a_process(),
      choice(
          {"--resident", "WHEN",
           "the data set lives in the device's memory, a step sends the numbers of its samples; the same bits; auto: "
           "on a GPU, where it takes at most 1 GiB"},
          &Flags::resident, {"auto", "on", "off"})
          .as(FlagEffect::comfort)
          .of_a_process(),
      choice({"--precision", "P",
              "arithmetic; bf16 and f16 are mixed with f32, tf32 likewise (GPUs); f16 scales the loss"},
             &Flags::precision, {"f32", "tf32", "bf16", "f16", "f64"})
          .under("Arithmetic and processor"),
      toggle({"--fast", "",
              "results may differ in the last bits from run to run, where that is faster (GPUs, --all-reduce)"},
             &Flags::fast),
      choice({"--device", "D", "processor"}, &Flags::device, {"auto", "cpu", "cuda"}),
      threads().as(FlagEffect::comfort).of_a_process(),
      whole({"--shards", "N", "parts of a minibatch in library calls: changes the last bits; 0: one a core"},
            &Flags::shards, true),
      seed_row({"--seed", "N", "seed of initial values, sample order and dropout"}, &Flags::seed),
      path({"--out", "DIR", "the run folder; runs/RECIPE-TIME where it is not given"}, &Flags::out)
          .under("Run folder: results, checkpoints, going on")
          .as(FlagEffect::call)
          .of_a_process(),
      whole({"--eval-every", "E", "evaluate every so many epochs, and at the end; 0: at the end alone"},
            &Flags::eval_every, true)
          .as(FlagEffect::comfort),
      path({"--init", "FILE", "safetensors with weights to begin with, under PyTorch's names"}, &Flags::init, "a file")
          .of_a_process(),
      path({"--resume", "RUN",
            "go on in this run's folder, with its flags; auto: begin in --out, or go on where it holds the same run"},
           &Flags::resume)
          .as(FlagEffect::call)
          .of_a_process(),
      path({"--checkpoint", "FILE", "with --resume: go on from this one; the newest where it is not given"},
           &Flags::checkpoint, "a file")
          .as(FlagEffect::call)
          .of_a_process(),
      whole({"--save-every", "S", "a checkpoint every so many steps, besides those at evaluations; 0: those alone"},
            &Flags::save_every, true)
          .as(FlagEffect::comfort),
      whole({"--keep", "N", "number of checkpoints that are kept"}, &Flags::keep, false)
          .as(FlagEffect::comfort)
          .of_a_process(),
      toggle({"--eval-on-stop", "", "evaluate also where a signal stops the run, behind its checkpoint"},
             &Flags::eval_on_stop)
          .as(FlagEffect::comfort),
      log_layers().as(FlagEffect::comfort),
      print_schedule().under("Looking inside").as(FlagEffect::call),
      toggle({"--dry-run", "", "compile, print the plan and the memory it takes, and stop"}, &Flags::dry_run)
          .as(FlagEffect::call),
      dump().as(FlagEffect::call).of_a_process(),
      toggle({"--explain-overlap", "",
              "print how the all-reduces of a step overlap with its compute, each with its times, at the end"},
             &Flags::explain_overlap)
          .as(FlagEffect::call),
      path({"--picture", "FILE.svg",
            "draw a step: what its lanes did when, of which of your lines, and the live memory"},
           &Flags::picture, "a file")
          .as(FlagEffect::call),
      path({"--trace", "FILE.json", "write the same for every process, to open in ui.perfetto.dev or chrome://tracing"},
           &Flags::trace, "a file")
          .as(FlagEffect::call),
      toggle({"--sync-steps", "", "wait after every schedule step, capture none: a GPU's fault is told by its step"},
             &Flags::sync_steps)
          .as(FlagEffect::call),
      toggle({"--check-finite", "",
              "look at every value of each step before it is taken, and name the op that makes the first that is not "
              "finite; the same bits, slower"},
             &Flags::check_finite)
          .as(FlagEffect::call),
      toggle({"--quiet", "", "print nothing but errors"}, &Flags::quiet).as(FlagEffect::call).of_a_process(),
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

[[noreturn]] void refuse_without_effect(const FlagRow& row, const std::vector<FlagRow>& table, const Flags& flags) {
  const auto other =
      std::find_if(table.begin(), table.end(), [&](const FlagRow& r) { return r.text.name == row.need.flag; });
  ensure(other != table.end(), "a flag needs one that is not in the table");
  throw UsageError(fmt::format("{}: it has no effect here\n  expected: {} beside it\n  got:      {} {}", row.text.name,
                               row.need.expected, row.need.flag, other->print(flags)));
}

}  // namespace

std::vector<FlagRow> flag_table(const Recipe& recipe) {
  std::vector<FlagRow> table;
  for (const RecipeOption& option : recipe.options) table.push_back(recipe_option(option));
  if (!table.empty()) table.front().heading = "This recipe";
  for (FlagRow& row : stable_flags(recipe)) table.push_back(std::move(row));
  return table;
}

Flags default_flags(const Recipe& recipe) {
  const Defaults& d = recipe.defaults;
  Flags flags;
  flags.data = RuntimeOptions::from_environment().data_dir.string();
  flags.dataset = d.dataset;
  flags.minibatch = d.minibatch;
  flags.epochs = d.epochs;
  use_optimizer(recipe, flags, d.optimizer);
  flags.scaling = d.scaling;
  flags.schedule = d.schedule;
  flags.milestones = d.milestones;
  flags.power = d.power;
  flags.warmup = d.warmup;
  flags.warmup_epochs = d.warmup_epochs;
  flags.label_smoothing = d.label_smoothing;
  flags.augment = d.augment;
  flags.options = OptionValues(recipe.options);
  return flags;
}

ImageSource image_source(const Recipe& recipe, const Flags& flags) {
  return {flags.dataset, recipe.synthetic, flags.data, recipe.load};
}

std::string flags_help(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches) {
  const Flags defaults = default_flags(recipe);
  std::vector<HelpRow> rows;
  for (const ToolSwitch& item : switches) rows.push_back({rows.empty() ? "This tool" : "", item.text});
  for (const FlagRow& row : flag_table(recipe))
    rows.push_back({row.heading, row.text, row.text.value.empty() ? "" : row.print(defaults)});
  rows.push_back({"", {"--help", "", "this text"}});
  return help_text(fmt::format("{}: {}\n{}\n\nusage: {} [flags]; defaults stand in brackets", recipe.name,
                               recipe.summary, recipe.paper, usage),
                   rows);
}

std::optional<Flags> parse_flags(const Recipe& recipe, const std::string& usage,
                                 const std::vector<std::string>& arguments, const std::vector<ToolSwitch>& switches,
                                 const Flags* base) {
  Flags flags = base ? *base : default_flags(recipe);
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
      app.add_flag_callback(row.text.name, [&] { row.read(flags, ""); });
    else
      app.add_option_function<std::string>(row.text.name, [&](const std::string& value) { row.read(flags, value); })
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
  check_learning_flags(flags, given);
  for (const FlagRow& row : table)
    if (given(row.text.name) && !row.has_effect(flags)) refuse_without_effect(row, table, flags);
  return flags;
}

std::vector<std::string> flag_words(const Recipe& recipe, const Flags& flags) {
  std::vector<std::string> words;
  for (const FlagRow& row : flag_table(recipe)) {
    std::string value = row.print(flags);
    if (row.effect == FlagEffect::call || !row.has_effect(flags) || value.empty() ||
        (row.text.value.empty() && value == "false"))
      continue;
    words.push_back(row.text.name);
    if (!row.text.value.empty()) words.push_back(value);
  }
  return words;
}

std::string shared_flags(const Recipe& recipe, const Flags& flags) {
  std::string text;
  for (const FlagRow& row : flag_table(recipe))
    if (!row.differs) text += fmt::format("{} {}\n", row.text.name, row.print(flags));
  return text;
}

std::vector<FlagValue> flag_values(const Recipe& recipe, const Flags& flags) {
  std::vector<FlagValue> values;
  for (const FlagRow& row : flag_table(recipe))
    values.push_back({row.text.name.substr(2), row.print(flags), row.effect});
  return values;
}

Precision parse_precision(const std::string& text) {
  if (text == "bf16") return Precision::bf16;
  if (text == "tf32") return Precision::tf32;
  if (text == "f16") return Precision::f16;
  return text == "f64" ? Precision::f64 : Precision::f32;
}

}  // namespace kb
