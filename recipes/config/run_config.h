// How a run trains, apart from what it trains: typed values, set once by the command line or by a program, and never
// changed behind it. Whatever follows from them (steps, learning rate, device) is a value of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/arithmetic.h"
#include "graph/update_rule.h"
#include "optim/batch_plan.h"
#include "recipes/config/duration.h"
#include "recipes/config/growth.h"
#include "recipes/config/period.h"
#include "recipes/config/target_figure.h"
#include "recipes/config/values.h"
#include "recipes/task/model.h"
#include "runtime/comm/algorithm.h"

namespace kb {

enum class DeviceChoice : uint8_t { automatic, cpu, cuda };
inline constexpr Choice<DeviceChoice> kDevices[] = {
    {"auto", DeviceChoice::automatic}, {"cpu", DeviceChoice::cpu}, {"cuda", DeviceChoice::cuda}};

inline constexpr Choice<Precision> kPrecisions[] = {{"f32", Precision::f32},
                                                    {"tf32", Precision::tf32},
                                                    {"bf16", Precision::bf16},
                                                    {"f16", Precision::f16},
                                                    {"f64", Precision::f64}};

inline constexpr Choice<Algorithm> kAllReduces[] = {{"halving-doubling", Algorithm::halving_doubling},
                                                    {"ring", Algorithm::ring},
                                                    {"mpi", Algorithm::mpi},
                                                    {"nccl", Algorithm::nccl}};

inline constexpr Choice<DType> kReducePrecisions[] = {{"f32", DType::f32}, {"bf16", DType::bf16}, {"f16", DType::f16}};

// Workers whose running statistics of batch norm are kept: those of the first, or the mean of all.
enum class StatisticsOf : uint8_t { first, mean };
inline constexpr Choice<StatisticsOf> kStatisticsOf[] = {{"first", StatisticsOf::first}, {"mean", StatisticsOf::mean}};

enum class AugmentKind : uint8_t { crop, flip, cutout, mixup, resized_crop, jitter, lighting };
inline constexpr Choice<AugmentKind> kAugmentKinds[] = {{"crop", AugmentKind::crop},
                                                        {"flip", AugmentKind::flip},
                                                        {"cutout", AugmentKind::cutout},
                                                        {"mixup", AugmentKind::mixup},
                                                        {"resized-crop", AugmentKind::resized_crop},
                                                        {"jitter", AugmentKind::jitter},
                                                        {"lighting", AugmentKind::lighting}};

// Who moves the pixels of an augmented image: ops of the training graph, or the loader's threads.
enum class AugmentPlace : uint8_t { graph, loader };
inline constexpr Choice<AugmentPlace> kAugmentPlaces[] = {{"graph", AugmentPlace::graph},
                                                          {"loader", AugmentPlace::loader}};

// Whether the data set lives in the device's memory; automatic: where it fits beside the training.
enum class ResidentChoice : uint8_t { automatic, on, off };
inline constexpr Choice<ResidentChoice> kResidentChoices[] = {
    {"auto", ResidentChoice::automatic}, {"on", ResidentChoice::on}, {"off", ResidentChoice::off}};

// Texts of the compiler that are written into the run folder.
enum class Dump : uint8_t { graph, graphviz, passes, schedule, cpp, cuda };
inline constexpr Choice<Dump> kDumps[] = {{"graph", Dump::graph},   {"graphviz", Dump::graphviz},
                                          {"passes", Dump::passes}, {"schedule", Dump::schedule},
                                          {"cpp", Dump::cpp},       {"cuda", Dump::cuda}};

constexpr const char* kResumeAuto = "auto";
constexpr const char* kTableAlone = "table";  // print_schedule without a file

// The members are those of the flags, whose help says what they mean and in which unit, and a few that no flag of its
// own sets.
struct RunConfig {
#define KB_FLAG(type, name, initial, ...) type name = initial;
#include "recipes/config/flags.inc"
  std::vector<NamedScalar> hyper;  // all of the optimizer's
  double warmup_start = 0;         // learning rate of step 0 where neither --warmup-from nor a base minibatch gives one
  OptionValues options;            // of the recipe's own
};

inline uint32_t weights_seed(const RunConfig& config) {
  return static_cast<uint32_t>(config.seed_weights.value_or(config.seed));
}
inline uint64_t order_seed(const RunConfig& config) {
  return static_cast<uint64_t>(config.seed_order.value_or(config.seed));
}

// Dtype in which a model is declared: bf16 is the compiler's rewriting of an f32 graph.
inline DType graph_dtype(Precision precision) { return precision == Precision::f64 ? DType::f64 : DType::f32; }

}  // namespace kb
