// The flags by which a run kept its workers alike (--policy and those beside it), as a manifest has them, or as words
// such as "policy=local replicas=4 every=8". Other programs and older releases leave some of them out.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "recipes/config/synchronising.h"

namespace kb {

struct PolicyFlags {
  Synchronising sync = {};
  int64_t per_worker = 0;                // samples of a worker; 0: each process is one worker
  int64_t processes = 1;                 // number of processes that trained
  std::optional<double> momentum = {};   // momentum of the optimizer, if it has one
  std::string reduce_precision = "f32";  // dtype to which sums of gradients over workers are rounded

  // Returns k, the number of workers whose gradients are a step of so many samples; at least 1.
  int64_t workers(int64_t minibatch) const;
  // Returns R, the number of replicas of local training there.
  int64_t replicas(int64_t minibatch) const { return sync.replicas > 0 ? sync.replicas : workers(minibatch); }
};

// Sets the member of a flag, whose name has no dashes. Returns false, and changes nothing, if no member has this flag
// or the text is no value of it.
bool set_policy_flag(PolicyFlags& policy, const std::string& flag, const std::string& value);

// Sets the members that words "flag=value", parted by spaces, are about. Returns the first word that is about none; ""
// if there is no such word.
std::string set_policy_words(PolicyFlags& policy, const std::string& words);

// Returns the words of all flags that differ from their defaults, which set_policy_words() reads; "" if none does.
std::string policy_words(const PolicyFlags& policy);

// Returns a short name of the policy: "sync", "local R 4 H 8 outer nesterov 0.7", "post-local R 16 H 16", "async
// 1/staleness", "stale 2", "backup 1".
std::string policy_name(const PolicyFlags& policy);

}  // namespace kb
