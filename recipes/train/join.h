// The program that joins the replicas of local training. It is a training step whose virtual workers are the replicas:
// the gradient of a parameter is the mean over replicas of the joined parameter less the replica's own (the outer
// gradient of DiLoCo, Douillard et al. 2023; SlowMo, Wang et al. 2019, divides it by the inner rate). So the sum over
// replicas has the fixed tree of every sum over workers, and any optimizer may be the outer one.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "compiler/pipeline/pipeline.h"
#include "recipes/config/plan.h"
#include "recipes/task/rules.h"
#include "recipes/train/settled.h"
#include "runtime/session.h"

namespace kb {

// Returns the name of the input that holds a replica's own value of a parameter or of a running statistic.
std::string own_name(const std::string& variable);

// Adds inputs of the running statistics of `training` to a graph, which writes them.
void join_statistics(Graph& graph, const Compiled& training);

// Returns the options of a program that updates the parameters of `training`, of the groups `groups`, whose virtual
// workers are `workers` copies of the parameters.
CompileOptions options_over(const Compiled& training, const std::vector<ParameterGroup>& groups, const Settled& settled,
                            int64_t workers);

// Copies the store's tensors to the inputs of their names, and of own_name().
void give_views(Session& session, const StateStore& store);

// Returns the graph of a join of `replicas` replicas, whose training step is `training`. Its loss is half the mean
// squared distance of the replicas from the joined parameters, of which the gradient is what the outer rule takes.
// `per_rate`: over the replicas' learning rate.
Graph join_graph(const Compiled& training, int64_t replicas, bool per_rate);

// Returns the options by which join_graph() is compiled: `groups` are those of the training step, whose parameters the
// outer rule of `sync` updates, frozen ones excepted. The joined parameters are averaged where those of the group are.
CompileOptions join_options(const Compiled& training, const std::vector<ParameterGroup>& groups, const Settled& settled,
                            const Optimizer& outer);

// A join: the number of its round, the steps of that round, the learning rates above 0 of the replicas' last step and
// of the last step of the round before (of its own if it is the first), and the replicas of all processes, of which
// this process has those from number `first` on.
struct JoinPlace {
  int64_t round = 0, steps = 1;
  double rate = 0, rate_before = 0;
  int64_t first = 0, replicas = 1;
};

// The scalars of joins. Those of the outer rule are the same in every round and for all groups: sync.outer_lr,
// sync.outer_momentum, no weight decay, and the defaults of its other hyper-parameters. A group's averages of the
// parameters decay in a join as in the steps of its round together: by D^H.
class JoinScalars {
 public:
  // `groups`: names of the groups that the losses train.
  JoinScalars(const Rules& own, const TrainConfig& config, const std::vector<std::string>& groups, const RunPlan& plan);

  // Sets the scalars of a join.
  void set(Session& join, const JoinPlace& place);

 private:
  struct Group {
    std::string prefix;  // of the names of its scalars
    double ema = 0;      // decay of averages in a step
  };
  StepScalars outer_;
  std::vector<Group> groups_;
};

// Runs a join: the parameters and running statistics of the session's store are updated from those of the replicas,
// which are summed over processes; `own` are those of this process.
void run_join(Session& join, JoinScalars& scalars, std::span<StateStore* const> own, const JoinPlace& place);

}  // namespace kb
