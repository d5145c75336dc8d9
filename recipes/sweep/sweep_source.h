// Gives the executor the trials of a sweep: those that the plan has now and that no other process has claimed.
#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "recipes/sweep/claims.h"
#include "recipes/sweep/sweep_index.h"
#include "recipes/sweep/sweep_store.h"
#include "recipes/task/model.h"
#include "recipes/trials/executor.h"

namespace kb {

class SweepSource : public TrialSource {
 public:
  using Say = std::function<void(const std::string&)>;
  // All references must outlive this object. `say`: prints a line when only trials of other processes are left.
  SweepSource(const Recipe& recipe, SweepView& view, ClaimFolder& claims, SweepIndex& index, Say say);

  std::vector<Trial> ready() override;
  bool take(const Trial& trial) override;
  bool wants(const Trial& trial) override;  // returns false once it is hopeless, or its claim is lost
  void ended(const Trial& trial, const TrialOutcome& outcome) override;
  bool is_done() override;  // returns true also after several failures in a row, whose cause is local
  double done() override;

 private:
  using Clock = std::chrono::steady_clock;
  void look(bool now = false);
  bool has_given_up() const;
  void say_what_it_waits_for();

  const Recipe& recipe_;
  SweepView& view_;
  ClaimFolder& claims_;
  SweepIndex& index_;
  const Say say_;
  std::map<std::string, Trial> known_;
  std::map<std::string, std::unique_ptr<Claim>> taken_;
  std::map<std::string, std::string> held_;  // trials that others had at the last look, and their hosts
  std::string said_;
  int failures_ = 0;  // number of failures in a row
  Clock::time_point looked_ = {}, indexed_ = Clock::now();
};

}  // namespace kb
