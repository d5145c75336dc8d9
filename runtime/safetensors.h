// Tensors in files, in the safetensors format: eight bytes of header length (little endian), a JSON header with dtype,
// shape and byte range of each tensor, then the bytes, in the header's order and without gaps. The header is padded
// with spaces so that the bytes begin at a multiple of eight.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/state_store.h"

namespace kb {

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // "__metadata__"
};

// The file's bytes before the tensors' own. Throws Error on two tensors of one name.
std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata = {});

// Written under a temporary name and renamed.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Throws Error, with the path, what was expected and what was got, for every malformed file.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
// The same from the file's bytes; `path` is for the complaints.
SafetensorsFile parse_safetensors(const std::filesystem::path& path, const std::string& bytes);

}  // namespace kb
