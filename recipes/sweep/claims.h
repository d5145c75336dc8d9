// Claims of trials: which process of a sweep runs which, where several processes, on whatever machines, share a store.
//
// A claim is a file, claims/NAME.1, made with O_EXCL, so that one process alone has made it; it says for how long it
// holds, from its modification time on: renewed as long as the trial runs, it is a lease. Where a lease has run out, or
// its process has died, the next process makes NAME.2: the highest number owns the trial. Ages are differences of times
// of files that the same file system gave, so that no machine's clock matters; where such a time is of no use, as of a
// claim dated ahead, a claim has run out once its time has stood still for a lease. No lock is used, which file systems
// may lack. Claims may be another user's: links are not followed, and nothing waits for what is no file.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace kb {

// A trial that this process has taken. A thread of its own renews the lease, four times in its length, as long as it
// lives; in the end it gives the trial back.
class Claim {
 public:
  // `file`: the claim that this process has made; `next`: the one that would take it over.
  Claim(std::filesystem::path file, std::filesystem::path next, std::chrono::milliseconds lease);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // True once another process has taken the trial over, as this one was not heard of for the length of a lease, or may
  // have: this one, or the machine, stood still for more than three quarters of it.
  bool is_lost() const { return is_lost_; }

 private:
  void renew_until(const std::stop_token& stop);

  const std::filesystem::path file_, next_;
  const std::chrono::milliseconds lease_;
  std::chrono::nanoseconds renewed_;  // when, since the machine's start
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last: it uses the others
};

// Leases of claims: a shorter one would be renewed, and taken over, at every hiccup of a file system; a longer one
// outlasts whoever waits for it.
inline constexpr std::chrono::milliseconds kShortestLease = std::chrono::seconds(1),
                                           kLongestLease = std::chrono::hours(24);

class ClaimFolder {
 public:
  // Makes the folder where it is not there. Throws Error where it cannot. `lease`: of the claims that are taken here;
  // those of others hold as long as they say themselves, within the bounds, and as long as this one where they do not.
  ClaimFolder(std::filesystem::path folder, std::chrono::milliseconds lease);
  ~ClaimFolder();
  ClaimFolder(const ClaimFolder&) = delete;
  ClaimFolder& operator=(const ClaimFolder&) = delete;

  // Takes the trial; null where another process has it. Throws Error where no claim can be written.
  std::unique_ptr<Claim> take(const std::string& name);
  // Returns the host of the process that claimed the trial last; empty where its claim does not say.
  std::string holder(const std::string& name) const;

 private:
  // A claim's time, and since when, by the machine's uptime, it has stood still.
  struct Watch {
    std::chrono::nanoseconds modified, since;
  };

  std::filesystem::path file_of(const std::string& name, int generation) const;
  int newest(const std::string& name) const;
  bool is_held(const std::filesystem::path& file);

  const std::filesystem::path folder_;
  const std::chrono::milliseconds lease_;
  const int clock_;  // descriptor of a file without a name, of this process alone, whose time is the file system's
  std::map<std::filesystem::path, Watch> watched_;
};

}  // namespace kb
