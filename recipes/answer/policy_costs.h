// The cost of the target under a policy at the best rate of each minibatch: virtual time, and bytes that a process
// sent.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "recipes/answer/named_study.h"
#include "runtime/json.h"

namespace kb {

struct PolicyCost {
  int64_t minibatch = 0;
  double steps = 0;
  // Seconds on the virtual clock of the order of gradients: geometric mean over the runs, with an interval if one is
  // known for steps. Nothing if a run that reached the target has no clock.
  std::optional<double> seconds = {};
  std::optional<ConfidenceInterval> interval = {};  // 95 %, by the rule of steps (optim/mean_steps.h)
  std::optional<double> sent_bytes = {};            // mean over the runs that reached the target, if all tell
};

// Returns the costs of the minibatches that reached the target, in ascending order.
std::vector<PolicyCost> policy_costs(const StudyAnswer& answer);

// Returns whether a run of a study had a policy other than sync.
bool has_policies(const std::vector<NamedStudy>& studies);

// Returns the names of the policies of a study's runs at its best rates: "async"; "sync" if none reached the target.
std::string policies_text(const StudyAnswer& answer);

// Return a study's costs: a table with a line for each minibatch, an HTML table, a JSON array.
std::string costs_text(const StudyAnswer& answer);
std::string costs_table(const std::vector<NamedStudy>& studies);
Json costs_json(const StudyAnswer& answer);

}  // namespace kb
