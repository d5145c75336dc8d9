#include "runtime/cuda/cubin.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/error.h"

namespace kb::cuda {
namespace {

constexpr uint16_t kMachineCuda = 190;
constexpr uint8_t kTwoWords = 4;  // format of an attribute: a size, then a symbol and a number
constexpr uint8_t kFrameSize = 0x11, kRegisterCount = 0x2f;
// From this architecture on, a block's section begins with the bytes that the device keeps for itself.
constexpr uint32_t kReserving = 90;
constexpr int64_t kReservedBytes = 1024;
constexpr std::string_view kSharedPrefix = ".nv.shared.";

class Cubin {
 public:
  explicit Cubin(std::string_view bytes) : bytes_(bytes), header_(read<Elf64_Ehdr>(0)) {
    for (uint16_t i = 0; i < header_.e_shnum; ++i)
      sections_.push_back(read<Elf64_Shdr>(header_.e_shoff + i * sizeof(Elf64_Shdr)));
  }

  std::vector<KernelResources> resources() {
    for (const Elf64_Shdr& section : sections_) {
      const std::string_view name = section_name(section);
      if (name == ".nv.info") attributes(section);
    }
    const int64_t reserved = (header_.e_flags >> 8 & 0xff) >= kReserving ? kReservedBytes : 0;
    for (const Elf64_Shdr& section : sections_) {
      const std::string_view name = section_name(section);
      if (section.sh_type != SHT_NOBITS || !name.starts_with(kSharedPrefix)) continue;
      const auto found = kernels_.find(std::string(name.substr(kSharedPrefix.size())));
      if (found != kernels_.end())
        found->second.shared_bytes = std::max<int64_t>(static_cast<int64_t>(section.sh_size) - reserved, 0);
    }
    std::vector<KernelResources> result;
    for (auto& [name, kernel] : kernels_) {
      kernel.name = name;
      result.push_back(kernel);
    }
    return result;
  }

 private:
  template <class T>
  T read(uint64_t offset) const {
    ensure(offset <= bytes_.size() && sizeof(T) <= bytes_.size() - offset, "a cubin that is cut off");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  std::string_view text(const Elf64_Shdr& table, uint32_t at) const {
    const uint64_t offset = table.sh_offset + at;
    ensure(offset < bytes_.size(), "a cubin that is cut off");
    return {bytes_.data() + offset, strnlen(bytes_.data() + offset, bytes_.size() - offset)};
  }
  std::string_view section_name(const Elf64_Shdr& section) const {
    return text(sections_.at(header_.e_shstrndx), section.sh_name);
  }

  std::string_view symbol_name(uint32_t number) const {
    const auto symbols = std::find_if(sections_.begin(), sections_.end(),
                                      [](const Elf64_Shdr& section) { return section.sh_type == SHT_SYMTAB; });
    ensure(symbols != sections_.end(), "a cubin without symbols");
    return text(sections_.at(symbols->sh_link),
                read<Elf64_Sym>(symbols->sh_offset + number * sizeof(Elf64_Sym)).st_name);
  }

  void attributes(const Elf64_Shdr& section) {
    for (uint64_t at = section.sh_offset; at + 4 <= section.sh_offset + section.sh_size;) {
      const auto format = read<uint8_t>(at), attribute = read<uint8_t>(at + 1);
      const auto size = format == kTwoWords ? read<uint16_t>(at + 2) : uint16_t{0};
      if (size >= 8 && (attribute == kFrameSize || attribute == kRegisterCount)) {
        KernelResources& kernel = kernels_[std::string(symbol_name(read<uint32_t>(at + 4)))];
        (attribute == kFrameSize ? kernel.local_bytes : kernel.registers) = read<uint32_t>(at + 8);
      }
      at += 4 + size;
    }
  }

  std::string_view bytes_;
  Elf64_Ehdr header_;
  std::vector<Elf64_Shdr> sections_;
  std::map<std::string, KernelResources> kernels_;
};

}  // namespace

bool is_cubin(std::string_view image) {
  Elf64_Ehdr header;
  if (image.size() < sizeof header) return false;
  std::memcpy(&header, image.data(), sizeof header);
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachineCuda;
}

std::vector<KernelResources> kernel_resources(std::string_view cubin) {
  ensure(is_cubin(cubin), "an image that is no cubin");
  return Cubin(cubin).resources();
}

}  // namespace kb::cuda
