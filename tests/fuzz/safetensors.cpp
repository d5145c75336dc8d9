// Fuzzes the reader of safetensors files. A file that is accepted is written again, and the copy must have the same
// metadata and as many tensors.
#include "runtime/safetensors.h"

#include "graph/error.h"
#include "tests/fuzz/target.h"

namespace kb::fuzz::safetensors_target {

KB_FUZZ_TARGET(safetensors) {
  static const MemoryFile file, again;
  file.write(text_of(data, size));
  SafetensorsFile first;
  try {
    first = read_safetensors(file.path());
  } catch (const Error&) {
    return;
  }
  const std::vector<TensorView> views = views_of(first.tensors);
  std::string written = safetensors_header(views, first.metadata);
  for (const NamedTensor& tensor : first.tensors)
    written.append(reinterpret_cast<const char*>(tensor.data.data()), tensor.data.size());
  again.write(written);
  const SafetensorsFile second = read_safetensors(again.path());
  require(second.metadata == first.metadata, "the same metadata");
  require(second.tensors.size() == first.tensors.size(), "as many tensors");
  size_t bytes = 0;
  for (const NamedTensor& tensor : second.tensors) bytes += tensor.data.size();
  require(bytes <= size, "no more bytes than the file has");
}

}  // namespace kb::fuzz::safetensors_target
