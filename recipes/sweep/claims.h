// Claims of trials: they settle which process of a sweep runs which trial if several processes, on any machines, share
// a store.
//
// A claim is a file, claims/NAME.1, which is made with O_EXCL, so that only one process can make it. It says for how
// long it holds after its modification time, which is renewed as long as the trial runs: it is a lease. Once a lease
// has run out, or its process has died, the next process makes NAME.2: the highest number owns the trial. An age is the
// difference between two times that the same file system gave, so that no machine's clock matters. If the age is
// useless, for instance because a claim is dated ahead, a claim has run out once its time has stood still for the
// length of a lease. No locks are used, since file systems may lack them. A claim may belong to another user: links are
// not followed, and a name that is no regular file is never waited for.
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

// A trial that this process has taken. While the object lives, a thread renews the lease, four times in its length; the
// destructor gives the trial back.
class Claim {
 public:
  // `file`: the claim that this process has made. `next`: the claim by which another process would take the trial over.
  Claim(std::filesystem::path file, std::filesystem::path next, std::chrono::milliseconds lease);
  ~Claim();
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  // Returns true once another process has taken the trial over, or may have: this process or its machine stood still
  // for more than three quarters of the lease, or the lease cannot be renewed.
  bool is_lost() const { return is_lost_; }

 private:
  void renew_until(const std::stop_token& stop);

  const std::filesystem::path file_, next_;
  const std::chrono::milliseconds lease_;
  std::chrono::nanoseconds renewed_;  // time of the last renewal, since the machine's start
  std::atomic<bool> is_lost_ = false;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;  // last member, since it uses the others
};

// Bounds of a lease. A shorter one would run out at every hiccup of a file system; with a longer one the trial of a
// process that died would stay blocked for too long.
inline constexpr std::chrono::milliseconds kShortestLease = std::chrono::seconds(1),
                                           kLongestLease = std::chrono::hours(24);

class ClaimFolder {
 public:
  // Makes the folder if it does not exist. Throws Error if it cannot. `lease`: length of the claims that are taken
  // here; the claims of others hold as long as they say, or for this length if they say none within the bounds.
  ClaimFolder(std::filesystem::path folder, std::chrono::milliseconds lease);
  ~ClaimFolder();
  ClaimFolder(const ClaimFolder&) = delete;
  ClaimFolder& operator=(const ClaimFolder&) = delete;

  // Takes the trial; returns null if another process has it. Throws Error if no claim can be written.
  std::unique_ptr<Claim> take(const std::string& name);
  // Returns the host of the process that claimed the trial last; "" if its claim does not tell.
  std::string holder(const std::string& name) const;

 private:
  // A claim's modification time, and the machine's uptime since which it has stood still.
  struct Watch {
    std::chrono::nanoseconds modified, since;
  };

  std::filesystem::path file_of(const std::string& name, int generation) const;
  int newest(const std::string& name) const;
  bool is_held(const std::filesystem::path& file);

  const std::filesystem::path folder_;
  const std::chrono::milliseconds lease_;
  int clock_ = -1;  // descriptor of an unnamed file of this process, whose times tell the file system's time
  std::map<std::filesystem::path, Watch> watched_;
};

}  // namespace kb
