// Prints KernelIR as text: one line for each instruction, bodies indented. `*` after a type means lane-varying.
#include <fmt/format.h>

#include <cmath>

#include "compiler/kernel_ir.h"
#include "graph/enum_table.h"
#include "graph/text.h"
#include "graph/text_buffer.h"

namespace kb::ir {
namespace {

constexpr EnumNames<Code> kCodeNames(
    {"constant",  "argument",   "tile",       "index_add",     "index_sub",  "index_mul",   "index_div", "index_mod",
     "index_min", "index_max",  "index_lt",   "index_mul_add", "compute",    "fma",         "bitcast",   "convert",
     "load",      "store",      "store_bits", "local",         "local_load", "local_store", "loop",      "branch",
     "barrier",   "last_block", "tile_copy",  "tile_group",    "tile_wait",  "tile_mma",    "tile_store"});
constexpr EnumNames<Access> kAccessNames({"uniform", "contiguous", "gather"});
constexpr EnumNames<Storage> kStorageNames({"", " block", " accumulators", " matrices"});
constexpr EnumNames<Bind> kBindNames({"serial", "threads", "lanes"});

std::string number_text(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  return fmt::format("{} ({})", hexadecimal(number), number);
}

class Writer {
 public:
  std::string text;

  void body(const std::vector<Instr>& instrs, int depth) {
    for (const Instr& instr : instrs) {
      text.append(static_cast<size_t>(2 * depth), ' ');
      line(instr);
      text += '\n';
      body(instr.body, depth + 1);
    }
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    kb::put(text, format, std::forward<Args>(args)...);
  }

  void operands(const Instr& instr) {
    std::string_view separator = " ";
    for (Reg reg : {instr.a, instr.b, instr.c}) {
      if (reg == kNone) continue;
      put("{}r{}", separator, reg);
      separator = ", ";
    }
  }

  void place(const Instr& instr) {
    const bool local = instr.code == Code::local_load || instr.code == Code::local_store;
    put("{}{}[r{} {}{}]", local ? 'l' : 'b', instr.buffer, instr.a, kAccessNames[instr.access],
        instr.aligned ? " aligned" : "");
  }

  void line(const Instr& instr) {
    if (instr.dst != kNone && instr.code != Code::loop)
      put("r{}:{}{} = ", instr.dst, name(instr.type), instr.lane_varying ? "*" : "");
    const std::string_view code = kCodeNames[instr.code];
    switch (instr.code) {
      case Code::constant:
        if (instr.type == DType::i64) return put("{}", instr.integer);
        return put("{}", number_text(instr.number));
      case Code::argument:
        return put("argument {}", instr.integer);
      case Code::compute:
        put("{}", name(instr.op));
        return operands(instr);
      case Code::load:
      case Code::local_load:
        put("{} ", code);
        place(instr);
        if (instr.b != kNone) put(" where r{} else {}", instr.b, number_text(instr.number));
        if (instr.integer != 0) put(" ahead {}", instr.integer);
        return;
      case Code::store:
      case Code::local_store:
        put("{} ", code);
        place(instr);
        put(" = r{}", instr.b);
        if (instr.c != kNone) put(" where r{}", instr.c);
        if (instr.streaming) put(" streaming");
        return;
      case Code::store_bits:
        return put("{} b{}[r{}] = r{}", code, instr.buffer, instr.a, instr.b);
      case Code::local:
        put("local l{}:{}[{}]{}", instr.buffer, name(instr.type), instr.integer, kStorageNames[instr.storage]);
        if (instr.tile.rows > 0) put(" {} x {}", instr.tile.rows, instr.tile.columns);
        if (instr.tile.panel > 0) put(" in panels of {}", instr.tile.panel);
        return;
      case Code::loop:
        put("{} r{} = r{} .. r{}", kBindNames[instr.bind], instr.dst, instr.a, instr.b);
        if (instr.integer != 1) put(" by {}", instr.integer);
        if (instr.valid != kNone) put(" {}valid r{}", instr.part ? "part " : "", instr.valid);
        if (instr.unroll != 1) put(" unroll {}", instr.unroll);
        return;
      case Code::last_block:
        return put("last_block b{}[r{}] of r{}", instr.buffer, instr.a, instr.b);
      case Code::tile_copy:
      case Code::tile_mma:
      case Code::tile_store:
        put("{} ", code);
        return tile(instr, instr.tile);
      case Code::tile_wait:
        return put("{} {}", code, instr.integer);
      default:
        put("{}", code);
        return operands(instr);
    }
  }

  void tile(const Instr& instr, const Tile& tile) {
    const auto transposed = [](bool is) { return is ? " transposed" : ""; };
    if (instr.code == Code::tile_copy)
      return put("l{} number r{} = b{}[r{}] pitch r{}, r{} rows, r{} columns", tile.local, instr.d, instr.buffer,
                 instr.a, instr.b, instr.c, instr.valid);
    if (instr.code == Code::tile_store) return put("l{} pitch {} = l{}", tile.local, tile.pitch, instr.buffer);
    put("l{} += l{} number r{}{} x l{} number r{}{}", instr.buffer, tile.local, instr.a, transposed(tile.transposed),
        tile.other, instr.b, transposed(tile.other_transposed));
  }
};

std::string_view use_text(const BufferParam& buffer) {
  if (!buffer.written) return "read";
  return buffer.read ? "read write" : "write";
}

}  // namespace

std::string to_text(const Kernel& kernel) {
  Writer writer;
  writer.text = fmt::format("kernel {}", kernel.kind);
  if (kernel.block_threads != 0) writer.text += fmt::format(" threads {}", kernel.block_threads);
  if (kernel.resident != 0) writer.text += fmt::format(" resident {}", kernel.resident);
  if (kernel.narrow_index) writer.text += " index 32";
  if (kernel.warpgroups) writer.text += " warpgroups";
  writer.text += fmt::format("\narguments {}", kernel.arguments);
  if (kernel.streaming_argument >= 0) writer.text += fmt::format(" streaming {}", kernel.streaming_argument);
  writer.text += '\n';
  for (size_t i = 0; i < kernel.buffers.size(); ++i) {
    const BufferParam& buffer = kernel.buffers[i];
    writer.text += fmt::format("b{}:{} {}{}{}\n", i, name(buffer.dtype), use_text(buffer),
                               buffer.scratch ? " scratch" : "", buffer.aligned ? "" : " unaligned");
  }
  for (size_t i = 0; i < kernel.phases.size(); ++i) {
    writer.text += fmt::format("phase {}\n", i);
    writer.body(kernel.phases[i].body, 1);
  }
  return writer.text;
}

}  // namespace kb::ir
