// Tensors in files, in the safetensors format: eight bytes with the length of the header (little endian), a JSON header
// with dtype, shape and byte range of each tensor, then the bytes, in the header's order and without gaps. Spaces pad
// the header so that the bytes begin at a multiple of eight.
#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/input_file.h"
#include "runtime/state_store.h"

namespace kb {

inline constexpr size_t kMaxSafetensorsHeader = 100'000'000;  // bytes; the bound that the format sets

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;             // in the order of their bytes
  std::map<std::string, std::string> metadata;  // the header's "__metadata__"
};

// Returns all bytes of the file before the tensors' own. Throws Error when two tensors have one name.
std::string safetensors_header(std::span<const TensorView> tensors,
                               const std::map<std::string, std::string>& metadata = {});

// Writes the file under a temporary name and renames it.
void write_safetensors(const std::filesystem::path& path, std::span<const TensorView> tensors,
                       const std::map<std::string, std::string>& metadata = {});

// Reads a file. Throws Error, with the path, what was expected and what was found, when it is malformed. Memory for
// tensors is taken only if the header accounts for every byte of the file.
SafetensorsFile read_safetensors(const std::filesystem::path& path);
SafetensorsFile read_safetensors(const InputFile& file);

}  // namespace kb
