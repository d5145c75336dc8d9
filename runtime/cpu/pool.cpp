#include "runtime/cpu/pool.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>
#include <utility>

#include "graph/error.h"
#include "runtime/threads.h"
#include "runtime/usable_processors.h"

namespace kb {

namespace {

// This bit of the gate is set while threads may enter a job; the bits below it count the threads inside.
constexpr uint32_t kOpen = 1u << 31;
// The time that a thread spins before it sleeps. It is longer than the serial gap between two steps of a schedule, and
// short against the milliseconds for which a busy machine takes a processor away.
constexpr std::chrono::microseconds kSpin{40};
// Number of chunks that a worker's share is cut into: other workers take the rest if a worker loses its processor.
constexpr int64_t kChunks = 8;
// Number of threads that are left to others when the system has reached its limit: a compiler is up to four processes.
constexpr int kSpare = 6;

void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until done() or for kSpin; returns whether it was done.
template <class F>
bool spin(F done) {
  const auto limit = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < limit);
  return done();
}

constexpr auto kNothing = [](int64_t, int64_t, int) {};

}  // namespace

Pool::Pool(int threads)
    : asked_(threads < 1 ? usable_processors() : threads), cursors_(static_cast<size_t>(asked_)), body_(kNothing) {
  const NoSignals block;  // signals are for the program's threads and never for a worker
  // If the system refuses a thread, the pool takes kSpare fewer than it got: other threads and compilers need some too.
  for (int count = asked_ - 1; !start(count);) count = static_cast<int>(workers_.size()) - kSpare;
}

Pool::~Pool() { stop(); }

bool Pool::start(int count) try {
  stop_.store(false);
  workers_.clear();
  for (int worker = 1; worker <= count; ++worker) workers_.emplace_back([this, worker] { serve(worker); });
  return true;
} catch (const std::system_error& error) {
  stop();
  if (error.code() != std::errc::resource_unavailable_try_again) throw;
  return false;
} catch (...) {
  stop();
  throw;
}

void Pool::stop() {
  stop_.store(true);
  epoch_.fetch_add(1);
  futex_wake(epoch_, INT_MAX);
  for (std::thread& worker : workers_) worker.join();
}

void Pool::parallel(int64_t tiles, TileBody body) {
  if (tiles <= 0) return;
  ensure(!busy_.exchange(true), "Pool::parallel was called while a job of the same pool was running");
  struct Idle {
    std::atomic<bool>& busy;
    ~Idle() { busy.store(false); }
  } idle{busy_};
  if (tiles == 1 || workers_.empty()) return body(0, tiles, 0);

  const int64_t count = threads();
  body_ = body;
  chunk_ = std::max<int64_t>(1, tiles / (count * kChunks));
  for (int64_t i = 0; i < count; ++i) {
    cursors_[i].next.store(tiles * i / count, std::memory_order_relaxed);
    cursors_[i].end = tiles * (i + 1) / count;
  }
  gate_.store(kOpen | 1);
  epoch_.fetch_add(1);
  // A worker adds itself to sleepers_ before it reads the epoch for the last time, so either it sees the new epoch or
  // it is seen here.
  if (sleepers_.load() > 0) futex_wake(epoch_, static_cast<int>(std::min(count, tiles)) - 1);
  work(0);
  wait_for_workers();
  if (failed_.load()) {
    failed_.store(false);
    std::rethrow_exception(std::exchange(failure_, nullptr));
  }
}

void Pool::work(int worker) try {
  const int count = threads();
  for (int i = 0; i < count; ++i) {
    Cursor& share = cursors_[(worker + i) % count];
    while (true) {
      const int64_t begin = share.next.fetch_add(chunk_, std::memory_order_relaxed);
      if (begin >= share.end) break;
      body_(begin, std::min(begin + chunk_, share.end), worker);
    }
  }
} catch (...) {
  cancel(std::current_exception());
}

void Pool::cancel(std::exception_ptr failure) {
  if (!failed_.exchange(true)) failure_ = std::move(failure);
  for (Cursor& share : cursors_) share.next.store(share.end, std::memory_order_relaxed);
}

bool Pool::enter() {
  uint32_t gate = gate_.load();
  while (gate & kOpen) {
    if (gate_.compare_exchange_weak(gate, gate + 1)) return true;
  }
  return false;
}

void Pool::leave() {
  // The caller waits only after it has closed the gate, so the last thread that leaves a closed gate wakes it.
  if (gate_.fetch_sub(1) == 1) futex_wake(gate_, 1);
}

void Pool::serve(int worker) {
  uint32_t seen = 0;
  while (true) {
    wait_for_job(seen);
    seen = epoch_.load();
    if (stop_.load()) return;
    if (!enter()) continue;
    work(worker);
    leave();
  }
}

void Pool::wait_for_job(uint32_t seen) {
  const auto changed = [&] { return epoch_.load(std::memory_order_acquire) != seen; };
  if (spin(changed)) return;
  sleepers_.fetch_add(1);
  while (epoch_.load() == seen) futex_wait(epoch_, seen);
  sleepers_.fetch_sub(1);
}

void Pool::wait_for_workers() {
  uint32_t inside = gate_.fetch_sub(kOpen | 1) - (kOpen | 1);
  if (inside == 0 || spin([&] { return gate_.load(std::memory_order_acquire) == 0; })) return;
  while ((inside = gate_.load()) != 0) futex_wait(gate_, inside);
}

}  // namespace kb
