// Fuzzes the reader of checkpoints. Bit 0 of the first byte puts the right hash of the header into the file, bit 1 that
// of the tensors, so that the code after the checks of the hashes is reached.
#include "runtime/checkpoint.h"

#include "graph/error.h"
#include "recipes/papers/table.h"
#include "recipes/run/resume.h"
#include "runtime/safetensors.h"
#include "runtime/sha256.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::checkpoint_target {
namespace {

constexpr size_t kHashDigits = 64;

// Overwrites the value of a metadata key in the header; does nothing if the header has no such key.
void patch(std::string& file, const char* key, const std::string& hash) {
  const std::string mark = '"' + std::string(key) + "\":\"";
  const size_t at = file.find(mark);
  if (at != std::string::npos && at + mark.size() + kHashDigits <= file.size())
    file.replace(at + mark.size(), kHashDigits, hash);
}

void repair_state(std::string& file, const MemoryFile& scratch) {
  scratch.write(file);
  try {
    const SafetensorsFile read = read_safetensors(scratch.path());
    patch(file, "state_sha256", state_sha256(views_of(read.tensors)));
  } catch (const Error&) {
  }
}

void repair_header(std::string& file) {
  uint64_t length = 0;
  for (size_t i = 0; i < 8 && file.size() >= 8; ++i) length |= uint64_t{static_cast<unsigned char>(file[i])} << (8 * i);
  if (file.size() < 8 || length > file.size() - 8) return;
  patch(file, "header_sha256", std::string(kHashDigits, '0'));
  patch(file, "header_sha256", sha256_hex(std::string_view(file).substr(0, 8 + length)));
}

}  // namespace

KB_FUZZ_TARGET(checkpoint) {
  static const MemoryFile input, scratch;
  static const Recipe recipe = lenet_mnist();
  static const std::map<std::string, std::string> facts = {
      {"kilobatch_checkpoint", "2"}, {"recipe", "r"},     {"data", "d"},
      {"flags", "--a\n--b\n"},       {"graph_hash", "h"}, {"graph", "one\ntwo\n"}};
  Steering steering(data, size);
  const uint8_t repairs = steering.byte();
  std::string file(steering.rest());
  if (repairs & 2) repair_state(file, scratch);
  if (repairs & 1) repair_header(file);
  input.write(file);
  try {
    const Checkpoint checkpoint = read_checkpoint(input.path());
    require(model_tensors(checkpoint).size() <= checkpoint.tensors.size(), "a model within the checkpoint");
    check_belongs(recipe, checkpoint, facts);
  } catch (const Error&) {
  }
}

}  // namespace kb::fuzz::checkpoint_target
