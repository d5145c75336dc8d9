#include "runtime/cuda/nvrtc_compiler.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/stopwatch.h"
#include "graph/error.h"
#include "runtime/atomic_file.h"
#include "runtime/cuda/cubin.h"
#include "runtime/file_error.h"
#include "runtime/kernel_units.h"
#include "runtime/temporary_folder.h"
#include "runtime/threads.h"

namespace kb::cuda {
namespace {

namespace fs = std::filesystem;

// A program takes a fixed time beside that of its kernels, and the last one should not take long.
constexpr size_t kProgramsPerJob = 3, kLeastKernels = 4;

std::string with_blocks(std::string text, const std::string& blocks) {
  const std::string bounds = "__launch_bounds__(";
  const size_t at = text.find(bounds);
  if (at == std::string::npos || blocks.empty()) return text;
  const size_t end = text.find(')', at), comma = std::min(text.find(',', at), end);
  return text.replace(comma, end - comma, blocks);
}

class NvrtcCompiler : public Compiler {
 public:
  NvrtcCompiler(Nvrtc nvrtc, int arch, fs::path cache_dir, int jobs, std::span<const SpillAttempt> attempts)
      : nvrtc_(std::move(nvrtc)),
        arch_(arch),
        target_(choose_nvrtc_target(nvrtc_, arch)),
        cache_dir_(std::move(cache_dir)),
        jobs_(static_cast<size_t>(std::max(jobs, 1))),
        attempts_(attempts.begin(), attempts.end()) {}

  std::string name() const override { return fmt::format("NVRTC {}.{}, sm_{}", nvrtc_.major, nvrtc_.minor, arch_); }
  CompiledImages compile(const KernelBatch& batch) override;

 private:
  // Returns the option that names an entry's architecture, which enters every key.
  std::string processor() const { return target_.option; }
  std::string version() const { return fmt::format("NVRTC {}.{}", nvrtc_.major, nvrtc_.minor); }
  std::string how() const;
  fs::path entry_path(const std::string& key) const { return cache_dir_ / (key + std::string(kDeviceSuffix)); }

  WantedKernels read_cache(const WantedKernels& wanted, CompiledImages& result) const;
  std::vector<Image> build(const KernelBatch& batch, const std::vector<KernelUnit>& units) const;
  Image build_unit(const KernelBatch& batch, const KernelUnit& unit) const;
  // Returns the image of the first attempt with which the kernel does not spill registers; empty if there is none.
  std::string without_spills(const KernelBatch& batch, const std::string& key, const KernelSource& kernel) const;
  // Recompiles kernels that spill registers; one that then does not spill moves into a unit of its own.
  void mend_spills(const KernelBatch& batch, std::vector<KernelUnit>& units, std::vector<Image>& images) const;
  [[noreturn]] void report_failure(const std::string& text, const KernelUnit& unit, const std::string& log) const;
  void keep(const KernelUnit& unit, const Image& image) const;

  Nvrtc nvrtc_;
  int arch_;
  NvrtcTarget target_;
  fs::path cache_dir_;
  size_t jobs_;
  std::vector<SpillAttempt> attempts_;
};

// Returns the options, and the attempts for kernels that spill.
std::string NvrtcCompiler::how() const {
  std::string text = fmt::format("{}", fmt::join(nvrtc_options(), "\n"));
  for (const SpillAttempt& attempt : attempts_) text += fmt::format("\nspills: {}{}", attempt.option, attempt.blocks);
  return text;
}

CompiledImages NvrtcCompiler::compile(const KernelBatch& batch) {
  const Stopwatch watch;
  CompiledImages result;
  if (!target_.message.empty()) result.warnings.push_back(target_.message);
  std::vector<std::string> keys;
  const Sha256 hash = batch_hash(batch, {version(), processor(), how()});
  const WantedKernels wanted = distinct_kernels(batch, hash, keys);
  const WantedKernels missing = read_cache(wanted, result);
  const size_t most = std::max<size_t>(missing.size() / kLeastKernels, jobs_);
  std::vector<KernelUnit> units = split_kernels(missing, std::min(most, jobs_ * kProgramsPerJob));
  std::vector<Image> built = build(batch, units);
  mend_spills(batch, units, built);
  std::string not_kept;
  for (size_t i = 0; i < units.size(); ++i) {
    try {
      keep(units[i], built[i]);
    } catch (const Error& error) {
      not_kept = error.what();
    }
    result.images.push_back(std::move(built[i]));
  }
  if (!not_kept.empty()) result.warnings.push_back("kernels are not kept: " + not_kept);
  result.cache_hits = static_cast<int64_t>(wanted.size() - missing.size());
  result.compiled = static_cast<int64_t>(missing.size());
  result.jit_milliseconds = watch.milliseconds();
  return result;
}

// Loads the images of the kernels that the cache has, and returns the kernels that must be compiled. Kernels that were
// compiled together share an image, so a kernel is often in an image that is loaded already.
WantedKernels NvrtcCompiler::read_cache(const WantedKernels& wanted, CompiledImages& result) const {
  if (cache_dir_.empty()) return wanted;
  WantedKernels missing;
  EntryReader reader(cache_dir_, kDeviceSuffix, processor());
  std::map<const EntryReader::Entry*, size_t> images;
  for (const auto& [key, kernel] : wanted) {
    const EntryReader::Entry* entry = reader.find(key);
    if (!entry) {
      missing.emplace(key, kernel);
      continue;
    }
    const auto [at, is_new] = images.try_emplace(entry, result.images.size());
    if (is_new) result.images.push_back({entry->image, {}});
    result.images[at->second].names.push_back(kernel->name);
  }
  if (const std::string warning = reader.warning(); !warning.empty()) result.warnings.push_back(warning);
  return missing;
}

std::vector<Image> NvrtcCompiler::build(const KernelBatch& batch, const std::vector<KernelUnit>& units) const {
  std::vector<Image> images(units.size());
  run_side_by_side(units.size(), jobs_, [&](size_t i) { images[i] = build_unit(batch, units[i]); });
  return images;
}

Image NvrtcCompiler::build_unit(const KernelBatch& batch, const KernelUnit& unit) const {
  const std::string text = unit_text(batch, unit);
  NvrtcResult result = run_nvrtc(nvrtc_, target_, text);
  if (result.image.empty()) report_failure(text, unit, result.log);
  Image image{std::move(result.image), {}};
  for (const auto& [key, kernel] : unit.kernels) image.names.push_back(kernel->name);
  return image;
}

bool spills(const std::string& image, const std::string& name) {
  for (const KernelResources& kernel : kernel_resources(image))
    if (kernel.name == name && kernel.local_bytes > 0) return true;
  return false;
}

std::string NvrtcCompiler::without_spills(const KernelBatch& batch, const std::string& key,
                                          const KernelSource& kernel) const {
  for (const SpillAttempt& attempt : attempts_) {
    const KernelSource changed{kernel.name, with_blocks(kernel.text, attempt.blocks)};
    NvrtcResult result = run_nvrtc(nvrtc_, target_, unit_text(batch, {{{key, &changed}}, 0}), attempt.option);
    if (!result.image.empty() && !spills(result.image, kernel.name)) return std::move(result.image);
  }
  return "";
}

void NvrtcCompiler::mend_spills(const KernelBatch& batch, std::vector<KernelUnit>& units,
                                std::vector<Image>& images) const {
  for (size_t i = units.size(); i-- > 0;) {
    if (!is_cubin(images[i].data)) continue;
    for (const KernelResources& kernel : kernel_resources(images[i].data)) {
      const auto at = std::find_if(units[i].kernels.begin(), units[i].kernels.end(),
                                   [&](const auto& k) { return k.second->name == kernel.name; });
      if (kernel.local_bytes == 0 || at == units[i].kernels.end()) continue;
      const auto [key, source] = *at;
      std::string image = without_spills(batch, key, *source);
      if (image.empty()) continue;
      units[i].kernels.erase(at);
      std::erase(images[i].names, kernel.name);
      units.push_back({{{key, source}}, 0});
      images.push_back({std::move(image), {kernel.name}});
    }
    if (!units[i].kernels.empty()) continue;
    units.erase(units.begin() + static_cast<std::ptrdiff_t>(i));
    images.erase(images.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void NvrtcCompiler::report_failure(const std::string& text, const KernelUnit& unit, const std::string& log) const {
  const fs::path parent = cache_dir_.empty() ? temporary_parent() : cache_dir_;
  const fs::path kept = parent / fmt::format("{}{}.cu", kFailedPrefix, sha256_hex(text).substr(0, 16));
  std::string where = kept.string();
  std::error_code ignored;
  fs::create_directories(parent, ignored);
  try {
    write_file_atomically(kept, text);
  } catch (const Error& error) {
    where = fmt::format("not kept ({})", error.what());
  }
  throw InternalError(fmt::format("{} refuses kernel {}:\n{}\nits text: {}; options: {} {}", name(),
                                  blamed_kernel(unit, log), log, where, target_.option,
                                  fmt::join(nvrtc_options(), " ")));
}

void NvrtcCompiler::keep(const KernelUnit& unit, const Image& image) const {
  if (cache_dir_.empty()) return;
  if (const int error = make_private_folder(cache_dir_)) throw_file_error("make the folder", cache_dir_, error);
  if (const TrustedFolder folder(cache_dir_); !folder.refusal().empty())
    throw Error(
        fmt::format("kernel cache {}: {} (choose another with KB_CACHE)", cache_dir_.string(), folder.refusal()));
  const std::vector<std::string> keys = sorted_keys(unit);
  const KernelEntry entry{.processor = processor(), .compiler = version(), .keys = keys};
  write_file_atomically(entry_path(keys[0]), image.data + make_trailer(image.data, entry), kEntryMode);
  for (size_t i = 1; i < keys.size(); ++i) publish(entry_path(keys[0]), entry_path(keys[i]));
}

}  // namespace

std::unique_ptr<Compiler> make_nvrtc_compiler(Nvrtc nvrtc, int arch, fs::path cache_dir, int jobs,
                                              std::span<const SpillAttempt> attempts) {
  return std::make_unique<NvrtcCompiler>(std::move(nvrtc), arch, std::move(cache_dir), jobs, attempts);
}

}  // namespace kb::cuda
