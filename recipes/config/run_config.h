// How a run trains, apart from what it trains: typed values, set once by the command line or by a program, and never
// changed behind it. Whatever follows from them (steps, learning rate, device) is a value of its own.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/passes.h"
#include "optim/batch_plan.h"
#include "recipes/config/duration.h"
#include "recipes/config/values.h"
#include "recipes/task/model.h"
#include "runtime/comm/communicator.h"

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

enum class AugmentKind : uint8_t { crop, flip, cutout, mixup };
inline constexpr Choice<AugmentKind> kAugmentKinds[] = {{"crop", AugmentKind::crop},
                                                        {"flip", AugmentKind::flip},
                                                        {"cutout", AugmentKind::cutout},
                                                        {"mixup", AugmentKind::mixup}};

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

struct RunConfig {
  std::string data, dataset;  // data: the folder, "" = none given
  int64_t minibatch = 0, epochs = 0;
  int64_t per_worker = 0;  // samples of a virtual worker; 0: one worker a process
  NormGroup batch_norm = {};
  int64_t processes = 1;
  Algorithm all_reduce = Algorithm::halving_doubling;
  DType reduce_precision = DType::f32;
  StatisticsOf running_statistics = StatisticsOf::first;
  int64_t recompute_bn = 0;        // minibatches of batch norm's statistics at evaluation; 0: as training left them
  double bucket_mb = 0;            // of the gradient, summed over processes together; 0: as a cost model says
  std::optional<Network> net;      // to run over as if it lay between the processes; none: as it is
  int64_t steps = 0;               // 0 = as the epochs say
  std::string optimizer;           // a row of optimizers(), or one of the recipe's own
  std::vector<NamedScalar> hyper;  // all of the optimizer's
  double lr = 0;                   // of base_minibatch where there is one, else of any minibatch
  int64_t base_minibatch = 0;      // samples; 0 = lr holds for any minibatch
  std::string scaling, schedule, warmup;  // rows of scaling_rules(), schedule_shapes() and warmup_kinds()
  std::vector<double> milestones;         // epochs
  double power = 0, end_lr = 0, warmup_epochs = 0, label_smoothing = 0;
  std::optional<double> warmup_from;  // learning rate of step 0; none: the base's, or warmup_start without a base
  double warmup_start = 0;
  std::vector<Role> no_decay = kSkippedRoles, no_adapt = kSkippedRoles;
  double clip_norm = 0;  // of the gradient; 0 = no limit
  double ema = 0;        // share of the averaged parameters kept each step; 0 = no average
  bool eval_ema = false;
  Precision precision = Precision::f32;
  DeviceChoice device = DeviceChoice::automatic;
  int64_t threads = 0;  // 0 = all cores
  int64_t shards = 0;   // of library calls; 0 = number of cores
  int64_t seed = 1;
  std::string out;                     // run folder, "" = runs/RECIPE-TIME
  int64_t eval_every = 1;              // epochs; 0 = at the end only
  bool train_metrics = false;          // computed in training steps too
  int64_t save_every = 0;              // steps; 0 = at evaluations alone
  int64_t keep = 2;                    // checkpoints
  std::string init;                    // file or run folder of weights to begin with, "" = none
  bool init_partial = false;           // it need not have every tensor
  std::string resume, checkpoint;      // run folder to go on in or kResumeAuto, and the file to go on from: "" = newest
  std::optional<Duration> log_layers;  // interval; none = never
  StopAt stop_at;
  std::string print_schedule;  // kTableAlone or an SVG file, "" = no
  std::vector<Dump> dump;
  bool eval_on_stop = false;
  bool dry_run = false, quiet = false;
  bool explain_overlap = false;
  std::string picture, trace;  // files, "" = none
  bool fast = false;           // bits may differ from run to run
  bool sync_steps = false;     // on a GPU
  bool check_finite = false;
  OptionValues options;  // of the recipe's own
  std::vector<AugmentKind> augment;
  int64_t pad = 4, cutout_size = 16;  // pixels
  double mixup_alpha = 1;
  AugmentPlace augment_in = AugmentPlace::graph;
  std::optional<int64_t> loader_threads;  // none: as many as cores are left
  ResidentChoice resident = ResidentChoice::automatic;
};

// Dtype in which a model is declared: bf16 is the compiler's rewriting of an f32 graph.
inline DType graph_dtype(Precision precision) { return precision == Precision::f64 ? DType::f64 : DType::f32; }

}  // namespace kb
