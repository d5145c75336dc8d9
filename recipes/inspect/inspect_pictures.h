// inspect --picture, --trace: draws a step, measured on this machine or predicted.
#pragma once
#include <string>

#include "recipes/inspect/inspect_programs.h"
#include "recipes/inspect/step_model.h"
#include "recipes/run/tool.h"
#include "recipes/train/device.h"
#include "recipes/train/loaded_programs.h"
#include "runtime/session.h"

namespace kb {

// Throws UsageError for flags whose step cannot be drawn, Error for a file that cannot be written.
void check_picture(const RunConfig& config, const InspectOptions& options);

// Draws a step and returns a line to print: draw() from a profile of the session; draw_from_rates() for a GPU that need
// not be present, with each part as long as the model says; draw_measured() as measured on this machine.
std::string draw(const ToolCall& call, const Session& session, const Profile& profile, const std::string& what,
                 const Device& device);
std::string draw_from_rates(const ToolCall& call, const InspectOptions& options, const Compiled& compiled,
                            const StepModel& model);
std::string draw_measured(const ToolCall& call, const InspectOptions& options);

// Times the step of one of the processes here, alone, and prints the table. Throws UsageError if flags are missing.
void explain_overlap(ToolCall call);

}  // namespace kb
