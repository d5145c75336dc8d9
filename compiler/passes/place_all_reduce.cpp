// place_all_reduce: takes a training graph as one worker computes it, in which every value that is summed over workers
// has a worker_sum of its own. For a step with several workers it leaves a graph in which only the worker_sums of flat
// vectors add over workers. The gradient is cut into buckets: contiguous ranges of the flat gradient, in the order in
// which the backward pass finishes them. So nothing is copied into a bucket, and the first buckets are summed while
// later ones are computed. The vector "rest" holds losses and new running statistics; its sum starts first and is
// waited for last, after the update - unless something reads a total: the update the count of a loss
// (Objective::count), an output the quotient of two. Such readers come after all that leaves a worker, of which nothing
// may depend on a total, and wait for the rest. The pass stands after the last rewrite of what a worker computes, so
// that a worker computes the same bits in every split; `cut` turns worker_sums into carries and all-reduces.
//
// Running statistics are those of global worker 0 (Goyal et al. 2017, section 2.3): every other worker adds zeros
// (x + 0 = x but for the sign of a zero). If their mean is asked for, every worker adds its share. Norms of the
// workers' gradients are taken of the flat vectors as they leave a worker, and their sum joins the rest, which then
// goes last.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/fuse/materialise.h"
#include "compiler/passes/flat_gradient.h"
#include "compiler/passes/gradient_norms.h"
#include "compiler/passes/nodes.h"
#include "compiler/passes/parameter_space.h"
#include "compiler/passes/rewrite.h"
#include "graph/functions.h"

namespace kb {
namespace {

// Returns a flag for each node: whether its value differs between workers, as no sum over workers does.
std::vector<uint8_t> of_one_worker(const Graph& graph) {
  std::vector<uint8_t> result(graph.nodes.size(), 0);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == Op::worker_sum) continue;
    result[n] = node.op == Op::random_bits || (node.op == Op::input && !node.type().shape.empty()) ||
                std::any_of(node.inputs.begin(), node.inputs.end(),
                            [&](Value input) { return result[static_cast<size_t>(input.node)] != 0; });
  }
  return result;
}

class Placer : Rewriter {
 public:
  Placer(const Graph& from, const Workers& workers, const std::vector<Objective>& objectives)
      : Rewriter(from), workers_(workers), objectives_(objectives), own_(of_one_worker(from)) {}

  Graph run() {
    flat_ = find_flat_gradient(from_);
    if (flat_ >= 0) plan_buckets();
    const std::vector<uint8_t> is_needed = needed();
    for (int32_t n = 0; n < from_.size(); ++n)
      if (is_needed[static_cast<size_t>(n)] && from_.node(n).op == Op::worker_sum && !in_gradient_.contains(n))
        rest_sums_.insert(n);
    find_readers(is_needed);
    check_readers();
    const int32_t rest_ready = find_rest_ready();
    for (int32_t n = 0; n < from_.size(); ++n) {
      if (is_needed[static_cast<size_t>(n)] && !reads_total_[static_cast<size_t>(n)]) visit(n);
      sum_buckets_up_to(n);
      if (n == rest_ready) gather_rest();
    }
    add_results();
    return std::move(to_);
  }

 private:
  struct Bucket {
    std::vector<Value> parts;  // values of the old graph
    int64_t offset = 0, elements = 0;
    int32_t ready = 0;  // the node that computes the last of `parts`
    Value sum = {};     // value of the new graph
  };

  // ---- the gradient

  void plan_buckets() {
    int64_t offset = 0;
    for (Value part : from_.node(flat_).inputs) {
      if (const Value sum = sum_below(from_, part); sum.valid()) in_gradient_.insert(sum.node);
      const int64_t elements = from_.type(part).elements();
      const bool full = !buckets_.empty() && bucket_bytes() > 0 && buckets_.back().parts.size() > 1 &&
                        buckets_.back().elements * size_of(leaving_dtype()) >= bucket_bytes();
      if (buckets_.empty() || full) buckets_.push_back({{}, offset});
      Bucket& bucket = buckets_.back();
      bucket.parts.push_back(part);
      bucket.elements += elements;
      bucket.ready = std::max(bucket.ready, ready(part));
      offset += elements;
    }
    for (size_t b = 1; b < buckets_.size(); ++b) buckets_[b].ready = std::max(buckets_[b].ready, buckets_[b - 1].ready);
  }

  int64_t bucket_bytes() const { return workers_.processes > 1 ? workers_.bucket_bytes : 0; }

  // Returns the node that computes a part. Its worker_sum and reshapes may stand far after that node.
  int32_t ready(Value part) const { return is_zeros(from_, part) ? 0 : resolve_alias(from_, part).owner.node; }

  void sum_buckets_up_to(int32_t n) {
    for (; next_ < buckets_.size() && buckets_[next_].ready <= n; ++next_) {
      Bucket& bucket = buckets_[next_];
      std::vector<Value> parts;
      for (Value part : bucket.parts) parts.push_back(leaving(part));
      const Value own = joined(to_, parts);
      if (workers_.gradient_norms) own_buckets_.push_back(own);
      bucket.sum = sum(own, SumGroup::gradient, bucket.offset);
    }
  }

  DType own_dtype() const { return from_.node(flat_).type().dtype; }
  DType leaving_dtype() const {
    return is_low_precision(workers_.reduce_precision) ? workers_.reduce_precision : own_dtype();
  }

  // Returns a part of the gradient as a worker computes it, before the sum over workers.
  Value leaving(Value part) {
    if (leaving_dtype() == own_dtype()) return one_workers(part);
    if (is_zeros(from_, part)) return constant_zeros(to_, leaving_dtype(), from_.type(part).shape);
    return to_.add(Op::cast, {one_workers(part)}, {{"dtype", leaving_dtype()}});
  }

  Value one_workers(Value part) {
    if (!sum_below(from_, part).valid()) return mapped(part);
    const Value base = below_reshapes(from_, part);
    const Node& node = from_.node(base);
    const Value own = mapped(node.op == Op::worker_sum ? node.inputs[0] : base);
    return reshaped(to_, own, from_.type(part).shape);
  }

  // Returns the new value for an old one. Views and the zeros between segments may stand after the nodes copied so far.
  Value mapped(Value value) {
    if (!has(value)) copy_upto(value);
    return map(value);
  }

  Value sum(Value flat, SumGroup group, int64_t offset) {
    return to_.add(Op::worker_sum, {flat}, {{"group", std::string(name(group))}, {"offset", offset}});
  }

  // ---- the graph

  void visit(int32_t n) {
    if (has({n, 0})) return;
    const Node& node = from_.node(n);
    if (n == flat_) {
      std::vector<Value> sums;
      for (const Bucket& bucket : buckets_) sums.push_back(bucket.sum);
      const Value total = joined(to_, sums);
      const bool is_rounded = leaving_dtype() != own_dtype();
      return replace({n, 0}, is_rounded ? to_.add(Op::cast, {total}, {{"dtype", own_dtype()}}) : total);
    }
    // The bucket makes a gradient's sum. Every other sum is an output, which the vector "rest" makes.
    if (node.op == Op::worker_sum) return replace({n, 0}, map(node.inputs[0]));
    copy(n);
  }

  // ---- readers of totals

  // Flags each node that reads a sum other than the gradient's, itself or through others.
  void find_readers(const std::vector<uint8_t>& needed) {
    reads_total_.assign(from_.nodes.size(), 0);
    for (int32_t n = 0; n < from_.size(); ++n) {
      if (!needed[static_cast<size_t>(n)] || rest_sums_.contains(n)) continue;
      for (const Value input : from_.node(n).inputs)
        if (rest_sums_.contains(input.node) || reads_total(input)) reads_total_[static_cast<size_t>(n)] = 1;
    }
  }

  bool reads_total(Value value) const { return reads_total_[static_cast<size_t>(value.node)] != 0; }

  // Throws Error if something that leaves a worker depends on a total.
  void check_readers() const {
    for (int32_t n = 0; n < from_.size(); ++n) {
      const Node& node = from_.node(n);
      if (node.op == Op::worker_sum && (rest_sums_.contains(n) || in_gradient_.contains(n)))
        check_leaving(node.inputs[0]);
    }
    for (const StateWrite& write : from_.writes)
      if (is_own(write.value)) check_leaving(write.value);
    for (const Output& output : from_.outputs)
      if (is_own(output.value)) check_leaving(output.value);
  }

  void check_leaving(Value value) const {
    while (reads_total(value)) {
      const Node& reader = from_.node(value);
      for (const Value input : reader.inputs) {
        if (rest_sums_.contains(input.node)) refuse_inner_sum(reader, from_.node(input));
        if (reads_total(input)) value = input;
      }
    }
  }

  [[noreturn]] void refuse_inner_sum(const Node& reader, const Node& sum) const {
    throw Error(
        fmt::format("{}: {} reads what is summed over the workers at {}\n  expected: one worker, or a sum that only "
                    "outputs and the update depend on\n  got:      {} workers\n  hint:     one worker with all of "
                    "their samples computes the same",
                    from_.place(reader), name(reader.op), from_.place(sum), workers_.total()));
  }

  // ---- the rest

  bool is_own(Value value) const { return own_[static_cast<size_t>(value.node)] != 0; }

  // Returns the node that computes the last value of "rest", whose sum can run during the whole backward pass.
  int32_t find_rest_ready() const {
    int32_t last = -1;
    for (const int32_t n : rest_sums_) last = std::max(last, ready(from_.node(n).inputs[0]));
    for (const StateWrite& write : from_.writes)
      if (is_own(write.value)) last = std::max(last, ready(write.value));
    for (const Output& output : from_.outputs)
      if (is_own(output.value)) last = std::max(last, ready(output.value));
    return workers_.gradient_norms && !buckets_.empty() ? std::max(last, buckets_.back().ready) : last;
  }

  void gather_rest() {
    for (const int32_t n : rest_sums_) take({n, 0}, mapped(from_.node(n).inputs[0]));
    for (const StateWrite& write : from_.writes)
      if (is_own(write.value)) take(write.value, statistics(mapped(write.value)));
    for (const Output& output : from_.outputs) {
      if (!is_own(output.value)) continue;
      if (output.merge == Merge::per_sample)
        throw Error(fmt::format("graph \"{}\": output \"{}\" has a row a sample: expected one worker, got {}",
                                from_.name, output.name, workers_.total()));
      const Value value = mapped(output.value);
      take(output.value, output.merge == Merge::first ? of_first_worker(value) : value);
    }
    if (!own_buckets_.empty()) rest_.push_back({{}, worker_norm()});
    if (!rest_.empty()) sum_rest();
  }

  void take(Value old_value, Value fresh) {
    if (taken_.insert(old_value).second) rest_.push_back({old_value, fresh});
  }

  Value statistics(Value value) {
    if (!workers_.mean_statistics) return of_first_worker(value);
    const Type type = to_.type(value);
    return to_.add(Op::mul, {value, spread(step_scalar(to_, "worker_share", type.dtype), type.shape)});
  }

  Value of_first_worker(Value value) {
    const Type type = to_.type(value);
    if (!is_first_.valid()) {
      const Value first =
          workers_.of_replica ? step_scalar(to_, "first_worker", DType::u32) : constant_zeros(to_, DType::u32, {});
      is_first_ = to_.add(Op::eq, {step_scalar(to_, "worker", DType::u32), first});
    }
    const Value zero = constant_zeros(to_, type.dtype, {});
    return to_.add(Op::select, {spread(is_first_, type.shape), value, spread(zero, type.shape)});
  }

  Value spread(Value scalar, const Dims& shape) {
    return to_.add(Op::broadcast, {scalar}, {{"shape", shape}, {"axes", Ints{}}});
  }

  void sum_rest() {
    const DType dtype = to_.type(rest_[0].fresh).dtype;
    std::vector<Value> parts;
    int64_t length = 0;
    for (const auto& [old_value, fresh] : rest_) {
      ensure(to_.type(fresh).dtype == dtype,
             "place_all_reduce: what leaves a worker beside its gradient has one dtype");
      const int64_t elements = to_.type(fresh).elements();
      parts.push_back(reshaped(to_, fresh, {elements}));
      length += elements;
    }
    // The concat gets two parts or more, so that the vector has memory of its own.
    parts.push_back(constant_zeros(to_, dtype, {kSegmentBlock - length % kSegmentBlock}));
    rest_sum_ = sum(joined(to_, parts), SumGroup::rest, 0);
  }

  // Returns the squared norm of the worker's gradient, in the dtype of "rest". It is a sum over the whole gradient,
  // because a sum of the buckets' norms would have other bits for other buckets.
  Value worker_norm() {
    const Tensor norm = squared_norm(Tensor(to_, joined(to_, own_buckets_)));
    return rest_.empty() ? norm.value() : cast(norm, to_.type(rest_.front().fresh).dtype).value();
  }

  // The sums are placed after all other nodes, because whoever reads a sum waits for it.
  void add_results() {
    int64_t offset = 0;
    Value workers_norm;
    for (const auto& [old_value, fresh] : rest_) {
      const Type type = to_.type(fresh);
      const Value sum = segment_view(to_, rest_sum_, {.type = type, .offset = offset, .length = type.elements()});
      if (old_value.valid())
        replace(old_value, sum);
      else
        workers_norm = sum;
      offset += type.elements();
    }
    copy_readers();
    map_results();
    if (workers_norm.valid()) add_norm_outputs(Tensor(to_, workers_norm), Tensor(to_, map({flat_, 0})), divisor());
  }

  // Returns the count by which the gradient is divided behind its sum; invalid if there is none.
  Tensor divisor() {
    const auto counted = std::ranges::find_if(objectives_, [](const Objective& o) { return !o.count.empty(); });
    if (counted == objectives_.end()) return {};
    if (objectives_.size() > 1)
      throw Error(
          fmt::format("Workers::gradient_norms: expected one loss beside the count \"{}\", got {}: the norm of "
                      "several gradients, each divided by a count of its own, says nothing",
                      counted->count, objectives_.size()));
    return {to_, std::ranges::find(to_.outputs, counted->count, &Output::name)->value};
  }

  void copy_readers() {
    for (int32_t n = 0; n < from_.size(); ++n)
      if (reads_total_[static_cast<size_t>(n)] && !has({n, 0})) copy(n);
  }

  struct Leaving {
    Value old_value, fresh;  // no old value: the norm of a worker's gradient
  };

  const Workers& workers_;
  const std::vector<Objective>& objectives_;
  const std::vector<uint8_t> own_;
  int32_t flat_ = -1;
  std::vector<Bucket> buckets_;
  size_t next_ = 0;                   // index of the next bucket to be summed
  std::set<int32_t> in_gradient_;     // worker_sums of gradients
  std::set<int32_t> rest_sums_;       // worker_sums of values other than gradients
  std::vector<uint8_t> reads_total_;  // for each node of the old graph: whether it depends on one of them
  std::vector<Leaving> rest_;
  std::vector<Value> own_buckets_;  // buckets of one worker, of which a norm is wanted
  std::set<Value> taken_;
  Value rest_sum_ = {};
  Value is_first_;
};

}  // namespace

Graph place_all_reduce(Graph graph, CompileState& state) {
  const Workers& workers = state.options.workers;
  if (workers.total() == 1 || state.options.groups.empty()) return graph;
  return Placer(graph, workers, state.options.objectives).run();
}

}  // namespace kb
