#include "runtime/cuda/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

#include "compiler/fuse/fuse.h"
#include "compiler/lower/lower.h"
#include "compiler/text_hash.h"
#include "graph/functions.h"
#include "runtime/comm/halving_doubling.h"
#include "runtime/comm/heartbeat.h"
#include "runtime/comm/sum.h"
#include "runtime/cuda/launch.h"

namespace kb::cuda {
namespace {

constexpr int64_t kPieceBytes = 64;  // bytes; pieces of an array begin at multiples of this
static_assert(kPieceBytes % kReductionAlignment == 0);

// The kernel of own = received + own, as the compiler makes it for the partial sums of virtual workers.
struct Sum {
  Lowered lowered;
  std::vector<char> is_received;  // tells of each buffer of the kernel: true: the received array; false: the own array
  Launch launch;
};

Sum lower_sum(DType dtype, int64_t elements, const Target& target) {
  Graph graph("sum");
  const Value received = input(graph, "received", dtype, {elements}).value();
  const Value own = input(graph, "own", dtype, {elements}).value();
  graph.outputs.push_back({"sum", graph.add(Op::carry, {received, own})});
  const std::vector<Group> groups = fuse(graph, target);
  ensure(groups.size() == 1, "a sum of two arrays is one kernel");
  Sum sum{lower(graph, groups[0], target), {}, {}};
  sum.lowered.kernel.name = "k_" + text_hash(ir::to_text(sum.lowered.kernel));
  for (const Value operand : sum.lowered.operands) {
    ensure(operand.valid(), "a sum of two arrays takes no scratch");
    sum.is_received.push_back(operand == received);
  }
  return sum;
}

// The library, the driver and the group of ranks, which all reductions of a communicator use.
struct Ranks {
  const Nccl& nccl;
  const Driver& driver;
  NcclComm comm = nullptr;
  RankGroup among = {};
};

// Sends and receives that are made while it lives are executed together.
class NcclGroup {
 public:
  explicit NcclGroup(const Nccl& nccl) : nccl_(nccl) { nccl_(nccl_.group_start); }
  ~NcclGroup() {
    if (is_open_) nccl_.group_end.function();
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  void end() {
    is_open_ = false;
    nccl_(nccl_.group_end);
  }

 private:
  const Nccl& nccl_;
  bool is_open_ = true;
};

class TreeReduction : public Reduction {
 public:
  TreeReduction(const Ranks& ranks, int rank, int size, int64_t elements, DType dtype, const Target& target)
      : ranks_(ranks), element_bytes_(size_of(dtype)) {
    plan_halving_doubling(rank, size, elements, kPieceBytes / element_bytes_, moves_);
    std::erase_if(moves_, [](const Move& m) { return m.send.elements() == 0 && m.receive.elements() == 0; });
    sums_.resize(moves_.size());
    for (size_t i = 0; i < moves_.size(); ++i) {
      if (!adds(moves_[i])) continue;
      sums_[i] = lower_sum(dtype, moves_[i].receive.elements(), target);
      scratch_bytes_ = std::max(scratch_bytes_, bytes(moves_[i].receive));
    }
  }

  std::vector<ir::Kernel> kernels() const override {
    std::vector<ir::Kernel> result;
    for (size_t i = 0; i < moves_.size(); ++i)
      if (adds(moves_[i])) result.push_back(sums_[i].lowered.kernel);
    return result;
  }

  void use(const Modules& modules) override {
    for (size_t i = 0; i < moves_.size(); ++i) {
      if (!adds(moves_[i])) continue;
      const Lowered& lowered = sums_[i].lowered;
      sums_[i].launch = Launch(ranks_.driver, lowered.kernel, modules.kernel(lowered.kernel.name), lowered.tiles.at(0),
                               lowered.arguments);
    }
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }

  void enqueue(Stream stream, std::byte* data, std::byte* scratch) override {
    for (size_t begin = 0, end = 0; begin < moves_.size(); begin = end) {
      while (end < moves_.size() && moves_[end].round == moves_[begin].round) ++end;
      exchange(stream, data, scratch, begin, end);
      for (size_t i = begin; i < end; ++i)
        if (adds(moves_[i])) add(stream, data + offset(moves_[i].receive), scratch, sums_[i]);
    }
  }

 private:
  static bool adds(const Move& move) { return move.adds && move.receive.elements() > 0; }
  int64_t offset(const Range& range) const { return range.begin * element_bytes_; }
  int64_t bytes(const Range& range) const { return range.elements() * element_bytes_; }

  // Executes the moves of a round. At most one of them adds, so that the scratch memory holds one piece.
  void exchange(Stream stream, std::byte* data, std::byte* scratch, size_t begin, size_t end) const {
    const Nccl& nccl = ranks_.nccl;
    NcclGroup group(nccl);
    for (size_t i = begin; i < end; ++i) {
      const Move& move = moves_[i];
      if (move.send.elements() > 0)
        nccl(nccl.send, static_cast<const void*>(data + offset(move.send)), static_cast<size_t>(bytes(move.send)),
             NcclType::bytes, ranks_.among.rank_of(move.partner), ranks_.comm, stream);
      if (move.receive.elements() > 0)
        nccl(nccl.receive, static_cast<void*>(move.adds ? scratch : data + offset(move.receive)),
             static_cast<size_t>(bytes(move.receive)), NcclType::bytes, ranks_.among.rank_of(move.partner), ranks_.comm,
             stream);
    }
    group.end();
  }

  void add(Stream stream, std::byte* own, std::byte* received, Sum& sum) const {
    void* operands[3] = {};
    const size_t count = sum.is_received.size();
    ensure(count <= std::size(operands), "a sum of two arrays has three operands");
    for (size_t i = 0; i < count; ++i) operands[i] = sum.is_received[i] ? received : own;
    sum.launch.enqueue(ranks_.driver, stream, std::span(operands, count));
  }

  const Ranks ranks_;
  const int64_t element_bytes_;
  std::vector<Move> moves_;
  std::vector<Sum> sums_;  // the kernel of each move; empty if the move adds nothing
  int64_t scratch_bytes_ = 0;
};

class LibraryReduction : public Reduction {
 public:
  LibraryReduction(const Ranks& ranks, int64_t elements, DType dtype)
      : ranks_(ranks), elements_(static_cast<size_t>(elements)), type_(nccl_type(dtype)) {}
  void enqueue(Stream stream, std::byte* data, std::byte*) override {
    if (elements_ == 0) return;
    const Nccl& nccl = ranks_.nccl;
    nccl(nccl.all_reduce, static_cast<const void*>(data), static_cast<void*>(data), elements_, type_, NcclOp::sum,
         ranks_.comm, stream);
  }

 private:
  const Ranks ranks_;
  const size_t elements_;
  const NcclType type_;
};

constexpr char kReady = 'r', kFailed = 'f';

// Returns a rank's message to all before the group is made: kReady and its id (that of rank 0 is used), or kFailed and
// the reason.
std::string say_ready(std::unique_ptr<const Nccl>& nccl, const Collective::OpenNccl& open, int rank) {
  try {
    nccl = open();
    check_version(*nccl);
    NcclId id{};
    if (rank == 0) (*nccl)(nccl->get_unique_id, &id);
    return kReady + std::string(id.bytes, sizeof id.bytes);
  } catch (const Error& error) {
    return kFailed + std::string(error.what());
  }
}

NcclId agree(const std::vector<std::string>& said) {
  for (size_t rank = 0; rank < said.size(); ++rank)
    if (said[rank].at(0) == kFailed) throw Error(fmt::format("rank {}: {}", rank, said[rank].substr(1)));
  NcclId id{};
  ensure(said[0].size() == 1 + sizeof id.bytes, "rank 0 gives the id of NCCL's group");
  std::memcpy(id.bytes, said[0].data() + 1, sizeof id.bytes);
  return id;
}

}  // namespace

Collective::Collective(const OpenNccl& open, const OpenDevice& device, Communicator& ranks, Algorithm algorithm,
                       Heartbeat* heartbeat)
    : device_(device), rank_(ranks.rank()), ranks_(ranks.size()), algorithm_(algorithm), heartbeat_(heartbeat) {
  ensure(algorithm == Algorithm::halving_doubling || algorithm == Algorithm::nccl, "an all-reduce that GPUs have not");
  const NcclId id = agree(ranks.all_gather(say_ready(nccl_, open, rank_)));
  device_.make_current();
  (*nccl_)(nccl_->comm_init_rank, &comm_, ranks_, id, rank_);
}

Collective::~Collective() {
  device_.try_make_current();
  if (giving_up_.joinable())
    giving_up_.join();
  else if (std::uncaught_exceptions() > 0)
    nccl_->comm_abort.function(comm_);
  else
    nccl_->comm_destroy.function(comm_);
}

std::unique_ptr<Reduction> Collective::plan(int64_t elements, DType dtype, const RankGroup& among,
                                            const Target& target) const {
  ensure(can_sum(dtype) && elements >= 0, "an all-reduce without a sum");
  const Ranks ranks{*nccl_, device_.driver, comm_, among};
  if (algorithm_ == Algorithm::halving_doubling)
    return std::make_unique<TreeReduction>(ranks, among.number_of(rank_), among.is_all() ? ranks_ : among.count,
                                           elements, dtype, target);
  if (!among.is_all())
    throw Error(
        fmt::format("all-reduce \"nccl\" is the library's own and sums over all ranks, and {} of {} are to sum\n"
                    "  hint:     halving-doubling",
                    among.count, ranks_));
  return std::make_unique<LibraryReduction>(ranks, elements, dtype);
}

void Collective::begin() {
  if (heartbeat_) heartbeat_->waits(true);
}

void Collective::end() {
  if (heartbeat_) heartbeat_->waits(false);
}

void Collective::look() {
  NcclResult result = kNcclSuccess;
  if (giving_up_.joinable()) return;
  (*nccl_)(nccl_->comm_async_error, comm_, &result);
  if (result == kNcclSuccess || result == kNcclInProgress) return;
  give_up();
  throw Error(fmt::format(
      "rank {}: NCCL cannot go on: {} ({})\n  hint: another rank has died, or its network; NCCL_DEBUG=INFO in the "
      "environment makes NCCL say what it met",
      rank_, nccl_->get_error_string.function(result), result));
}

// Kernels that wait for a lost rank end at once, and streams run empty. The call itself waits until captured graphs are
// destroyed.
void Collective::give_up() {
  if (giving_up_.joinable()) return;
  try {
    giving_up_ = std::thread([this] {
      device_.try_make_current();
      nccl_->comm_abort.function(comm_);
    });
  } catch (const std::system_error&) {  // without a thread the destructor ends the group
  }
}

}  // namespace kb::cuda
