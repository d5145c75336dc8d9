// pack_masks: takes a graph in physical layouts; leaves one in which a GPU writes the mask of a 16-bit activation as
// one bit an element, where the launches that read the mask need nothing else of the activation. The launch that writes
// the activation writes the bits, too; a reader loads a sixteenth of what the activation has. The gradient of a
// residual block's last relu is such a reader. The pass stands after recompute, which decides what is kept for
// backward.
//
// Masks that backward computes from what it reads anyway are left alone, and so is an activation that follows from one
// large value: a library call may write it, which writes no bits.
#include <algorithm>

#include "compiler/fuse/materialise.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"

namespace kb {
namespace {

class PackMasks : Rewriter {
 public:
  explicit PackMasks(const Graph& from)
      : Rewriter(from),
        materialised_(choose_materialised(from, true)),
        readers_(readers_of(from)),
        masks_(from.nodes.size()) {}

  Graph run() {
    bool any = false;
    for (int32_t n = 0; n < from_.size(); ++n) {
      if (const Value activation = activation_behind(n); activation.valid()) {
        masks_[static_cast<size_t>(activation.node)].push_back(n);
        any = true;
      }
    }
    if (!any) return from_;
    for (int32_t n = 0; n < from_.size(); ++n) {
      if (!has({n, 0})) copy(n);
      for (const int32_t mask : masks_[static_cast<size_t>(n)]) pack(mask);
    }
    return finish();
  }

 private:
  bool is_large(Value v, int64_t elements) const { return 2 * from_.type(v).elements() > elements; }

  // Returns the large values in memory, of `elements` elements or so, that it takes to compute a node without what
  // comes from node `except`.
  std::vector<Value> reads(int32_t n, int64_t elements, int32_t except = -1) const {
    std::vector<Value> found;
    std::vector<int32_t> open{n}, seen{except};
    while (!open.empty()) {
      const int32_t m = open.back();
      open.pop_back();
      if (std::find(seen.begin(), seen.end(), m) != seen.end()) continue;
      seen.push_back(m);
      for (const Value input : from_.node(m).inputs) {
        if (!materialised_.readable(input)) {
          open.push_back(input.node);
          continue;
        }
        const Value owner = materialised_.owner(input).owner;
        if (is_large(owner, elements) && std::find(found.begin(), found.end(), owner) == found.end())
          found.push_back(owner);
      }
    }
    return found;
  }

  // Returns the nodes that compute what is in memory from the value of node `n`.
  std::vector<int32_t> written_from(int32_t n) const {
    std::vector<int32_t> written, open{n}, seen;
    while (!open.empty()) {
      const int32_t m = open.back();
      open.pop_back();
      for (const int32_t reader : readers_[static_cast<size_t>(m)]) {
        if (std::find(seen.begin(), seen.end(), reader) != seen.end()) continue;
        seen.push_back(reader);
        (materialised_.readable({reader, 0}) ? written : open).push_back(reader);
      }
    }
    return written;
  }

  // Returns the activation of which node `n` is a mask that is worth its bits; an invalid value if there is none.
  Value activation_behind(int32_t n) const {
    const Node& mask = from_.node(n);
    if (info(mask.op).rule != TypeRule::compare || materialised_.readable({n, 0})) return {};
    const int64_t elements = mask.type().elements();
    const std::vector<Value> sources = reads(n, elements);
    if (sources.size() != 1 || !may_be_packed(mask.type(), sources[0])) return {};
    const std::vector<int32_t> readers = written_from(n);
    const bool is_read_alone = std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
      const std::vector<Value> others = reads(reader, elements, n);
      return std::find(others.begin(), others.end(), sources[0]) == others.end();
    });
    return is_read_alone && !readers.empty() && !is_computed_again(sources[0], readers) ? sources[0] : Value{};
  }

  // Returns whether the launch that computes `readers`, and the reductions of what they write, has all inputs of the
  // activation, from which it then computes the mask.
  bool is_computed_again(Value activation, const std::vector<int32_t>& readers) const {
    if (materialised_.cheap[static_cast<size_t>(materialised_.ids(activation))] == 0) return false;
    const int64_t elements = from_.type(activation).elements();
    std::vector<Value> there;
    const auto add = [&](int32_t n) {
      for (const Value read : reads(n, elements)) there.push_back(read);
    };
    for (const int32_t reader : readers) {
      add(reader);
      for (const int32_t next : written_from(reader))
        if (info(from_.node(next).op).cls == OpClass::reduction) add(next);
    }
    const std::vector<Value> inputs = reads(activation.node, elements);
    return std::all_of(inputs.begin(), inputs.end(),
                       [&](Value input) { return std::find(there.begin(), there.end(), input) != there.end(); });
  }

  // Returns whether one launch can write the activation and, element by element, the mask.
  bool may_be_packed(const Type& mask, Value activation) const {
    const Type& type = from_.type(activation);
    const bool is_computed = materialised_.root[static_cast<size_t>(materialised_.ids(activation))] != 0 &&
                             domain_of(from_, activation) == mask.shape;
    return is_computed && is_low_precision(type.dtype) && !mask.shape.empty() && mask.shape.back() % kPackedBits == 0 &&
           reads(activation.node, type.elements()).size() > 1;
  }

  void pack(int32_t n) {
    const Node& mask = from_.node(n);
    copy_upto({n, 0});
    const Value bits = add(mask, Op::pack_bits, {map({n, 0})}, {});
    replace({n, 0}, add(mask, Op::unpack_bits, {bits}, {}));
  }

  const Materialised materialised_;
  std::vector<std::vector<int32_t>> readers_;  // nodes that read each node
  std::vector<std::vector<int32_t>> masks_;    // masks of each node's value
};

}  // namespace

Graph pack_masks(Graph graph, CompileState& state) {
  return state.options.target.processor == Processor::gpu ? PackMasks(graph).run() : graph;
}

}  // namespace kb
