// Fuzzes the reader of a kernel cache entry. If bit 0 of the first byte is set, the file's last 32 bytes are replaced
// by the right SHA-256, so that the code after the check of the hash is reached.
#include "runtime/kernel_entry.h"
#include "runtime/sha256.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::cache_target {

KB_FUZZ_TARGET(cache) {
  constexpr size_t kDigest = 32;
  Steering steering(data, size);
  const bool repair = steering.byte() & 1;
  std::string file(steering.rest());
  if (repair && file.size() >= kDigest) {
    Sha256 hash;
    hash.update(std::string_view(file).substr(0, file.size() - kDigest));
    const Sha256::Digest digest = hash.digest();
    std::copy(digest.begin(), digest.end(), file.end() - kDigest);
  }
  const CheckedEntry checked = check_entry(file);
  if (!checked.damage.empty()) return;
  require(checked.image_bytes < file.size(), "an image within the file");
  const std::string_view image = std::string_view(file).substr(0, checked.image_bytes);
  const CheckedEntry again = check_entry(std::string(image) + make_trailer(image, checked.entry));
  require(again.damage.empty() && again.entry.keys == checked.entry.keys, "the same kernels when written again");
}

}  // namespace kb::fuzz::cache_target
