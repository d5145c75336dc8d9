// Tensors in files, in the safetensors format: eight bytes of header length (little endian), a JSON header with dtype,
// shape and byte range of each tensor, then the bytes, in the header's order and without gaps. The header is padded
// with spaces so that the bytes begin at a multiple of eight.
#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/input_file.h"
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

// Throws Error, with the path, what was expected and what was got, for every malformed file. Memory is taken for
// tensors only when the header accounts for every byte of the file.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
SafetensorsFile read_safetensors(const InputFile& file);

}  // namespace kb
