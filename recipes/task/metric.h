// Metrics: figures that tell how good a model is. The model gives values for every sample; an evaluation gathers them
// over a whole part of the data set (the test part or the held-out one), in the order of its samples; and a function on
// the host computes figures from what was gathered. The usual figure is the mean over the samples. Others, such as a
// mean intersection over union, an average precision or BLEU, need sums of tensors or the values of all samples.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// How a figure is computed from a mean, and how people read it.
struct MetricKind {
  double (*finish)(double mean) = nullptr;  // returns the figure for a mean over the samples; null: the mean itself
  bool is_share = false;                    // whether the figure is a share of the samples, printed in per cent
  bool higher_is_better = false;
};

// A figure's name and kind.
struct NamedMetric {
  std::string name;  // key of the figure in metrics.jsonl
  MetricKind kind = {};
};

// Values of every sample, as the model gives them to a metric. An evaluation keeps the sums or rows of every batch
// until its end, in f64, and adds the batches in their order, so that the result has the same bits for any number of
// processes. A sum thus takes 8 bytes for each value of a sample and each batch.
struct MetricOutput {
  Tensor values;            // float [N, ...]
  bool keeps_rows = false;  // false: the values are summed over the samples; true: each sample's values are kept
};

// The values of one MetricOutput that an evaluation gathered.
struct MetricValues {
  Dims shape;                  // shape of one sample's values
  std::vector<double> values;  // the sum over the samples, or the rows one after another
};

// Returns the value of each of a metric's figures. `outputs` are in the order of Metric::outputs; `samples` is the
// number of samples.
using FinishMetric = std::function<std::vector<double>(std::span<const MetricValues> outputs, int64_t samples)>;

struct Metric {
  // One figure, the mean of `values`, float [N], over the samples; with `count`, float [N], the sum of `values` over
  // the sum of `count`. Training steps can compute it, too (judging.train_metrics).
  Metric(std::string name, Tensor values, MetricKind kind = {}, Tensor count = {})
      : figures{{std::move(name), kind}}, outputs{{values}}, is_mean(true) {
    if (count.valid()) outputs.push_back({count});
  }
  // Figures that `how` computes at the end of every evaluation from the gathered values of `from`.
  Metric(std::vector<NamedMetric> names, std::vector<MetricOutput> from, FinishMetric how)
      : figures(std::move(names)), outputs(std::move(from)), finish(std::move(how)) {}

  std::vector<NamedMetric> figures;
  std::vector<MetricOutput> outputs;
  FinishMetric finish = {};
  bool is_mean = false;  // the figure is the mean of outputs[0], or outputs[0] over outputs[1]
};

// Images, such as a network generates, that every evaluation draws for the first `count` samples of its part of the
// data.
struct Drawing {
  std::string name;    // the file in the run folder is NAME-STEP.png
  Tensor images;       // float [N, C, H, W] in [0, 1]; C is 1 or 3
  int64_t count = 64;  // number of samples whose images are drawn
};

// An output of an evaluation's program, and how it is gathered over the batches.
struct Gathered {
  std::string output = {};  // name of the output
  Dims shape = {};          // shape of one sample's values
  bool keeps_rows = false;  // see MetricOutput
  int64_t rows = 0;         // with keeps_rows: number of samples, from the first, whose values are kept; 0: all
};

// Returns a share of sums, or 0 where nothing was counted.
inline double counted_mean(double sum, double count) { return count == 0 ? 0 : sum / count; }

// A metric as an evaluation's program computes it. A Drawing is a GatheredMetric without figures.
struct GatheredMetric {
  std::vector<NamedMetric> figures;
  std::vector<Gathered> outputs;
  FinishMetric finish;
};

// The metrics that the programs of a training compute.
struct ComputedMetrics {
  std::vector<NamedMetric> test = {};         // figures of an evaluation
  std::vector<NamedMetric> training = {};     // figures that every training step gives
  GatheredMetric loss = {};                   // how an evaluation computes its loss
  std::vector<GatheredMetric> gathered = {};  // how it computes its figures and drawings
  std::vector<std::string> groups = {};       // groups of parameters, in the order in which the losses name them
};

}  // namespace kb
