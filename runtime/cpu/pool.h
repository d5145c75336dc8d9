// The threads of the CPU backend. A Pool runs one job at a time: `parallel(tiles, body)` splits the range [0, tiles)
// over the workers, of which the calling thread is one, and returns when every tile is done. A worker spins for a short
// time after a job and then sleeps. A job never waits for a worker that the system has not scheduled.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace kb {

// A view of a callable `void(int64_t begin, int64_t end, int worker)`, which must outlive the call that takes it.
class TileBody {
 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, TileBody>)
      TileBody(F&& body)  // NOLINT: implicit, so that a lambda can be written in place
      : object_(const_cast<void*>(static_cast<const void*>(&body))),
        call_([](void* object, int64_t begin, int64_t end, int worker) {
          (*static_cast<std::remove_reference_t<F>*>(object))(begin, end, worker);
        }) {}
  void operator()(int64_t begin, int64_t end, int worker) const { call_(object_, begin, end, worker); }

 private:
  void* object_;
  void (*call_)(void*, int64_t, int64_t, int);
};

class Pool {
 public:
  // Starts `threads` - 1 threads, or fewer if the system makes no more. `threads` < 1 means one thread for each
  // processor that this process may use.
  explicit Pool(int threads = 0);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Returns the number of workers, the caller included; the `worker` that a body gets is in [0, threads()).
  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  // Returns the number of workers that were wanted; it exceeds threads() if the system made no more.
  int asked() const { return asked_; }

  // Runs `body` on disjoint ranges that cover [0, tiles). Each worker starts with a contiguous share, in a few chunks,
  // and then helps with the shares of others. Which worker gets a tile is thus not fixed, and a body's result must not
  // depend on it. The first exception of a body reaches the caller after all workers have left the job; chunks that
  // were not begun by then are skipped. It allocates nothing, has one caller at a time, and must not be called from a
  // body.
  void parallel(int64_t tiles, TileBody body);

 private:
  // The part of [0, tiles) that one worker starts with; any worker may take the next chunk of it.
  struct alignas(64) Cursor {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  bool start(int count);  // false: the system makes no more threads, and workers_ has those that it made, ended
  void stop();
  void work(int worker);
  void serve(int worker);
  bool enter();
  void leave();
  void wait_for_job(uint32_t seen);
  void wait_for_workers();
  void cancel(std::exception_ptr failure);

  int asked_;
  std::vector<Cursor> cursors_;
  std::vector<std::thread> workers_;
  TileBody body_;
  int64_t chunk_ = 1;
  std::exception_ptr failure_;
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
  std::atomic<bool> busy_{false};               // a call of parallel() is running
  alignas(64) std::atomic<uint32_t> epoch_{0};  // number of jobs; sleeping workers wait for it to change
  alignas(64) std::atomic<uint32_t> gate_{0};   // kOpen, and the number of threads inside the job
  alignas(64) std::atomic<int32_t> sleepers_{0};
};

}  // namespace kb
