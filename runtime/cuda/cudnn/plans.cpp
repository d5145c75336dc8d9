#include "runtime/cuda/cudnn/plans.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "graph/error.h"
#include "runtime/cuda/library.h"

namespace kb::cudnn {
namespace {

constexpr int64_t kMostConfigurations = 128;

template <class Note>
bool has(const std::vector<Note>& notes, Note note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

bool is_compiled_later(const Descriptor& engine) {
  return has(engine.get_all<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE,
                                                        CUDNN_BEHAVIOR_NOTE_TYPE_COUNT),
             CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
}

bool allowed(const Descriptor& engine, const PlanRules& rules) {
  const auto notes = engine.get_all<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  if (has(notes, CUDNN_NUMERICAL_NOTE_FFT) || has(notes, CUDNN_NUMERICAL_NOTE_WINOGRAD)) return false;
  if (has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  if (!rules.compiled_later && is_compiled_later(engine)) return false;
  if (rules.deterministic && has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)) return false;
  return rules.tensor_cores ||
         !(has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE) || has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
}

Descriptor engine_of(const Descriptor& configuration) {
  auto engines = configuration.get_descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  ensure(engines.size() == 1, "cuDNN: a configuration without an engine");
  return std::move(engines.front());
}

std::string pick_of(const Descriptor& engine, const Descriptor& configuration) {
  std::string pick = std::to_string(engine.get_integer(CUDNN_ATTR_ENGINE_GLOBAL_INDEX));
  for (const Descriptor& knob : configuration.get_descriptors(
           CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    cudnnBackendKnobType_t type{};
    knob.get(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type);
    pick += fmt::format(" {}={}", static_cast<int>(type), knob.get_integer(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE));
  }
  return pick;
}

// Builds a plan. Returns false when its configuration turns out not to be supported.
bool build(Plan& plan, const PlanDevice& device) {
  plan.plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, plan.configuration);
  device.set_plan(plan.plan);
  if (!plan.plan.supported()) return false;
  plan.workspace = plan.plan.get_integer(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  return true;
}

Plan unbuilt_plan(Descriptor configuration, std::string pick) {
  return {Descriptor(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR), std::move(configuration), std::move(pick), 0};
}

std::vector<Descriptor> configurations(const Descriptor& graph, const PlanDevice& device, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, 1, &mode);
  device.set_heuristics(heuristics);
  if (!heuristics.supported()) return {};
  return heuristics.get_descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                    kMostConfigurations);
}

bool known(const std::vector<Plan>& plans, const std::string& pick) {
  return std::any_of(plans.begin(), plans.end(), [&](const Plan& plan) { return plan.pick == pick; });
}

// Adds a plan if it needs the least workspace; `plans` keeps those that need the least seen so far.
void add_if_least(std::vector<Plan>& plans, Plan plan) {
  if (!plans.empty() && plan.workspace > plans.front().workspace) return;
  if (!plans.empty() && plan.workspace < plans.front().workspace) plans.clear();
  plans.push_back(std::move(plan));
}

Error bad_pick(const std::string& pick, const char* why) {
  return Error(
      fmt::format("the recorded choice '{}' of a call of cuDNN's is {}: it was made with another version of cuDNN "
                  "or for another device{}",
                  pick, why, cuda::kPickHint));
}

// Reads an integer that ends with the character `end`, and moves `at` past both.
int64_t read_integer(const char*& at, char end, const std::string& pick) {
  char* stop = nullptr;
  const int64_t value = std::strtoll(at, &stop, 10);
  if (stop == at || (*stop != end && *stop != '\0')) throw bad_pick(pick, "no engine with knobs");
  at = *stop == '\0' ? stop : stop + 1;
  return value;
}

}  // namespace

std::vector<Plan> candidates(const Descriptor& graph, const PlanDevice& device, const PlanRules& rules, size_t most) {
  for (const cudnnBackendHeurMode_t mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    std::vector<Plan> plans, large;  // plans within the limit; plans with the least workspace
    for (Descriptor& configuration : configurations(graph, device, mode)) {
      if (plans.size() == most) break;
      const Descriptor engine = engine_of(configuration);
      if (!allowed(engine, rules)) continue;
      const std::string pick = pick_of(engine, configuration);
      if (known(plans, pick) || known(large, pick)) continue;
      Plan plan = unbuilt_plan(std::move(configuration), pick);
      if (!build(plan, device)) continue;
      if (plan.workspace <= rules.workspace_limit)
        plans.push_back(std::move(plan));
      else
        add_if_least(large, std::move(plan));
    }
    if (plans.empty()) plans = std::move(large);
    plans.erase(plans.begin() + static_cast<std::ptrdiff_t>(std::min(most, plans.size())), plans.end());
    if (!plans.empty()) return plans;
  }
  return {};
}

Plan picked_plan(const Descriptor& graph, const PlanDevice& device, const std::string& pick) {
  const char* at = pick.c_str();
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph).set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, read_integer(at, ' ', pick));
  device.set_engine(engine);
  if (!engine.supported()) throw bad_pick(pick, "no engine for it here");
  std::vector<Descriptor> knobs;
  while (*at) {
    const auto type = static_cast<cudnnBackendKnobType_t>(read_integer(at, '=', pick));
    const int64_t value = read_integer(at, ' ', pick);
    Descriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, 1, &type)
        .set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, value)
        .finalize();
  }
  std::vector<const Descriptor*> choices;
  for (const Descriptor& knob : knobs) choices.push_back(&knob);
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  if (!choices.empty()) configuration.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::span(choices));
  if (!configuration.supported()) throw bad_pick(pick, "not supported here");
  Plan plan = unbuilt_plan(std::move(configuration), pick);
  if (!build(plan, device)) throw bad_pick(pick, "not supported here");
  return plan;
}

void execute(cudnnHandle_t handle, const Plan& plan, std::span<const int64_t> ids, std::span<void* const> addresses,
             void* workspace) {
  Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, std::ssize(addresses), addresses.data())
      .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  pack.finalize();
  check(cudnnBackendExecute(handle, plan.plan.raw(), pack.raw()), "cudnnBackendExecute");
}

}  // namespace kb::cudnn
