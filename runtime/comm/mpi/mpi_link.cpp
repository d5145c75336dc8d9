// The plug-in library libkilobatch_mpi: messages by MPI (runtime/comm/open.h has its functions). One thread makes all
// calls. It waits by looking and sleeping in turn, because OpenMPI's own waiting would keep a core busy that is needed
// for computing.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <fmt/format.h>
#include <mpi.h>

#include <algorithm>
#include <atomic>

#include "graph/error.h"
#include "runtime/comm/link.h"
#include "runtime/comm/patience.h"
#include "runtime/comm/sum.h"
#include "runtime/commit.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;

void check(int status) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(fmt::format("MPI: {}", text));
}

template <DType dtype>
void sum_operator(void* in, void* in_out, int* elements, MPI_Datatype*) {
  sum_into(dtype, static_cast<std::byte*>(in_out), static_cast<const std::byte*>(in), *elements, true);
}

class MpiLink : public Link {
 public:
  MpiLink(double timeout, int node) : timeout_(timeout) {
    int started = 0;
    MPI_Initialized(&started);
    ensure(!started, "MPI starts once a process");
    int provided = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided));
    if (provided < MPI_THREAD_FUNNELED)
      throw Error(
          "several processes cannot be used\n  missing: an MPI library that programs with threads may call\n"
          "  got:     one without MPI_THREAD_FUNNELED\n  hint:    apt install libopenmpi-dev openmpi-bin");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    number_by_node(node);
    make_operators();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Placement placement() const override { return placement_; }
  std::string name() const override { return "mpi"; }

  int send(int receiver, const std::byte* data, int64_t bytes) override {
    const int handle = free_handle(true, receiver);
    check(MPI_Isend(data, count(bytes), MPI_BYTE, receiver, 0, comm_, &request(handle)));
    return handle;
  }

  int receive(int from, std::byte* data, int64_t bytes) override {
    const int handle = free_handle(false, from);
    check(MPI_Irecv(data, count(bytes), MPI_BYTE, from, 0, comm_, &request(handle)));
    return handle;
  }

  void wait(int handle) override {
    const Message& message = messages_[static_cast<size_t>(handle)];
    finish(request(handle), kMessage, [&] { throw_no_message(rank_, message.other, timeout_, message.sending); });
    free_.push_back(handle);
  }

  bool test(int handle) override {
    int done = 0;
    check(MPI_Test(&request(handle), &done, MPI_STATUS_IGNORE));
    if (interrupted_) throw Error("the communicator was closed");
    if (done) free_.push_back(handle);
    return done;
  }

  void interrupt() override { interrupted_ = true; }
  void close() override {
    check(MPI_Op_free(&sum_bf16_));
    check(MPI_Op_free(&sum_f16_));
    check(MPI_Type_free(&sixteen_bits_));
    check(MPI_Comm_free(&comm_));
    check(MPI_Finalize());
  }

  bool reduces() const override { return true; }
  void all_reduce(std::byte* data, int64_t elements, DType dtype, bool blocking) override {
    const auto [type, sum] = operands(dtype);
    for (int64_t begin = 0; begin < elements; begin += kMost) {
      std::byte* part = data + begin * size_of(dtype);
      const int part_elements = static_cast<int>(std::min(kMost, elements - begin));
      if (blocking) {
        check(MPI_Allreduce(MPI_IN_PLACE, part, part_elements, type, sum, comm_));
        continue;
      }
      MPI_Request reduction;
      check(MPI_Iallreduce(MPI_IN_PLACE, part, part_elements, type, sum, comm_, &reduction));
      finish(reduction, kReduction, [&] {
        throw Error(
            fmt::format("rank {}: the MPI library's all-reduce has been under way for {:g} s", rank_, timeout_));
      });
    }
  }

 private:
  struct Message {
    MPI_Request request = MPI_REQUEST_NULL;
    bool sending = false;
    int other = 0;
  };
  struct Operands {
    MPI_Datatype type;
    MPI_Op sum;
  };
  static constexpr int64_t kMost = 1 << 30;  // greatest number of elements in a call
  // The longest sleeps. That for the library's own all-reduce is shorter: it is many messages, each of which advances
  // only when it is looked at.
  static constexpr std::chrono::microseconds kMessage{500}, kReduction{30};

  static int count(int64_t bytes) {
    if (bytes > INT32_MAX) throw Error(fmt::format("MPI: a message of {} bytes is longer than its limit", bytes));
    return static_cast<int>(bytes);
  }

  // Numbers the ranks node by node, in the order of their first ranks, whatever the launcher did: halving and doubling
  // sends most to the next rank, which is then on the same node.
  void number_by_node(int told) {
    MPI_Comm node;
    int leader = 0;
    if (told >= 0)
      check(MPI_Comm_split(MPI_COMM_WORLD, told, 0, &node));
    else
      check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    check(MPI_Comm_rank(MPI_COMM_WORLD, &leader));
    check(MPI_Bcast(&leader, 1, MPI_INT, 0, node));
    check(MPI_Comm_rank(node, &placement_.local_rank));
    check(MPI_Comm_size(node, &placement_.local_size));
    check(MPI_Comm_free(&node));
    check(MPI_Comm_split(MPI_COMM_WORLD, 0, leader, &comm_));
    check(MPI_Comm_rank(comm_, &rank_));
    check(MPI_Comm_size(comm_, &size_));
    placement_.leader = rank_ - placement_.local_rank;
    const int first = placement_.local_rank == 0 ? 1 : 0;
    check(MPI_Allreduce(&first, &placement_.nodes, 1, MPI_INT, MPI_SUM, comm_));
  }

  void make_operators() {
    check(MPI_Type_contiguous(2, MPI_BYTE, &sixteen_bits_));
    check(MPI_Type_commit(&sixteen_bits_));
    check(MPI_Op_create(sum_operator<DType::bf16>, 1, &sum_bf16_));
    check(MPI_Op_create(sum_operator<DType::f16>, 1, &sum_f16_));
  }

  Operands operands(DType dtype) const {
    switch (dtype) {
      case DType::f64:
        return {MPI_DOUBLE, MPI_SUM};
      case DType::f32:
        return {MPI_FLOAT, MPI_SUM};
      case DType::bf16:
        return {sixteen_bits_, sum_bf16_};
      case DType::f16:
        return {sixteen_bits_, sum_f16_};
      default:
        return {MPI_UINT32_T, MPI_SUM};
    }
  }

  template <class Late>
  void finish(MPI_Request& request, std::chrono::microseconds longest, const Late& late) {
    for (Patience patience(longest);; patience.rest()) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
      if (done) return;
      if (interrupted_) throw Error("the communicator was closed");
      if (patience.waited() > timeout_) late();
    }
  }

  MPI_Request& request(int handle) { return messages_[static_cast<size_t>(handle)].request; }

  int free_handle(bool sending, int other) {
    if (free_.empty()) {
      free_.push_back(static_cast<int>(messages_.size()));
      messages_.emplace_back();
    }
    const int handle = free_.back();
    free_.pop_back();
    messages_[static_cast<size_t>(handle)] = {MPI_REQUEST_NULL, sending, other};
    return handle;
  }

  double timeout_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  Placement placement_;
  MPI_Datatype sixteen_bits_ = MPI_DATATYPE_NULL;
  MPI_Op sum_bf16_ = MPI_OP_NULL, sum_f16_ = MPI_OP_NULL;
  std::vector<Message> messages_;
  std::vector<int> free_;
  std::atomic<bool> interrupted_{false};
};

}  // namespace

}  // namespace kb

extern "C" __attribute__((visibility("default"))) const char* kilobatch_mpi_version() { return kb::build_version(); }

extern "C" __attribute__((visibility("default"))) kb::Link* kilobatch_mpi_link(double timeout, int node) {
  return new kb::MpiLink(timeout, node);
}
