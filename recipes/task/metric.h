// Metrics: figures that tell how good a model is. A metric takes values of every sample, which an evaluation gathers
// over a whole part of the data in the order of its samples; a function on the host makes figures of what was gathered.
// The mean over the samples is the usual kind. Figures of a whole part, such as a mean intersection over union, an
// average precision or BLEU, take sums of tensors or the rows of all samples.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/tensor.h"

namespace kb {

// How a figure is read.
struct MetricKind {
  double (*finish)(double mean) = nullptr;  // gives the figure from a mean over the samples; null: the mean is it
  bool is_share = false;                    // true: a share of the samples, which people read in per cent
  bool higher_is_better = false;
};

// A figure by the name under which metrics.jsonl has it.
struct NamedMetric {
  std::string name;
  MetricKind kind = {};
};

// Values of every sample. What each batch gives is kept until the evaluation ends, for the order in which it is put
// together: a sum takes its size times the number of batches, in f64.
struct MetricOutput {
  Tensor values;            // float [N, ...]
  bool keeps_rows = false;  // false: the values are summed over the samples; true: the row of each sample is kept
};

// Values that were gathered of one MetricOutput.
struct MetricValues {
  Dims shape;                  // shape of one sample's values
  std::vector<double> values;  // the sum over the samples, or the rows one after another
};

// Returns the value of each figure. `outputs`: in the order of the metric's; `samples`: number of samples.
using FinishMetric = std::function<std::vector<double>(std::span<const MetricValues> outputs, int64_t samples)>;

struct Metric {
  // The mean over the samples of `values`, float [N]. A training step can give it too (judging.train_metrics).
  Metric(std::string name, Tensor values, MetricKind kind = {})
      : figures{{std::move(name), kind}}, outputs{{values}}, is_mean(true) {}
  // Figures that `finish` computes, once an evaluation.
  Metric(std::vector<NamedMetric> names, std::vector<MetricOutput> from, FinishMetric how)
      : figures(std::move(names)), outputs(std::move(from)), finish(std::move(how)) {}

  std::vector<NamedMetric> figures;
  std::vector<MetricOutput> outputs;
  FinishMetric finish = {};
  bool is_mean = false;
};

// Images that are drawn at every evaluation, such as those that a network generates: of the first samples of the part.
struct Drawing {
  std::string name;    // the run folder has NAME-STEP.png
  Tensor images;       // float [N, C, H, W] in [0, 1]; C is 1 or 3
  int64_t count = 64;  // samples
};

// An output of an evaluation's program, and how it is gathered over the batches.
struct Gathered {
  std::string output = {};  // name
  Dims shape = {};          // shape of one sample's values
  bool keeps_rows = false;  // see MetricOutput
  int64_t rows = 0;         // number of samples, from the first, whose rows are kept; 0: all
};

// A metric of a program that was built. A drawing is one without figures.
struct GatheredMetric {
  std::vector<NamedMetric> figures;
  std::vector<Gathered> outputs;
  FinishMetric finish;
};

// Facts of what the programs of a training compute.
struct ComputedMetrics {
  std::vector<NamedMetric> test = {};         // figures of an evaluation
  std::vector<NamedMetric> training = {};     // figures that every training step gives
  std::vector<GatheredMetric> gathered = {};  // how an evaluation comes to its figures, and drawings
  std::vector<std::string> groups = {};       // groups of parameters, in the order in which the losses name them
};

}  // namespace kb
