// ResNet-50 on ImageNet with the settings of the papers that trained it fastest. A setting that a source confirms is
// used; every other one is named at the start of a run, and in the help, with the value that stands in for it.
#include <fmt/format.h>

#include <algorithm>

#include "recipes/papers/batch_rows.h"
#include "recipes/papers/imagenet.h"
#include "recipes/papers/mlperf_settings.h"
#include "recipes/papers/resnet.h"
#include "recipes/papers/table.h"

namespace kb {
namespace {

struct Record {
  const char* paper;
  const char* source;
  int64_t minibatch, workers;
  const char* result;              // result that the paper reports
  std::vector<std::string> flags;  // confirmed settings, and those that stand in for others
  // `unconfirmed` are settings that no source gives, `not_done` parts of the paper that are not done here.
  std::vector<std::string> unconfirmed, not_done;
};

std::vector<std::string> joined(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

const std::vector<std::string> kPolyTwo = {"--schedule", "polynomial", "--power", "2"};

// Sections 3.1 and 3.2 describe RMSprop warm-up and the slow-start schedule.
Record akiba() {
  return {"akiba",
          "Akiba et al. 2017, Extremely large minibatch SGD",
          32768,
          1024,
          "74.9 % top-1 in 15 min, 1024 P100",
          {"--optimizer",    "rmsprop-warmup", "--momentum",         "0.9", "--beta2",          "0.99",
           "--epsilon",      "1e-8",           "--center-epoch",     "10",  "--period-epochs",  "5",
           "--rms-lr",       "3e-4",           "--base-lr",          "0.1", "--base-minibatch", "256",
           "--schedule",     "slow-start",     "--epochs",           "90",  "--warmup",         "none",
           "--weight-decay", "1e-4",           "--reduce-precision", "f16", "--recompute-bn",   "1024"},
          {"the weight decay (1e-4 stands in)"},
          {"batch norm's statistics in an evaluation are those of the last minibatch there, of one minibatch with the "
           "parameters evaluated here (--recompute-bn)"}};
}

Record jia() {
  return {"jia",
          "Jia et al. 2018, Highly scalable deep learning training system",
          65536,
          2048,
          "75.8 % top-1 in 6.6 min, 2048 P40",
          joined(flags_of({"lars", 40, 12, 100, 0.9, 5e-4}), joined(kPolyTwo, {"--precision", "f16"})),
          {"rate, warmup, schedule, epochs, momentum and weight decay (those of You et al. 2017 at kn 32768 stand in)"},
          {"the hierarchical all-reduce of small tensors: sums are halving-doubling or the library's (--all-reduce)"}};
}

Record mikami() {
  return {
      "mikami",
      "Mikami et al. 2019, Massively distributed SGD: ImageNet/ResNet-50 training in a flash",
      55296,
      3456,
      "75.29 % top-1 in 122 s, 3456 V100",
      joined(flags_of({"lars", 40, 12, 90, 0.9, 5e-4}), joined(kPolyTwo, {"--label-smoothing", "0.1"})),
      {"optimizer, rate, warmup, schedule, epochs, momentum and weight decay (LARS with those of You et al. 2017 at kn "
       "32768 stand in, over 90 epochs)",
       "the share of label smoothing (0.1 stands in)", "the schedule of batch-size control: kn is constant here"},
      {"the all-reduce over a 2D torus: sums are halving-doubling or the library's (--all-reduce)"}};
}

Record ying() {
  return {"ying",
          "Ying et al. 2018, Image classification at supercomputer scale",
          32768,
          1024,
          "76.3 % top-1 in 2.2 min, 1024 TPU v3",
          mlperf_preset("v0.6", 32768).flags,
          {"rate, warmup, schedule, epochs, momentum and weight decay (those of MLPerf v0.6 at kn 32768 stand in)",
           "the workers of a group of batch norm (one worker stands in; --batch-norm sync(K) joins K)"},
          {"the 2D summation of gradients: sums are halving-doubling or the library's (--all-reduce)",
           "groups of batch norm over processes: --batch-norm sync(K) joins workers of one process"}};
}

Record yamazaki() {
  return {"yamazaki",
          "Yamazaki et al. 2019, Yet another accelerated SGD: ResNet-50 training on ImageNet in 74.7 seconds",
          81920,
          2048,
          "75.08 % top-1 in 74.7 s, 2048 V100",
          joined(mlperf_preset("v0.6", 86016).flags, {"--label-smoothing", "0.1"}),
          {"optimizer, rate, warmup, schedule, epochs, weight decay and label smoothing (those of the same group's "
           "MLPerf v0.6 log at kn 86016 stand in: rate 13, 36 epochs of warmup, 5e-5, epsilon 1e-9; momentum 0.9 and "
           "label smoothing 0.1 are ours)"},
          {}};
}

std::vector<Record> records() { return {akiba(), jia(), mikami(), ying(), yamazaki()}; }

ModelOutput records_model(Batch& batch) { return imagenet_classification(batch, resnet(batch.images, batch.classes)); }

Preset records_preset(const PresetChoice& choice) {
  const std::string& paper = choice.options.word("paper");
  const std::vector<Record> all = records();
  const Record& record = *std::find_if(all.begin(), all.end(), [&](const Record& r) { return r.paper == paper; });
  const int64_t kn = choice.minibatch.value_or(record.minibatch), n = record.minibatch / record.workers;
  Preset preset{record.flags};
  append_flags(preset, imagenet_augmentation(choice.dataset));
  append_flags(preset, {"--minibatch", fmt::to_string(record.minibatch)});
  if (kn % n == 0) append_flags(preset, {"--per-worker", fmt::to_string(n)});
  preset.notes.push_back(fmt::format("{}: kn {} = {} workers x {}; {}", record.source, record.minibatch, record.workers,
                                     n, record.result));
  if (kn != record.minibatch)
    preset.notes.push_back(fmt::format("kn {} is not the paper's: its other settings are as they were", kn));
  for (const std::string& what : record.unconfirmed) preset.notes.push_back("not confirmed in a source: " + what);
  for (const std::string& what : record.not_done) preset.notes.push_back("not as in the paper: " + what);
  return preset;
}

}  // namespace

Recipe imagenet_records() {
  return {.name = "imagenet_records",
          .summary = "ResNet-50 on ImageNet by the papers of the fastest trainings",
          .paper = "Akiba et al. 2017, Jia et al. 2018, Mikami et al. 2019, Ying et al. 2018, Yamazaki et al. 2019",
          .model = records_model,
          .defaults = {.dataset = kImageNet,
                       .epochs = 90,
                       .optimizer = "nesterov",
                       .hyper = {{"weight_decay", 1e-4}},
                       .lr = 0.1,
                       .base_minibatch = 256},
          .synthetic = kImageNetNoise,
          .options = {word_option("paper", {"akiba", "jia", "mikami", "ying", "yamazaki"},
                                  "whose settings: Akiba et al. 2017, Jia et al. 2018, Mikami et al. 2019, Ying et al. "
                                  "2018, Yamazaki et al. 2019")},
          .preset = records_preset,
          .benchmark = kResnetBenchmark};
}

}  // namespace kb
