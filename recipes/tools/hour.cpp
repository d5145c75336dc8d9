// summary: "ImageNet in 1 hour" in small, on drawn glyphs: no download; minutes
//
// Repeats the trainings of Goyal et al. 2017 with a net that trains in minutes: baseline, linear scaling rule and
// warmups; LARS is added.
#include <fmt/format.h>

#include <string>

#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/hour/hour.h"
#include "recipes/run/command_words.h"
#include "recipes/run/tool.h"
#include "recipes/trials/study_process.h"

namespace kb {
namespace {

constexpr const char* kDrawn = "glyphs-hour";

}  // namespace

int hour_command(const ToolArguments& arguments) {
  HourRequest request;
  std::string seeds, plan;
  CommandLine line(
      "\"Accurate, large minibatch SGD: training ImageNet in 1 hour\" (Goyal et al. 2017) in small: LeNet with batch "
      "norm, n = 32 samples a worker. Prints a table beside the paper's and what became of its claims, and leaves "
      "hour.html.",
      "./run hour [--plan full] [--seeds 1..3] [--out DIR]");
  line.text({"--dataset", "NAME", "data set: glyphs-hour (drawn on the spot), fashion-mnist, mnist"}, request.dataset)
      .text({"--data", "DIR", "folder of the data set, or the one above it; $KB_DATA where it is not given"},
            request.data)
      .choice({"--plan", "PLAN",
               "brief: the linear rule at kn 256; full: also warmups, 512 to 4096, LARS; brief on glyphs-hour, else "
               "full"},
              plan, {"brief", "full"})
      .text({"--seeds", "A..B",
             "seeds of each configuration: a range such as 1..3, or numbers; of three and more each claim that they "
             "leave undecided gets further ones, up to five; 1 for brief, 1..3 for full"},
            seeds)
      .whole({"--epochs", "E", "passes over the training set"}, request.epochs, 1)
      .whole({"--jobs", "J", "trainings at once, which share the processors; 0: one a core, one on a GPU"},
             request.jobs, 0)
      .text({"--out", "DIR", "folder of the study; one that was stopped goes on; runs/hour-DATASET-TIME"}, request.out);
  if (const std::optional<int> code = trial_or_rank(arguments)) return *code;
  if (!line.parse(arguments.words)) return 0;
  request.plan = plan == "full" || (plan.empty() && request.dataset != kDrawn) ? HourPlan::full : HourPlan::brief;
  request.seeds = parse_seeds("--seeds", !seeds.empty() ? seeds : request.plan == HourPlan::full ? "1..3" : "1");
  request.command = "./run hour";
  for (const std::string& word : arguments.words) request.command += " " + shell_quoted(word);
  return run_hour(request);
}

}  // namespace kb
