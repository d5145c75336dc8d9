#include "recipes/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>

#include "optim/schedule.h"
#include "recipes/augment.h"
#include "recipes/suggest.h"
#include "runtime/options.h"

namespace kb {
namespace {

// One flag: what its help says, how it reads and how it prints.
struct FlagRow {
  FlagText text;
  std::function<void(Flags&, const std::string&)> read;
  std::function<std::string(const Flags&)> print;
};

[[noreturn]] void refuse(const std::string& flag, const std::string& expected, const std::string& got,
                         const std::string& hint = "") {
  throw UsageError(fmt::format("{}: expected {}, got '{}'{}", flag, expected, got, hint));
}

template <class Number>
Number parse_number(const std::string& flag, const std::string& text, const std::string& expected,
                    bool (*fits)(Number)) {
  Number value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !fits(value)) refuse(flag, expected, text);
  return value;
}

template <class Number>
FlagRow number(FlagText text, Number Flags::*member, std::string expected, bool (*fits)(Number)) {
  std::string name = text.name;
  return {std::move(text),
          [=](Flags& flags, const std::string& value) { flags.*member = parse_number(name, value, expected, fits); },
          [=](const Flags& flags) { return fmt::format("{}", flags.*member); }};
}

FlagRow whole(FlagText text, int64_t Flags::*member, bool may_be_zero) {
  if (may_be_zero)
    return number<int64_t>(std::move(text), member, "a whole number >= 0", [](int64_t v) { return v >= 0; });
  return number<int64_t>(std::move(text), member, "a whole number >= 1", [](int64_t v) { return v >= 1; });
}

FlagRow real(FlagText text, double Flags::*member) {
  return number<double>(std::move(text), member, "a number >= 0", [](double v) { return std::isfinite(v) && v >= 0; });
}

FlagRow fraction(FlagText text, double Flags::*member) {
  return number<double>(std::move(text), member, "a number in [0, 1)", [](double v) { return v >= 0 && v < 1; });
}

void check_choice(const std::string& flag, const std::string& value, const std::vector<std::string>& choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::string guess = nearest(value, choices);
  refuse(flag, fmt::format("one of {}", fmt::join(choices, ", ")), value,
         guess.empty() ? "" : fmt::format("; did you mean '{}'?", guess));
}

FlagRow choice(FlagText text, std::string Flags::*member, std::vector<std::string> choices) {
  std::string name = text.name;
  text.doc += fmt::format(": {}", fmt::join(choices, ", "));
  return {std::move(text),
          [=](Flags& flags, const std::string& value) {
            check_choice(name, value, choices);
            flags.*member = value;
          },
          [=](const Flags& flags) { return flags.*member; }};
}

FlagRow path(FlagText text, std::string Flags::*member, const char* what = "a folder") {
  std::string name = text.name;
  return {std::move(text),
          [=](Flags& flags, const std::string& value) {
            if (value.empty()) refuse(name, what, value);
            flags.*member = value;
          },
          [=](const Flags& flags) { return flags.*member; }};
}

FlagRow toggle(FlagText text, bool Flags::*member) {
  return {std::move(text), [=](Flags& flags, const std::string&) { flags.*member = true; },
          [=](const Flags& flags) { return flags.*member ? "true" : "false"; }};
}

FlagRow dump() {
  static constexpr const char* kName = "--dump";
  const std::vector<std::string> choices = {"graph", "graphviz", "passes", "schedule", "cpp"};
  return {{kName, "WHAT", fmt::format("write into the run folder, separated by commas: {}", fmt::join(choices, ", "))},
          [=](Flags& flags, const std::string& value) {
            flags.dump.clear();
            for (const std::string& word : CLI::detail::split(value, ',')) {
              check_choice(kName, word, choices);
              flags.dump.push_back(word);
            }
          },
          [](const Flags& flags) { return fmt::format("{}", fmt::join(flags.dump, ",")); }};
}

FlagRow augment() {
  static constexpr const char* kName = "--augment";
  const std::vector<std::string> kinds = augment_kinds();
  return {{kName, "KINDS", fmt::format("of training images, separated by commas: {}; or none", fmt::join(kinds, ", "))},
          [=](Flags& flags, const std::string& value) {
            if (value != "none")
              for (const std::string& word : CLI::detail::split(value, ',')) check_choice(kName, word, kinds);
            flags.augment = value;
          },
          [](const Flags& flags) { return flags.augment; }};
}

FlagRow recipe_option(const RecipeOption& option) {
  const std::string flag = "--" + option.name;
  return {{flag, option.whole ? "N" : "X", fmt::format("{}: {}", option.doc, option.expectation())},
          [=](Flags& flags, const std::string& text) {
            auto any = [](double) { return true; };
            const double value = parse_number<double>(flag, text, option.expectation(), any);
            if (!option.allows(value)) refuse(flag, option.expectation(), text);
            flags.options.set(option.name, value);
          },
          [=](const Flags& flags) { return fmt::format("{}", flags.options.real(option.name)); }};
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleShape& shape : schedule_shapes()) names.emplace_back(shape.name);
  return names;
}

std::string warmup_doc(const Recipe& recipe) {
  return fmt::format("linear warmup of the learning rate, per step, from {}; epochs", recipe.defaults.warmup_start);
}

// The stable flags, in the order of the help.
std::vector<FlagRow> stable_flags(const Recipe& recipe) {
  return {
      path({"--data", "DIR", "folder of the data set, or the one above it; $KB_DATA where it is not given"},
           &Flags::data),
      choice({"--dataset", "NAME", "data set"}, &Flags::dataset, input_names(recipe.load)),
      whole({"--minibatch", "N", "samples of one step"}, &Flags::minibatch, false),
      whole({"--epochs", "E", "passes over the training set"}, &Flags::epochs, true),
      whole({"--steps", "S", "length of the run in place of --epochs, schedule included; 0: as the epochs say"},
            &Flags::steps, true),
      real({"--lr", "X", "learning rate at the end of the warmup"}, &Flags::lr),
      choice({"--schedule", "NAME", "learning rate after the warmup"}, &Flags::schedule, schedule_names()),
      real({"--warmup-epochs", "E", warmup_doc(recipe)}, &Flags::warmup_epochs),
      fraction({"--momentum", "M", "of the velocity, each step"}, &Flags::momentum),
      real({"--weight-decay", "W", "L2 factor, on weights; not on biases and norms"}, &Flags::weight_decay),
      fraction({"--label-smoothing", "S", "share of the target spread over all classes"}, &Flags::label_smoothing),
      augment(),
      whole({"--pad", "N", "pixels of 0 on each side, of --augment crop"}, &Flags::pad, true),
      whole({"--cutout-size", "N", "pixels, the side of the square of --augment cutout"}, &Flags::cutout_size, false),
      number<double>({"--mixup-alpha", "A", "of the Beta distribution of --augment mixup"}, &Flags::mixup_alpha,
                     "a number > 0", [](double v) { return std::isfinite(v) && v > 0; }),
      choice({"--augment-in", "WHERE", "who moves the pixels; the same bits"}, &Flags::augment_in, {"graph", "loader"}),
      choice({"--precision", "P", "arithmetic; bf16 is mixed with f32"}, &Flags::precision, {"f32", "bf16", "f64"}),
      choice({"--device", "D", "processor"}, &Flags::device, {"auto", "cpu", "cuda"}),
      whole({"--threads", "N", "threads; 0: one a core"}, &Flags::threads, true),
      whole({"--shards", "N", "parts of a minibatch in library calls: changes the last bits; 0: one a core"},
            &Flags::shards, true),
      number<int64_t>({"--seed", "N", "of initial values, sample order and dropout"}, &Flags::seed,
                      "a whole number in [0, 2^32)", [](int64_t v) { return v >= 0 && v <= UINT32_MAX; }),
      path({"--out", "DIR", "the run folder; runs/RECIPE-TIME where it is not given"}, &Flags::out),
      whole({"--eval-every", "E", "evaluate every so many epochs, and at the end; 0: at the end alone"},
            &Flags::eval_every, true),
      path({"--init", "FILE", "safetensors with weights to begin with, under PyTorch's names"}, &Flags::init, "a file"),
      path({"--resume", "RUN", "go on in this run's folder, with its flags"}, &Flags::resume),
      path({"--checkpoint", "FILE", "with --resume: go on from this one; the newest where it is not given"},
           &Flags::checkpoint, "a file"),
      whole({"--save-every", "S", "a checkpoint every so many steps, besides those at evaluations; 0: those alone"},
            &Flags::save_every, true),
      whole({"--keep", "N", "how many checkpoints are kept"}, &Flags::keep, false),
      toggle({"--dry-run", "", "compile, print the plan and the memory it takes, and stop"}, &Flags::dry_run),
      dump(),
      toggle({"--quiet", "", "print nothing but errors"}, &Flags::quiet),
  };
}

// The recipe's own first.
std::vector<FlagRow> flag_table(const Recipe& recipe) {
  std::vector<FlagRow> table;
  for (const RecipeOption& option : recipe.options) table.push_back(recipe_option(option));
  for (FlagRow& row : stable_flags(recipe)) table.push_back(std::move(row));
  return table;
}

struct EffectRow {
  const char* name;
  FlagEffect effect;
};
// What is not here is computed.
constexpr EffectRow kEffects[] = {
    {"epochs", FlagEffect::length},      {"steps", FlagEffect::length}, {"data", FlagEffect::comfort},
    {"threads", FlagEffect::comfort},    {"keep", FlagEffect::comfort}, {"save-every", FlagEffect::comfort},
    {"eval-every", FlagEffect::comfort}, {"resume", FlagEffect::call},  {"checkpoint", FlagEffect::call},
    {"out", FlagEffect::call},           {"dry-run", FlagEffect::call}, {"dump", FlagEffect::call},
    {"quiet", FlagEffect::call},
};

std::string help_line(const FlagText& text, const std::string& fallback) {
  std::string name = text.value.empty() ? text.name : text.name + " " + text.value;
  return fmt::format("  {:<22} {}{}\n", name, text.doc, fallback.empty() ? "" : fmt::format("  [{}]", fallback));
}

void print_help(const Recipe& recipe, const std::string& usage, const std::vector<ToolSwitch>& switches) {
  const Flags defaults = default_flags(recipe);
  std::string text = fmt::format("{}: {}\n{}\n\nusage: {} [flags]        [default]\n", recipe.name, recipe.summary,
                                 recipe.paper, usage);
  for (const ToolSwitch& item : switches) text += help_line(item.text, "");
  for (const FlagRow& row : flag_table(recipe))
    text += help_line(row.text, row.text.value.empty() ? "" : row.print(defaults));
  text += help_line({"--help", "", "this text"}, "");
  fmt::print("{}", text);
}

[[noreturn]] void refuse_extra(const std::string& word, const CLI::App& app) {
  if (!word.starts_with("-")) throw UsageError(fmt::format("'{}' is not expected here: flags begin with --", word));
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) names.push_back("--" + option->get_lnames().at(0));
  std::string flag = word.substr(0, word.find('='));
  std::string guess = nearest(flag, names);
  throw UsageError(fmt::format("there is no flag '{}'{}", flag,
                               guess.empty() ? "; --help lists all" : fmt::format("; did you mean '{}'?", guess)));
}

}  // namespace

Flags default_flags(const Recipe& recipe) {
  const Defaults& d = recipe.defaults;
  Flags flags;
  flags.data = RuntimeOptions::from_environment().data_dir.string();
  flags.dataset = d.dataset;
  flags.minibatch = d.minibatch;
  flags.epochs = d.epochs;
  flags.lr = d.lr;
  flags.schedule = d.schedule;
  flags.warmup_epochs = d.warmup_epochs;
  flags.momentum = d.momentum;
  flags.weight_decay = d.weight_decay;
  flags.label_smoothing = d.label_smoothing;
  flags.augment = d.augment;
  flags.options = OptionValues(recipe.options);
  return flags;
}

ImageSource image_source(const Recipe& recipe, const Flags& flags) {
  return {flags.dataset, recipe.synthetic, flags.data, recipe.load};
}

std::optional<Flags> parse_flags(const Recipe& recipe, const std::string& usage,
                                 const std::vector<std::string>& arguments, const std::vector<ToolSwitch>& switches,
                                 const Flags* base) {
  Flags flags = base ? *base : default_flags(recipe);
  const std::vector<FlagRow> table = flag_table(recipe);
  CLI::App app;
  app.set_help_flag("--help,-h");
  app.allow_extras();
  for (const ToolSwitch& item : switches) app.add_flag(item.text.name, *item.set);
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
    print_help(recipe, usage, switches);
    return std::nullopt;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (!app.remaining().empty()) refuse_extra(app.remaining().front(), app);
  return flags;
}

FlagEffect flag_effect(const std::string& name) {
  for (const EffectRow& row : kEffects)
    if (row.name == name) return row.effect;
  return FlagEffect::computed;
}

std::vector<std::string> flag_words(const Recipe& recipe, const Flags& flags) {
  std::vector<std::string> words;
  for (const FlagRow& row : flag_table(recipe)) {
    std::string value = row.print(flags);
    const bool repeats = flag_effect(row.text.name.substr(2)) != FlagEffect::call;
    if (!repeats || value.empty() || (row.text.value.empty() && value == "false")) continue;
    words.push_back(row.text.name);
    if (!row.text.value.empty()) words.push_back(value);
  }
  return words;
}

std::vector<std::pair<std::string, std::string>> flag_values(const Recipe& recipe, const Flags& flags) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const FlagRow& row : flag_table(recipe)) values.emplace_back(row.text.name.substr(2), row.print(flags));
  return values;
}

Precision parse_precision(const std::string& text) {
  if (text == "bf16") return Precision::bf16;
  return text == "f64" ? Precision::f64 : Precision::f32;
}

}  // namespace kb
