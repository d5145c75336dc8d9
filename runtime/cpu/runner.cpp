#include "runtime/cpu/runner.h"

#include <map>

namespace kb {
namespace {

class CpuRunner : public Runner {
 public:
  CpuRunner(Backend& backend, RunnerParts parts)
      : programs_(std::move(parts.programs)), routines_(std::move(parts.routines)) {
    std::map<std::string_view, std::byte*> inputs;
    for (const RunnerParts::Input& input : parts.inputs) {
      inputs_.push_back(backend.allocate(input.type.bytes()));
      inputs[input.name] = inputs_.back()->data();
    }
    std::vector<std::vector<std::byte*>> buffers(programs_.size());
    for (size_t p = 0; p < programs_.size(); ++p) {
      for (const Buffer& buffer : parts.schedules[p]->buffers)
        buffers[p].push_back(buffer.kind == BufferKind::input ? inputs.at(buffer.name) : parts.address(p, buffer));
      programs_[p]->bind(buffers[p]);
    }
    for (const RunnerParts::Output& output : parts.outputs)
      outputs_.push_back(buffers[output.program][static_cast<size_t>(output.view.buffer)] + output.view.offset);
  }

  std::byte* input(size_t i) override { return inputs_[i]->data(); }
  void run(size_t routine) override {
    for (size_t program : routines_[routine]) programs_[program]->run();
  }
  int lag() const override { return 0; }
  const std::byte* output(size_t i, int age) override {
    ensure(age == 0, "the CPU keeps the outputs of no step but the last");
    return outputs_[i];
  }
  void wait() override {}
  std::vector<StepTime> profile() override {
    std::vector<StepTime> times;
    for (size_t program : routines_[0]) {
      const std::vector<StepTime> more = programs_[program]->profile();
      times.insert(times.end(), more.begin(), more.end());
    }
    return times;
  }

 private:
  std::vector<std::unique_ptr<Executable>> programs_;
  std::vector<RunnerParts::Routine> routines_;
  std::vector<std::unique_ptr<DeviceMemory>> inputs_;
  std::vector<const std::byte*> outputs_;
};

}  // namespace

std::unique_ptr<Runner> make_cpu_runner(Backend& backend, RunnerParts parts) {
  return std::make_unique<CpuRunner>(backend, std::move(parts));
}

}  // namespace kb
