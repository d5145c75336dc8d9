#include "runtime/cpu/runner.h"

namespace kb {
namespace {

class CpuRunner : public Runner {
 public:
  CpuRunner(Backend& backend, RunnerParts parts)
      : backend_(backend),
        programs_(std::move(parts.programs)),
        parts_(std::move(parts)),
        own_(parts_.inputs.size()),
        lent_(parts_.inputs.size(), Lent::no) {
    for (size_t p = 0; p < programs_.size(); ++p) {
      std::vector<std::byte*>& addresses = buffers_.emplace_back();
      for (const Buffer& buffer : parts_.schedules[p]->buffers)
        addresses.push_back(buffer.kind == BufferKind::input ? nullptr : parts_.address(p, buffer));
    }
  }

  std::byte* input(size_t i) override {
    const bool is_new = !own_[i];
    if (is_new) own_[i] = backend_.allocate(parts_.inputs[i].type.bytes());
    if (is_new || lent_[i] != Lent::no) place(i, own_[i]->data());
    lent_[i] = Lent::no;
    return own_[i]->data();
  }

  void lend(size_t i, const std::byte* from) override {
    place(i, const_cast<std::byte*>(from));  // programs only read their inputs
    lent_[i] = Lent::now;
  }

  void run(size_t routine) override {
    prepare();
    for (size_t program : parts_.routines[routine]) programs_[program]->run();
  }

  int depth() const override { return 1; }
  int lag() const override { return 0; }

  const std::byte* output(size_t i, int age) override {
    ensure(age == 0, "the CPU keeps the outputs of no step but the last");
    const auto& [program, view, bytes] = parts_.outputs[i];
    return buffers_[program][static_cast<size_t>(view.buffer)] + view.offset;
  }

  void wait() override {}

  Profile profile() override {
    prepare();
    Profile profile;
    for (size_t program : parts_.routines[0]) profile.append(programs_[program]->profile());
    return profile;
  }

 private:
  enum class Lent : uint8_t { no, now, before };

  void place(size_t input, std::byte* data) {
    for (size_t p = 0; p < programs_.size(); ++p) {
      const std::vector<Buffer>& buffers = parts_.schedules[p]->buffers;
      for (size_t b = 0; b < buffers.size(); ++b)
        if (buffers[b].kind == BufferKind::input && buffers[b].name == parts_.inputs[input].name) buffers_[p][b] = data;
    }
    moved_ = true;
  }

  void prepare() {
    for (size_t i = 0; i < lent_.size(); ++i) {
      ensure(lent_[i] != Lent::before, "an input that was lent for the run before was not given anew");
      if (lent_[i] == Lent::now)
        lent_[i] = Lent::before;
      else if (!own_[i])
        input(i);  // makes memory with zeros
    }
    if (!moved_) return;
    for (size_t p = 0; p < programs_.size(); ++p) programs_[p]->bind(buffers_[p]);
    moved_ = false;
  }

  Backend& backend_;
  std::vector<std::unique_ptr<Executable>> programs_;
  RunnerParts parts_;
  std::vector<std::vector<std::byte*>> buffers_;    // the buffers of each program
  std::vector<std::unique_ptr<DeviceMemory>> own_;  // memory of each input, except one that is always lent
  std::vector<Lent> lent_;                          // the run that each input was lent for
  bool moved_ = true;                               // whether an address has changed since the programs were bound
};

}  // namespace

std::unique_ptr<Runner> make_cpu_runner(Backend& backend, RunnerParts parts) {
  return std::make_unique<CpuRunner>(backend, std::move(parts));
}

}  // namespace kb
