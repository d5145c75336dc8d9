// The content hash of a graph: two lanes of 64 bits over a stream of words. A length or a tag precedes every item, so
// that two different graphs never give the same stream. The hash is the same in every build and on every machine.
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "graph/text.h"

namespace kb {
namespace {

class Hasher {
 public:
  void word(uint64_t w) {
    a_ = mix(a_ ^ w, 0x9E3779B97F4A7C15ull);
    b_ = mix(b_ + w, 0xC2B2AE3D27D4EB4Full);
  }
  void integer(int64_t i) { word(static_cast<uint64_t>(i)); }
  // Takes all bits of a number; all NaNs count as one, because the text form has a single one.
  void real(double d) { word(std::isnan(d) ? 0x7FF8000000000000ull : std::bit_cast<uint64_t>(d)); }
  void text(std::string_view s) {
    word(s.size());
    for (size_t i = 0; i < s.size(); i += 8) {
      uint64_t w = 0;
      for (size_t k = i; k < std::min(i + 8, s.size()); ++k) w = w << 8 | static_cast<uint8_t>(s[k]);
      word(w);
    }
  }
  void ints(const Ints& v) {
    word(v.size());
    for (const int64_t i : v) integer(i);
  }
  void reals(const std::vector<double>& v) {
    word(v.size());
    for (const double d : v) real(d);
  }
  std::string digits() const { return fmt::format("{:016x}{:016x}", mix(a_, b_), mix(b_, a_ ^ 0x165667B19E3779F9ull)); }

 private:
  // Multiplies, then mixes high bits into low ones by shift and xor, as Murmur3's finalizer does; bijective in x if m
  // is odd.
  static uint64_t mix(uint64_t x, uint64_t m) {
    x *= m | 1;
    x ^= x >> 32;
    x *= 0xFF51AFD7ED558CCDull;
    x ^= x >> 29;
    return x;
  }
  uint64_t a_ = 0x243F6A8885A308D3ull, b_ = 0x13198A2E03707344ull;
};

void add(Hasher& h, const Type& type) {
  h.word(static_cast<uint64_t>(type.dtype));
  h.ints(type.shape);
}

void add(Hasher& h, const AttrValue& value) {
  h.word(value.index());
  if (const auto* i = std::get_if<int64_t>(&value)) return h.integer(*i);
  if (const auto* d = std::get_if<double>(&value)) return h.real(*d);
  if (const auto* s = std::get_if<std::string>(&value)) return h.text(*s);
  if (const auto* v = std::get_if<Ints>(&value)) return h.ints(*v);
  if (const auto* r = std::get_if<std::vector<double>>(&value)) return h.reals(*r);
  h.word(static_cast<uint64_t>(std::get<DType>(value)));
}

void add(Hasher& h, const Value& v) { h.word(static_cast<uint64_t>(v.node) << 8 | static_cast<uint64_t>(v.out)); }

void add(Hasher& h, const Node& node) {
  // The name stands for the op, so that a new row in the table leaves the hashes of others as they are.
  h.text(name(node.op));
  h.word(node.inputs.size());
  for (const Value& v : node.inputs) add(h, v);
  for (const auto& [key, value] : node.attrs.items()) {
    if (key == "names") continue;  // letters of dimensions mean nothing to the computation
    h.text(key);
    add(h, value);
  }
  h.word(node.outputs.size());
  for (const Type& type : node.outputs) add(h, type);
}

void add(Hasher& h, const Variable& variable) {
  h.text(variable.name);
  add(h, variable.type);
  h.text(name(variable.kind));
  h.text(name(variable.role));
  h.word(static_cast<uint64_t>(variable.init.kind));
  h.real(variable.init.a);
  h.real(variable.init.b);
  h.reals(variable.values);
  h.integer(variable.bytes);
  if (variable.rate == 1) return;  // so that graphs without such rates keep their hashes
  h.text("rate");
  h.real(variable.rate);
}

}  // namespace

std::string content_hash(const Graph& graph) {
  Hasher h;
  h.word(graph.variables.size());
  for (const Variable& variable : graph.variables) add(h, variable);
  h.word(graph.nodes.size());
  for (const Node& node : graph.nodes) add(h, node);
  h.word(graph.outputs.size());
  for (const Output& output : graph.outputs) {
    h.text(output.name);
    add(h, output.value);
    h.text(name(output.merge));
  }
  h.word(graph.writes.size());
  for (const StateWrite& write : graph.writes) {
    h.text(write.variable);
    add(h, write.value);
  }
  return h.digits();
}

}  // namespace kb
