// Measurements of made-up studies.
#pragma once
#include <fmt/format.h>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <tuple>
#include "graph/error.h"
#include "recipes/answer/answer_page.h"
#include "recipes/answer/answer_text.h"
#include "recipes/answer/measurements.h"
#include "recipes/answer/study_answer.h"
#include "recipes/papers/reference_check.h"
#include "recipes/report/scatter_chart.h"
#include "runtime/options.h"
#include "runtime/process.h"
#include "tests/support/says.h"
#include "tests/support/support.h"

namespace kb::study_answer_test {

using test::count_of;

constexpr double kLawSteps = 200, kLawCritical = 150;

// Returns runs at the minibatches 8, 16, ..., 2048, with rates a factor of two apart around a best one that grows with
// the square root of the minibatch. Away from the best rate a run takes more steps; at four times that rate it
// diverges, at a sixteenth it does not reach the target. The best rate has three seeds, a little apart; all others have
// one.
inline std::vector<Measurement> law_runs() {
  std::vector<Measurement> runs;
  for (int64_t minibatch = 8; minibatch <= 2048; minibatch *= 2) {
    const double steps = kLawSteps * (1 + kLawCritical / static_cast<double>(minibatch));
    const double best = 0.1 * std::sqrt(static_cast<double>(minibatch) / 8);
    for (int octave = -4; octave <= 2; ++octave) {
      Measurement run{minibatch, best * std::exp2(octave), 1, {}, octave == 2, {}, {}};
      if (octave > -4 && octave < 2) run.steps = steps * (1 + 0.2 * octave * octave);
      runs.push_back(run);
    }
    for (const auto& [seed, factor] : {std::pair{2, 1.03}, {3, 1 / 1.03}})
      runs.push_back({minibatch, best, seed, steps * factor, false, {}, {}});
  }
  return runs;
}

inline const StudyAnswer& law_answer() {
  static const StudyAnswer answer = answer_study(law_runs(), {});
  return answer;
}

const AnswerSource kSource = {"./run study 'runs <1>.csv'", "runs <1>.csv"};

inline std::vector<Measurement> table_runs(const std::string& table) {
  return parse_measurement_table(table, "runs.csv").runs;
}

// Returns the runs of MLPerf's reference for ResNet-50 on ImageNet, with their steps to the target.
inline std::vector<Measurement> reference_runs() {
  constexpr double kImageNetSamples = 1281167;
  std::vector<Measurement> runs;
  for (const ReferencePoint& point : reference_points())
    for (const double epochs : point.epochs)
      runs.push_back({point.minibatch,
                      point.rate,
                      {},
                      epochs * kImageNetSamples / static_cast<double>(point.minibatch),
                      false,
                      {},
                      {}});
  return runs;
}

inline std::string figure_of(const StudyAnswer& answer, const std::string& name) {
  for (const AnswerFigure& figure : answer_figures(answer))
    if (figure.name == name) return figure.svg;
  return "";
}

}  // namespace kb::study_answer_test
