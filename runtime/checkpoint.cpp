#include "runtime/checkpoint.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <set>
#include <string_view>

#include "compiler/passes/loss_scale.h"
#include "graph/error.h"
#include "graph/parsed_number.h"
#include "runtime/atomic_file.h"
#include "runtime/file_error.h"
#include "runtime/finite.h"
#include "runtime/input_file.h"
#include "runtime/safetensors.h"
#include "runtime/sha256.h"

namespace kb {
namespace {

namespace fs = std::filesystem;

// Metadata whose values change from save to save. Each has its full width from the start, so that the header is made
// once and these values are written over.
constexpr const char* kStep = "step";
constexpr const char* kSamples = "samples";
constexpr const char* kSchedule = "schedule_sha256";
constexpr const char* kState = "state_sha256";
constexpr const char* kHeader = "header_sha256";
constexpr size_t kNumberDigits = 16, kHashDigits = 64;
constexpr const char* kBytes = "tensor_bytes";
// The beginnings of the names of slots and of copies of the parameters, which the name of a parameter follows:
// "outer.velocity,replica.0,replica.0.velocity,velocity".
constexpr const char* kSlots = "slots";

constexpr const char* kPrefix = "step-";
constexpr const char* kSuffix = ".safetensors";

fs::path file_of(const fs::path& folder, int64_t step) {
  return folder / fmt::format("{}{:08}{}", kPrefix, step, kSuffix);
}

int64_t number(std::string_view digits) { return parsed_number<int64_t>(digits).value_or(-1); }

// Returns the step in the name of a checkpoint file; -1 for any other name.
int64_t step_of(const fs::path& path) {
  const std::string name = path.filename().string();
  const size_t frame = std::strlen(kPrefix) + std::strlen(kSuffix);
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return -1;
  return number(std::string_view(name).substr(std::strlen(kPrefix), name.size() - frame));
}

// Returns the offset in `header` of the value of metadata key `key`, or npos. A value cannot be taken for the key,
// because quotes in values are escaped.
size_t value_begin(std::string_view header, const char* key) {
  const std::string mark = fmt::format("\"{}\":\"", key);
  const size_t at = header.find(mark);
  return at == std::string_view::npos ? at : at + mark.size();
}

// Returns the shortest beginning of a name, up to a dot, of which `fits(beginning, rest)` is true; "" if there is none.
std::string_view beginning_of(std::string_view name, auto fits) {
  for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
    if (fits(name.substr(0, dot), name.substr(dot + 1))) return name.substr(0, dot);
  return "";
}

using Names = std::set<std::string, std::less<>>;

std::string slot_names(const std::vector<TensorView>& state) {
  Names model, slots;
  for (const TensorView& tensor : state)
    if (!tensor.slot) model.insert(tensor.name);
  for (const TensorView& tensor : state)
    if (tensor.slot)
      slots.emplace(beginning_of(tensor.name, [&](auto, std::string_view rest) { return model.contains(rest); }));
  slots.erase("");
  return fmt::format("{}", fmt::join(slots, ","));
}

[[noreturn]] void damaged(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("{}: this checkpoint cannot be used: {}", path.string(), why));
}

// Removes old checkpoints. One that cannot be removed does no harm: the next save tries again.
void prune(const fs::path& folder, int64_t step, int64_t keep) {
  int64_t kept = 0;
  std::error_code ignored;
  for (const fs::path& path : list_checkpoints(folder))
    if (step_of(path) > step || ++kept > keep) fs::remove(path, ignored);
}

void copy_atomically(const fs::path& from, const fs::path& to) {
  constexpr size_t kPart = size_t{1} << 24;  // bytes that are held in memory
  const InputFile input(from);
  AtomicFile output(to, static_cast<int64_t>(input.size()));
  for (size_t at = 0; at < input.size(); at += kPart) output.write(input.read(at, std::min(kPart, input.size() - at)));
  output.commit();
}

// Returns the header with the length before it, after its hash was checked.
std::string read_header(const InputFile& file) {
  const fs::path& path = file.path();
  uint64_t length = 0;
  if (file.size() < sizeof length) damaged(path, fmt::format("it is cut short: {} bytes", file.size()));
  const std::string digits = file.read(0, sizeof length);
  for (size_t i = 0; i < sizeof length; ++i) length |= uint64_t{static_cast<unsigned char>(digits[i])} << (8 * i);
  if (length > std::min(file.size() - sizeof length, kMaxSafetensorsHeader))
    damaged(path, fmt::format("it is cut short or damaged: {} bytes, of which the header is said to take {}",
                              file.size(), length));
  const std::string written = file.read(0, sizeof length + length);
  const size_t at = value_begin(written, kHeader);
  if (at == std::string::npos)
    damaged(path, fmt::format("it is none, or damaged: there is no {} in its header", kHeader));
  const std::string expected = written.substr(at, kHashDigits);
  std::string header = written;
  header.replace(at, kHashDigits, kHashDigits, '0');
  if (const std::string got = sha256_hex(header); got != expected)
    damaged(path, fmt::format("its header is damaged: SHA-256\n  expected: {}\n  got:      {}", expected, got));
  return written;
}

}  // namespace

CheckpointWriter::CheckpointWriter(const StateStore& store, CheckpointFolder folder)
    : store_(store), folder_(std::move(folder)), state_(store.views()) {
  std::error_code error;
  fs::create_directories(folder_.path, error);
  if (error) throw_file_error("make the folder", folder_.path, error.value());
  int64_t bytes = 0;
  for (const TensorView& tensor : state_) bytes += tensor.type.bytes();
  body_.resize(static_cast<size_t>(bytes));
  const std::byte* at = body_.data();
  for (const TensorView& tensor : state_) {
    copies_.emplace_back(tensor.name, tensor.type, at, tensor.slot);
    at += tensor.type.bytes();
  }
  std::map<std::string, std::string> metadata = folder_.facts;
  metadata["format"] = "pt";
  metadata[kBytes] = std::to_string(bytes);
  metadata[kSlots] = slot_names(state_);
  for (const char* key : {kStep, kSamples}) metadata[key] = std::string(kNumberDigits, '0');
  for (const char* key : {kSchedule, kState, kHeader}) metadata[key] = std::string(kHashDigits, '0');
  header_ = safetensors_header(copies_, metadata);
}

CheckpointWriter::~CheckpointWriter() {
  if (pending_.valid()) pending_.wait();
}

void CheckpointWriter::patch(const char* key, std::string_view value) {
  const size_t at = value_begin(header_, key);
  ensure(at != std::string::npos && header_[at + value.size()] == '"', "a checkpoint's value is as wide as its place");
  header_.replace(at, value.size(), value);
}

void CheckpointWriter::save(const CheckpointCursor& cursor) {
  wait();
  store_.refresh();
  for (size_t i = 0; i < state_.size(); ++i)
    std::memcpy(const_cast<std::byte*>(copies_[i].data), state_[i].data,  // the copies lie in body_
                static_cast<size_t>(state_[i].type.bytes()));
  patch(kStep, fmt::format("{:0{}}", cursor.step, kNumberDigits));
  patch(kSamples, fmt::format("{:0{}}", cursor.samples, kNumberDigits));
  patch(kSchedule, cursor.schedule_sha256);
  if (!cursor.schedule_state.empty()) patch(kScheduleState, cursor.schedule_state);
  pending_ = std::async([this, step = cursor.step, is_best = cursor.is_best] { write(step, is_best); });
  // If no thread can be made, get() would do the work: it is done now, so that the file is on the disk.
  if (pending_.wait_for(std::chrono::seconds(0)) == std::future_status::deferred) pending_.wait();
}

void CheckpointWriter::write(int64_t step, bool is_best) {
  try {
    if (const std::string fault = not_finite_text(copies_); !fault.empty())
      throw Error(
          fmt::format("no checkpoint is made of the state after step {}, which is not finite: {}", step, fault));
    write_file(step, is_best);
  } catch (const Error& error) {
    throw Error(error.what() + kept_text(folder_.path));
  }
}

void CheckpointWriter::write_file(int64_t step, bool is_best) {
  patch(kState, state_sha256(copies_));
  patch(kHeader, std::string(kHashDigits, '0'));
  patch(kHeader, sha256_hex(header_));
  folder_.before();
  AtomicFile file(file_of(folder_.path, step), std::ssize(header_) + std::ssize(body_));
  file.write(header_);
  file.write(body_.data(), body_.size());
  file.commit();
  if (is_best) keep_best_checkpoint(folder_.path, step);
  prune(folder_.path, step, folder_.keep);
}

void CheckpointWriter::check() {
  if (pending_.valid() && pending_.wait_for(std::chrono::seconds(0)) == std::future_status::ready) pending_.get();
}

void CheckpointWriter::wait() {
  if (pending_.valid()) pending_.get();
}

const std::string& Checkpoint::fact(const std::string& key) const {
  static const std::string kNone;
  const auto at = metadata.find(key);
  return at == metadata.end() ? kNone : at->second;
}

Checkpoint read_checkpoint(const fs::path& path) {
  const InputFile input(path);
  const std::string header = read_header(input);
  const size_t at = value_begin(header, kBytes), body = input.size() - header.size();
  const int64_t expected = at == std::string::npos ? -1 : number(header.substr(at, header.find('"', at) - at));
  if (expected != static_cast<int64_t>(body))
    damaged(path, fmt::format("it is cut short or too long: expected {} bytes of tensors, got {}", expected, body));
  SafetensorsFile file = read_safetensors(input);
  Checkpoint result{path, 0, 0, std::move(file.metadata), std::move(file.tensors)};
  result.step = number(result.fact(kStep));
  result.samples = number(result.fact(kSamples));
  const std::string got = state_sha256(views_of(result.tensors));
  if (got != result.fact(kState))
    damaged(path,
            fmt::format("its tensors are damaged: SHA-256\n  expected: {}\n  got:      {}", result.fact(kState), got));
  if (const std::string fault = not_finite_text(views_of(result.tensors)); !fault.empty())
    damaged(path, fmt::format("it is of a run that diverged: {}", fault));
  return result;
}

std::vector<NamedTensor> model_tensors(const Checkpoint& checkpoint) {
  Names names;
  for (const NamedTensor& tensor : checkpoint.tensors) names.insert(tensor.name);
  const std::string slots = "," + checkpoint.fact(kSlots) + ",";
  // The optimizer's tensors are called SLOT.NAME, and there is a tensor NAME. A layer may have the name of a slot too:
  // its tensors have no such partner.
  auto is_slot = [&](const std::string& name) {
    return !beginning_of(name, [&](std::string_view slot, std::string_view rest) {
              return names.contains(rest) && slots.find(fmt::format(",{},", slot)) != std::string::npos;
            }).empty();
  };
  const bool scales_loss = names.contains(kLossScale) && names.contains(kLossScaleSteps);
  auto is_scale = [&](const std::string& name) {
    return scales_loss && (name == kLossScale || name == kLossScaleSteps);
  };
  std::vector<NamedTensor> result;
  for (const NamedTensor& tensor : checkpoint.tensors)
    if (!is_slot(tensor.name) && !is_scale(tensor.name)) result.push_back(tensor);
  return result;
}

// Gives the file a second name, or copies it if the file system has no hard links.
void keep_best_checkpoint(const fs::path& folder, int64_t step) {
  const fs::path from = file_of(folder, step), best = folder / kBestCheckpoint, fresh = best.string() + ".tmp";
  std::error_code error;
  fs::remove(fresh, error);
  fs::create_hard_link(from, fresh, error);
  if (error) return copy_atomically(from, best);
  fs::rename(fresh, best, error);
  if (error) throw_file_error("write", best, error.value());
}

std::string kept_text(const fs::path& folder) {
  const std::vector<fs::path> kept = list_checkpoints(folder);
  return fmt::format("\n  kept: {}\n  hint: once that is mended, --resume goes on from there",
                     kept.empty() ? "no checkpoint" : kept[0].string());
}

std::vector<fs::path> list_checkpoints(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (step_of(entry.path()) >= 0) files.push_back(entry.path());
  std::sort(files.begin(), files.end(), [](const fs::path& a, const fs::path& b) { return step_of(a) > step_of(b); });
  return files;
}

}  // namespace kb
