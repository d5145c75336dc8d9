// The instruments of a training (instrument.h). Each has a file of its own; the arguments of its maker must outlive it.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "recipes/train/instrument.h"
#include "recipes/train/parts.h"
#include "recipes/train/step_feed.h"

namespace kb {

class BestKeeper;

std::unique_ptr<Instrument> make_minibatch_growth(LoopParts& parts, StepFeed& feed);
std::unique_ptr<Instrument> make_local_rounds(LoopParts& parts, StepFeed& feed);
std::unique_ptr<Instrument> make_noise_log(const LoopParts& parts);
std::unique_ptr<Instrument> make_layer_log(const LoopParts& parts);
std::unique_ptr<Instrument> make_finite_guard(const LoopParts& parts);
std::unique_ptr<Instrument> make_learning_judge(const LoopParts& parts);
std::unique_ptr<Instrument> make_training_means(const LoopParts& parts);
std::unique_ptr<Instrument> make_rank_times(const LoopParts& parts);
std::unique_ptr<Instrument> make_goals(const LoopParts& parts);
std::unique_ptr<Instrument> make_progress_report(const LoopParts& parts, const BestKeeper& best);
std::unique_ptr<Instrument> make_schedule_log(LoopParts& parts);
// `session` runs the statistics program (Use::estimate) of a task with these fields. The source must have samples for
// all minibatches, unless it is noise: then one minibatch serves for all.
std::unique_ptr<Instrument> make_batch_norm_estimate(Session& session, const std::vector<Field>& fields,
                                                     const Source& train, int64_t seed, int64_t minibatches);

// Returns all instruments, in the order in which they are called.
Instruments make_instruments(LoopParts& parts, StepFeed& feed);

}  // namespace kb
