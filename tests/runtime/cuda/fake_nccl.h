// NCCL for tests: its ranks are threads of this process, each with a fake GPU of its own. A message travels when the
// sender's stream comes to it; a stream that receives stands still until the message has come. Misuse throws
// DriverFault, or is noted in `faults`.
#pragma once
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "runtime/cuda/nccl.h"
#include "tests/runtime/cuda/fake_gpu.h"

namespace kb::test {

class FakeNccl {
 public:
  // Only one may live at a time, because the functions of a table know no object. It must outlive the ranks' GPUs.
  explicit FakeNccl(int version = 22809);
  ~FakeNccl();
  FakeNccl(const FakeNccl&) = delete;
  FakeNccl& operator=(const FakeNccl&) = delete;

  std::unique_ptr<cuda::Nccl> table();
  // Makes a rank look like a process that has died: work that waits for it never ends, and its communicator says so.
  void kill(int rank);
  // Makes a send of a rank fail: the one with this number from now on (0: the next).
  void fail_send(int rank, int number);
  // Returns the calls of a rank in their order: "send 64 to 1", "all-reduce 16 f32".
  std::vector<std::string> calls(int rank);
  std::vector<std::string> faults();

 private:
  struct Table;
  struct Letter {
    std::string kind;  // kind of the call, and whether it was captured
    std::vector<std::byte> bytes;
  };
  struct Part {
    bool sends = false;
    std::byte* data = nullptr;
    size_t bytes = 0;
    int peer = 0;
    bool is_done = false;
  };
  struct Pending {  // calls of a group that has not ended
    int depth = 0;
    ncclComm* comm = nullptr;
    cuda::Stream stream = nullptr;
    std::vector<Part> parts;
  };

  ncclComm* join(const std::string& id, int ranks, int rank);
  void call(ncclComm& comm, cuda::Stream stream, const Part& part);
  void submit(Pending group);
  void run(ncclComm& comm, const std::string& kind, std::vector<Part>& parts);
  void submit_sum(ncclComm& comm, cuda::Stream stream, const void* from, void* to, size_t count, DType dtype);
  void post(int from, int to, Letter letter);
  // Throws NotYet.
  std::vector<std::byte> take(ncclComm& comm, int from, const std::string& kind, size_t bytes);
  void note(int rank, std::string call);
  bool fails(int rank);
  void leave(ncclComm& comm, bool aborts);

  static thread_local Pending pending_;
  const int version_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  int groups_ = 0;
  std::map<std::string, int> present_;  // number of ranks that have joined, keyed by group
  std::deque<ncclComm> comms_;
  std::map<std::pair<int, int>, std::deque<Letter>> letters_;  // keyed by (from, to)
  std::set<int> dead_;
  std::map<int, int> failing_;  // number of sends that succeed before one fails, keyed by rank
  std::map<int, std::vector<std::string>> calls_;
  std::vector<std::string> faults_;
};

}  // namespace kb::test
