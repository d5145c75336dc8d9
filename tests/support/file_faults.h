// These classes imitate file systems and moments that a test cannot bring about: calls of the system that fail, are
// interrupted, or do a part of their work. One object of a class exists at a time.
#pragma once
#include <cstddef>

namespace kb::test {

// While it lives, link() and renameat2() fail with these error numbers, as on a file system that does not have them;
// with 0 they work.
struct Lacking {
  Lacking(int no_link, int no_rename);
  ~Lacking();
  Lacking(const Lacking&) = delete;
  Lacking& operator=(const Lacking&) = delete;
};

// While it lives, fsync() of a folder fails with this error number.
struct FlushFault {
  explicit FlushFault(int number);
  ~FlushFault();
  FlushFault(const FlushFault&) = delete;
  FlushFault& operator=(const FlushFault&) = delete;
};

// Counts the files and the folders that were flushed to the disk since it was made.
class Flushes {
 public:
  Flushes();
  int files() const;
  int folders() const;

 private:
  int files_, folders_;
};

// While it lives, a signal interrupts every second call of pread(), pwrite() and write(), and the others transfer at
// most `most` bytes.
struct Stutter {
  explicit Stutter(size_t most);
  ~Stutter();
  Stutter(const Stutter&) = delete;
  Stutter& operator=(const Stutter&) = delete;
};

}  // namespace kb::test
