#include "recipes/train/init_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>

#include "runtime/checkpoint.h"
#include "runtime/finite.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

constexpr size_t kMostNames = 8;

// PyTorch counts the minibatches that its batch norm has seen; nothing here reads that.
bool is_counter(const std::string& name) { return name.ends_with("num_batches_tracked"); }

std::string list(std::vector<std::string> names) {
  const size_t all = names.size();
  if (all > kMostNames) names.resize(kMostNames);
  return fmt::format("{}{}", fmt::join(names, ", "),
                     all > kMostNames ? fmt::format(" and {} more", all - kMostNames) : "");
}

std::string type_text(const Type& type) {
  return fmt::format("{}{}", name(type.dtype), shape_text({type.dtype, type.shape, ""}));
}

NamedTensor converted(const NamedTensor& tensor, DType dtype) {
  NamedTensor result{tensor.name, {dtype, tensor.type.shape, ""}, {}};
  result.data.resize(static_cast<size_t>(result.type.bytes()));
  for (int64_t i = 0; i < tensor.type.elements(); ++i)
    store_element(dtype, result.data.data(), i, load_element(tensor.type.dtype, tensor.data.data(), i));
  return result;
}

struct Match {
  std::vector<NamedTensor> taken;
  std::map<std::string, int64_t> conversions;  // "f16 to f32": tensors
  std::vector<std::string> missing, unexpected, other;
};

Match match(const std::vector<TensorView>& wanted, const std::vector<NamedTensor>& given) {
  std::map<std::string, const NamedTensor*> by_name;
  for (const NamedTensor& tensor : given)
    if (!is_counter(tensor.name)) by_name[tensor.name] = &tensor;
  Match result;
  for (const TensorView& place : wanted) {
    const auto at = by_name.find(place.name);
    if (at == by_name.end()) {
      result.missing.push_back(place.name);
      continue;
    }
    const NamedTensor& tensor = *at->second;
    if (tensor.type.shape != place.type.shape || !is_float(tensor.type.dtype))
      result.other.push_back(
          fmt::format("{}: the model has {}, the file {}", place.name, type_text(place.type), type_text(tensor.type)));
    else
      result.taken.push_back(converted(tensor, place.type.dtype));
    if (tensor.type.dtype != place.type.dtype && is_float(tensor.type.dtype))
      ++result.conversions[fmt::format("{} to {}", name(tensor.type.dtype), name(place.type.dtype))];
    by_name.erase(at);
  }
  for (const auto& [name, tensor] : by_name) result.unexpected.push_back(name);
  return result;
}

std::vector<NamedTensor> read_weights(const std::filesystem::path& path) {
  SafetensorsFile file = read_safetensors(path);
  if (file.metadata.contains("kilobatch_checkpoint")) return model_tensors(read_checkpoint(path));
  return std::move(file.tensors);
}

}  // namespace

void init_weights(StateStore& store, const std::filesystem::path& file,
                  const std::function<void(const std::string&)>& say) {
  const std::vector<TensorView> wanted = store.views(false);
  const Match found = match(wanted, read_weights(file));
  if (found.taken.empty())
    throw Error(fmt::format("--init {}: nothing matches\n  the model has: {}\n  the file has:  {}", file.string(),
                            list(found.missing), list(found.other.empty() ? found.unexpected : found.other)));
  if (const std::string fault = not_finite_text(views_of(found.taken)); !fault.empty())
    throw Error(
        fmt::format("--init {}: expected weights that are finite, got {}\n  hint: these are of a run that diverged; an "
                    "earlier checkpoint of it may be whole",
                    file.string(), fault));
  store.load(found.taken);
  say(fmt::format("init {}: {} of {} tensors taken", file.string(), found.taken.size(), wanted.size()));
  for (const auto& [types, count] : found.conversions)
    say(fmt::format("  converted from {}: {} tensors", types, count));
  if (!found.missing.empty()) say("  not in the file, initial values kept: " + list(found.missing));
  for (const std::string& line : found.other) say("  of another type, initial values kept: " + line);
  if (!found.unexpected.empty()) say("  in the file alone: " + list(found.unexpected));
}

}  // namespace kb
