#include "recipes/config/run_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/error.h"
#include "recipes/task/checked_task.h"
#include "recipes/task/noise.h"
#include "recipes/task/validation.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

constexpr size_t kFingerprintDigits = 16;

// Returns why the images are sent to the device step by step and are not kept there; "" if there is no reason.
std::string why_images_are_sent(const RunConfig& config, const InputSpec& input) {
  const AugmentSpec spec = augment_spec(config);
  if (input.noise) return "--data synthetic is one minibatch of noise and no data set";
  if (input.in_files) return "the images lie in files, which the loader reads one by one";
  const bool moves = config.data.augment_in == AugmentPlace::loader && (spec.moves() || spec.cutout > 0);
  return moves ? "with --augment-in loader the host moves the pixels" : "";
}

// Returns the notes on the data, separated by newlines.
std::string notes_of(const Dataset& data) {
  const std::string one_class = one_class_note(data);
  return data.note.empty() || one_class.empty() ? data.note + one_class : data.note + "\n" + one_class;
}

DataFacts facts_of_images(const InputSpec& input, const Dataset& data) {
  DataFacts facts{data.name,  data.fingerprint, "",         notes_of(data), data.class_names,
                  input.mean, input.stddev,     data.shape, input.in_files};
  const ImageShape& s = data.shape;
  const std::string tested = data.test.count() > 0 ? fmt::format("{} test", data.test.count()) : "no test";
  facts.text = fmt::format("data {}{}: {} training and {} images of {}x{}x{}, {} classes", data.name,
                           data.variant ? " (variant)" : "", data.train.count(), tested, s.channels, s.height, s.width,
                           data.class_count());
  if (!input.noise) return facts;
  facts.note = "";
  facts.text = fmt::format(
      "data synthetic: one minibatch of noise in the shape of {}, made once; no loader. Times are real, losses mean "
      "nothing",
      input.dataset);
  return facts;
}

LoadedTask load_images(const Recipe& recipe, const RunConfig& config) {
  Input input = load_input(image_source(recipe, config));
  LoadedTask loaded{task_of(recipe, config, input.spec), facts_of_images(input.spec, input.data)};
  set_image_sources(loaded.task, input.spec, std::make_shared<const Dataset>(std::move(input.data)),
                    loader_augment(config, input.spec));
  return loaded;
}

// Returns the task with one minibatch of noise in place of its samples. Figures of noise say nothing, so that its test
// part has no more samples than a minibatch.
Task with_noise(Task task, const Batching& batch) {
  task.test_count = std::min(task.test_count, batch.minibatch);
  task.train = field_noise(task.fields, task.train_count);
  if (task.test || task.test_count > 0) task.test = field_noise(task.fields, task.test_count);
  task.plain = nullptr;
  task.read = {};
  task.is_noise = true;
  task.data = kNoise;
  task.note = "";
  return checked_task(std::move(task));
}

// Returns the recipe's task for noise. Throws Error if it cannot be declared without its data.
Task task_for_noise(const Recipe& recipe, const RunConfig& config) {
  try {
    return recipe.task({"", config.data.options, true});
  } catch (const std::exception& error) {
    throw Error(
        fmt::format("--data synthetic: {} reads its data before it is declared\n  expected: the data of {}\n"
                    "  got:      {}\n  hint:     a task that sets Task::read is declared without its data",
                    recipe.name, recipe.name, error.what()));
  }
}

// Returns the recipe's own task, which may be without its sources (Task::read). If noise is asked for, it stands for
// the training part and the test part.
Task own_task(const Recipe& recipe, const RunConfig& config) {
  const bool is_noise = config.data.path == kNoise;
  Task task = is_noise ? task_for_noise(recipe, config) : recipe.task({config.data.path, config.data.options, false});
  if (task.name.empty()) task.name = recipe.name;
  task.optimizers.insert(task.optimizers.end(), recipe.optimizers.begin(), recipe.optimizers.end());
  task.schedules.insert(task.schedules.end(), recipe.schedules.begin(), recipe.schedules.end());
  return is_noise ? with_noise(checked_task(std::move(task)), config.batch) : checked_task(std::move(task));
}

// Returns a hash of the sources' numbers of samples, of their fingerprints and of the tables that they hold in memory.
std::string fingerprint_of(const Task& task) {
  std::string text;
  for (const Source* source : {task.train.get(), task.test.get()}) {
    if (!source) continue;
    const std::string own = source->fingerprint();
    text += fmt::format("{} samples{}{}\n", source->count(), own.empty() ? "" : " ", own);
    for (size_t f = 0; f < task.fields.size(); ++f) {
      const std::span<const std::byte> table = source->table(f);
      text += fmt::format("{} {}\n", task.fields[f].name,
                          sha256_hex({reinterpret_cast<const char*>(table.data()), table.size()}));
    }
  }
  return sha256_hex(text).substr(0, kFingerprintDigits);
}

DataFacts facts_of(const Task& task) {
  const std::string title = task.data.empty() ? task.name : task.data;
  std::string fields;
  for (const Field& field : task.fields)
    fields += fmt::format("{}{} {}", fields.empty() ? "" : ", ", field.name,
                          field.is_ragged() ? fmt::format("{}[length]", name(field.dtype))
                                            : to_string(Type{field.dtype, field.shape, {}}));
  return {
      title, fingerprint_of(task),
      fmt::format("data {}: {} training and {} test samples of {}", title, task.train_count, task.test_count, fields),
      task.note};
}

LoadedTask with_facts(Task task) {
  DataFacts facts = facts_of(task);
  return {std::move(task), std::move(facts)};
}

// Reads what a task that was declared says how to read; it keeps its name and its own rules.
Task read_task(const Task& declared) {
  if (!declared.read) return declared;
  Task task = declared.read();
  task.name = declared.name;
  task.optimizers = declared.optimizers;
  task.schedules = declared.schedules;
  task.read = {};
  return checked_task(std::move(task));
}

// Holds out `count` training samples, which changes the fingerprint of the data because other samples are trained on.
LoadedTask held_out(LoadedTask loaded, int64_t count) {
  const int64_t all = loaded.task.train_count;
  loaded.task.fingerprint = loaded.data.fingerprint;
  loaded.task = with_validation(std::move(loaded.task), count);
  if (count == 0) return loaded;
  const std::string parts = fmt::format("{} validation {}", loaded.data.fingerprint, count);
  loaded.data.fingerprint = sha256_hex(parts).substr(0, kFingerprintDigits);
  loaded.task.fingerprint = loaded.data.fingerprint;
  loaded.data.text +=
      fmt::format("; {} of the {} training samples are held out: evaluations judge on them, {}", count, all,
                  loaded.task.test ? "the test part is evaluated once, at the end" : "and no others are there");
  return loaded;
}

}  // namespace

Task task_of(const Recipe& recipe, const RunConfig& config, const InputSpec& input) {
  check_augment(config, input);
  Task task = image_task(recipe, input, config.data.options, graph_augment(config));
  task.sent_because = why_images_are_sent(config, input);
  return task;
}

ImageSource image_source(const Recipe& recipe, const RunConfig& config) {
  if (recipe.task) throw Error(fmt::format("recipe {}: expected labelled images, got a task of its own", recipe.name));
  return {config.data.dataset, recipe.synthetic, config.data.path, recipe.load, config.data.image};
}

namespace {

// Returns the task without its sources, or nothing if the task depends on the data.
std::optional<Task> images_before_data(const Recipe& recipe, const RunConfig& config) {
  if (known_from_data_alone(image_source(recipe, config))) return std::nullopt;
  InputSpec input = input_spec(image_source(recipe, config));
  input.noise = config.data.path == kNoise;
  return task_of(recipe, config, input);
}

}  // namespace

std::optional<Task> task_before_data(const Recipe& recipe, const RunConfig& config) {
  if (recipe.task) return std::nullopt;
  std::optional<Task> known = images_before_data(recipe, config);
  if (known) known = with_validation(std::move(*known), config.judging.validation);
  return known;
}

LoadedTask load_task(const Recipe& recipe, const RunConfig& config) {
  return held_out(recipe.task ? with_facts(read_task(own_task(recipe, config))) : load_images(recipe, config),
                  config.judging.validation);
}

Task task_to_train(const Recipe& recipe, const RunConfig& config, DataFacts& data) {
  std::optional<Task> known = recipe.task ? own_task(recipe, config) : images_before_data(recipe, config);
  const auto load = [&recipe, &config, &data, known] {
    LoadedTask loaded =
        held_out(recipe.task ? with_facts(read_task(*known)) : load_images(recipe, config), config.judging.validation);
    data = std::move(loaded.data);
    return std::move(loaded.task);
  };
  if (!known || (recipe.task && !known->read)) return load();
  Task task = with_validation(std::move(*known), config.judging.validation);
  task.read = load;
  return task;
}

Task declared_task(const Recipe& recipe, const RunConfig& config) {
  if (recipe.task) return own_task(recipe, config);
  return task_of(recipe, config, input_spec(image_source(recipe, config)));
}

Task timed_task(const Recipe& recipe, const RunConfig& config) {
  if (recipe.task) return with_noise(own_task(recipe, config), config.batch);
  const InputSpec input = input_spec(image_source(recipe, config));
  Task task = task_of(recipe, config, input);
  task.train = noise_source(input);
  return task;
}

}  // namespace kb
