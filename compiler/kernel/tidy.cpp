// Removes from a kernel what nothing uses, and numbers its registers anew.
#include "compiler/kernel/builder.h"

namespace kb::ir {
namespace {

bool has_effect(const Instr& instr) {
  switch (instr.code) {
    case Code::store:
    case Code::store_bits:
    case Code::local:
    case Code::local_store:
    case Code::loop:
    case Code::branch:
    case Code::barrier:
    case Code::last_block:
    case Code::tile_copy:
    case Code::tile_group:
    case Code::tile_wait:
    case Code::tile_mma:
    case Code::tile_store:
      return true;
    default:
      return false;
  }
}

bool has_body(const Instr& instr) {
  return instr.code == Code::loop || instr.code == Code::branch || instr.code == Code::last_block;
}

// Drops pure instructions that nothing uses and loops that are left empty, from back to front, so that one pass drops a
// whole chain. A barrier with integer -1 marks what is dropped.
void drop_unused(std::vector<Instr>& body, std::vector<int32_t>& uses) {
  for (size_t i = body.size(); i-- > 0;) {
    Instr& instr = body[i];
    if (has_body(instr)) drop_unused(instr.body, uses);
    const bool dead =
        has_body(instr) ? instr.body.empty() : !has_effect(instr) && uses[static_cast<size_t>(instr.dst)] == 0;
    if (dead) {
      for (Reg reg : {instr.a, instr.b, instr.c, instr.d, instr.valid})
        if (reg != kNone) uses[static_cast<size_t>(reg)]--;
      instr.code = Code::barrier;
      instr.integer = -1;
    }
  }
  std::erase_if(body, [](const Instr& instr) { return instr.code == Code::barrier && instr.integer == -1; });
}

void count_uses(const std::vector<Instr>& body, std::vector<int32_t>& uses) {
  for (const Instr& instr : body) {
    for (Reg reg : {instr.a, instr.b, instr.c, instr.d, instr.valid})
      if (reg != kNone) uses[static_cast<size_t>(reg)]++;
    count_uses(instr.body, uses);
  }
}

void renumber(std::vector<Instr>& body, std::vector<Reg>& names, Reg& next) {
  for (Instr& instr : body) {
    for (Reg* reg : {&instr.a, &instr.b, &instr.c, &instr.d, &instr.valid})
      if (*reg != kNone) *reg = names[static_cast<size_t>(*reg)];
    if (instr.dst != kNone) instr.dst = names[static_cast<size_t>(instr.dst)] = next++;
    renumber(instr.body, names, next);
  }
}

}  // namespace

void tidy(Kernel& kernel) {
  const auto registers = static_cast<size_t>(kernel.registers);
  std::vector<int32_t> uses(registers, 0);
  for (const Phase& phase : kernel.phases) count_uses(phase.body, uses);
  std::vector<Reg> names(registers, kNone);
  kernel.registers = 0;
  for (Phase& phase : kernel.phases) {
    drop_unused(phase.body, uses);
    renumber(phase.body, names, kernel.registers);
  }
}

}  // namespace kb::ir
