#include "tests/runtime/cuda/fake_nccl.h"

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "graph/error.h"
#include "runtime/comm/sum.h"

// The fake NCCL communicator of one rank.
struct ncclComm {
  ncclComm(kb::test::FakeGpu& its_gpu, int its_rank, int its_ranks) : gpu(its_gpu), rank(its_rank), ranks(its_ranks) {}
  kb::test::FakeGpu& gpu;
  const int rank, ranks;
  std::set<int> connected;                               // ranks that it has spoken with outside any capture
  std::shared_ptr<int> work = std::make_shared<int>(0);  // every piece of work holds a reference
  std::atomic<int> failure{kb::cuda::kNcclSuccess};
  std::atomic<bool> is_aborted{false};
};

namespace kb::test {
namespace {

using namespace cuda;

FakeNccl* network = nullptr;
constexpr std::chrono::seconds kRanksPatience{60};  // limit on waiting for other ranks

DType dtype_of(NcclType type) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::u32})
    if (nccl_type(dtype) == type) return dtype;
  throw DriverFault("a sum of no numbers");
}

MemoryRange range_of(const std::byte* data, size_t bytes) { return MemoryRange::of(data, static_cast<int64_t>(bytes)); }

}  // namespace

thread_local FakeNccl::Pending FakeNccl::pending_;

struct FakeNccl::Table {
  static NcclResult group_end() {
    if (--pending_.depth > 0) return kNcclSuccess;
    if (pending_.depth < 0) return pending_.depth = 0, kNcclInvalidUsage;
    Pending group = std::exchange(pending_, {});
    if (!group.parts.empty()) network->submit(std::move(group));
    return kNcclSuccess;
  }
  static NcclResult send(const void* from, size_t count, NcclType type, int to, NcclComm comm, Stream stream) {
    if (type != NcclType::bytes || count == 0 || to < 0 || to >= comm->ranks) return kNcclInvalidUsage;
    if (network->fails(comm->rank)) return kNcclInvalidUsage;
    network->note(comm->rank, fmt::format("send {} to {}", count, to));
    auto* data = const_cast<std::byte*>(static_cast<const std::byte*>(from));
    network->call(*comm, stream, {true, data, count, to});
    return kNcclSuccess;
  }
  static NcclResult receive(void* to, size_t count, NcclType type, int from, NcclComm comm, Stream stream) {
    if (type != NcclType::bytes || count == 0 || from < 0 || from >= comm->ranks) return kNcclInvalidUsage;
    network->note(comm->rank, fmt::format("receive {} of {}", count, from));
    network->call(*comm, stream, {false, static_cast<std::byte*>(to), count, from});
    return kNcclSuccess;
  }
  static NcclResult all_reduce(const void* from, void* to, size_t count, NcclType type, NcclOp, NcclComm comm,
                               Stream stream) {
    if (pending_.depth > 0 || count == 0) return kNcclInvalidUsage;
    const DType dtype = dtype_of(type);
    network->note(comm->rank, fmt::format("all-reduce {} {}", count, name(dtype)));
    network->submit_sum(*comm, stream, from, to, count, dtype);
    return kNcclSuccess;
  }
};

FakeNccl::FakeNccl(int version) : version_(version) {
  ensure(!network, "two fake networks at once");
  network = this;
}

FakeNccl::~FakeNccl() { network = nullptr; }

std::unique_ptr<Nccl> FakeNccl::table() {
  auto result = std::make_unique<Nccl>();
  Nccl& n = *result;
  n.get_error_string.function = [](NcclResult result) {
    return result == kNcclRemoteError ? "remote process exited" : "invalid usage";
  };
  n.get_version.function = [](int* version) { return *version = network->version_, kNcclSuccess; };
  n.get_unique_id.function = [](NcclId* id) {
    const std::scoped_lock lock(network->mutex_);
    std::snprintf(id->bytes, sizeof id->bytes, "group %d", network->groups_++);
    return kNcclSuccess;
  };
  n.comm_init_rank.function = [](NcclComm* comm, int ranks, NcclId id, int rank) {
    *comm = network->join(id.bytes, ranks, rank);
    return *comm ? kNcclSuccess : kNcclRemoteError;
  };
  n.comm_destroy.function = [](NcclComm comm) { return network->leave(*comm, false), kNcclSuccess; };
  n.comm_abort.function = [](NcclComm comm) { return network->leave(*comm, true), kNcclSuccess; };
  n.comm_async_error.function = [](NcclComm comm, NcclResult* result) { return *result = comm->failure, kNcclSuccess; };
  n.group_start.function = [] { return ++pending_.depth, kNcclSuccess; };
  n.group_end.function = Table::group_end;
  n.send.function = Table::send;
  n.receive.function = Table::receive;
  n.all_reduce.function = Table::all_reduce;
  for (const Nccl::Slot& slot : n.slots) ensure(*slot.function != nullptr, slot.symbol);
  return result;
}

ncclComm* FakeNccl::join(const std::string& id, int ranks, int rank) {
  std::unique_lock lock(mutex_);
  ncclComm* comm = &comms_.emplace_back(FakeGpu::here(), rank, ranks);
  ++present_[id];
  changed_.notify_all();
  return changed_.wait_for(lock, kRanksPatience, [&] { return present_[id] == ranks; }) ? comm : nullptr;
}

void FakeNccl::call(ncclComm& comm, Stream stream, const Part& part) {
  if (pending_.depth == 0) return submit({0, &comm, stream, {part}});
  if (pending_.comm && (pending_.comm != &comm || pending_.stream != stream))
    comm.gpu.fault("a group of calls on several streams");
  pending_.comm = &comm;
  pending_.stream = stream;
  pending_.parts.push_back(part);
}

void FakeNccl::submit(Pending group) {
  ncclComm& comm = *group.comm;
  const bool captured = comm.gpu.is_capturing(group.stream);
  std::vector<MemoryRange> reads, writes;
  for (const Part& part : group.parts) {
    if (captured && !comm.connected.contains(part.peer))
      comm.gpu.fault(fmt::format("rank {} meets rank {} in a capture, and never before", comm.rank, part.peer));
    comm.connected.insert(part.peer);
    const MemoryRange range = range_of(part.data, part.bytes);
    for (const MemoryRange other : writes)
      if (range.begin < other.end && other.begin < range.end) comm.gpu.fault("what a group receives overlaps");
    (part.sends ? reads : writes).push_back(range);
  }
  for (const MemoryRange read : reads)
    for (const MemoryRange write : writes)
      if (read.begin < write.end && write.begin < read.end) comm.gpu.fault("a group receives where it sends from");
  comm.gpu.enqueue(group.stream, "an exchange with other ranks", reads, writes,
                   [this, &comm, work = comm.work, kind = std::string(captured ? "captured" : "plain"),
                    parts = std::move(group.parts)]() mutable { run(comm, kind, parts); });
}

// Runs the parts that are not done yet. The last line makes them ready for the next launch of their graph.
void FakeNccl::run(ncclComm& comm, const std::string& kind, std::vector<Part>& parts) {
  for (Part& part : parts) {
    if (part.is_done || !part.sends) continue;
    post(comm.rank, part.peer, {kind, {part.data, part.data + part.bytes}});
    part.is_done = true;
  }
  for (Part& part : parts) {
    if (part.is_done || comm.is_aborted) continue;
    const std::vector<std::byte> bytes = take(comm, part.peer, kind, part.bytes);
    std::copy(bytes.begin(), bytes.end(), part.data);
    part.is_done = true;
  }
  for (Part& part : parts) part.is_done = false;
}

// Sums in the order of the ranks, and not in that of a tree, as a library may.
void FakeNccl::submit_sum(ncclComm& comm, Stream stream, const void* from, void* to, size_t count, DType dtype) {
  const size_t bytes = count * static_cast<size_t>(size_of(dtype));
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  const std::string kind = fmt::format("{}all-reduce", comm.gpu.is_capturing(stream) ? "captured " : "");
  std::map<int, std::vector<std::byte>> given;  // arrays that have come, keyed by rank
  comm.gpu.enqueue(stream, "an all-reduce", {range_of(source, bytes)}, {range_of(target, bytes)},
                   [=, this, &comm, work = comm.work]() mutable {
                     if (given.empty()) {
                       given[comm.rank].assign(source, source + bytes);
                       for (int rank = 0; rank < comm.ranks; ++rank)
                         if (rank != comm.rank) post(comm.rank, rank, {kind, given[comm.rank]});
                     }
                     for (int rank = 0; rank < comm.ranks && !comm.is_aborted; ++rank)
                       if (!given.contains(rank)) given[rank] = take(comm, rank, kind, bytes);
                     const auto all = std::exchange(given, {});
                     if (comm.is_aborted) return;
                     std::copy(all.at(0).begin(), all.at(0).end(), target);
                     for (int rank = 1; rank < comm.ranks; ++rank)
                       sum_into(dtype, target, all.at(rank).data(), static_cast<int64_t>(count), false);
                   });
}

void FakeNccl::post(int from, int to, Letter letter) {
  const std::scoped_lock lock(mutex_);
  if (!dead_.contains(from)) letters_[{from, to}].push_back(std::move(letter));
}

std::vector<std::byte> FakeNccl::take(ncclComm& comm, int from, const std::string& kind, size_t bytes) {
  const std::scoped_lock lock(mutex_);
  std::deque<Letter>& waiting = letters_[{from, comm.rank}];
  if (waiting.empty()) {
    if (dead_.contains(from)) comm.failure = kNcclRemoteError;
    throw NotYet{};
  }
  Letter letter = std::move(waiting.front());
  waiting.pop_front();
  if (letter.kind != kind || letter.bytes.size() != bytes)
    comm.gpu.fault(fmt::format("rank {} expects {} bytes ({}) of rank {}, which has sent {} ({})", comm.rank, bytes,
                               kind, from, letter.bytes.size(), letter.kind));
  return std::move(letter.bytes);
}

void FakeNccl::note(int rank, std::string call) {
  const std::scoped_lock lock(mutex_);
  calls_[rank].push_back(std::move(call));
}

void FakeNccl::fail_send(int rank, int number) {
  const std::scoped_lock lock(mutex_);
  failing_[rank] = number;
}

bool FakeNccl::fails(int rank) {
  const std::scoped_lock lock(mutex_);
  const auto at = failing_.find(rank);
  return at != failing_.end() && at->second-- == 0;
}

void FakeNccl::kill(int rank) {
  const std::scoped_lock lock(mutex_);
  dead_.insert(rank);
}

std::vector<std::string> FakeNccl::calls(int rank) {
  const std::scoped_lock lock(mutex_);
  return calls_[rank];
}

std::vector<std::string> FakeNccl::faults() {
  const std::scoped_lock lock(mutex_);
  return faults_;
}

// Takes a rank out of its group. Work that is under way, or that a captured graph holds, is a fault if the communicator
// is destroyed; a communicator that is aborted waits until there is none.
void FakeNccl::leave(ncclComm& comm, bool aborts) {
  comm.is_aborted = aborts;
  const auto end = std::chrono::steady_clock::now() + kRanksPatience;
  while (aborts && comm.work.use_count() > 1 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  if (comm.work.use_count() == 1) return;
  const std::scoped_lock lock(mutex_);
  faults_.push_back(
      fmt::format("rank {} has left its group, and {} pieces of work are left", comm.rank, comm.work.use_count() - 1));
}

}  // namespace kb::test
