#include "recipes/train/init_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>

#include "runtime/checkpoint.h"
#include "runtime/finite.h"
#include "runtime/safetensors.h"

namespace kb {
namespace {

constexpr size_t kMostNames = 8;                        // greatest number of names in a list of a message
constexpr const char* kRunModel = "model.safetensors";  // file of a run folder
constexpr std::string_view kParallelPrefix = "module.";

// Returns whether a tensor is PyTorch's count of the minibatches that a batch norm has seen, which is not used here.
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
  std::map<std::string, int64_t> conversions;  // number of tensors by conversion, such as "f16 to f32"
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

// Returns the name of the format if PyTorch's torch.save() wrote the file: a zip archive or, before PyTorch 1.6, a bare
// pickle. Empty for any other file. In a safetensors file the ninth byte is the brace that opens its header.
std::string pytorch_format(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<unsigned char, 9> first{};
  if (file.read_some(0, first.data(), first.size()) < first.size() || first[8] == '{') return "";
  if (first[0] == 'P' && first[1] == 'K' && first[2] == 3 && first[3] == 4) return "a zip archive";
  return first[0] == 0x80 && first[1] >= 2 && first[1] <= 5 ? "a pickle" : "";
}

// Returns a path as a string literal of Python.
std::string python_text(const std::filesystem::path& path) {
  std::string text = "\"";
  for (const char c : path.string()) text += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return text + "\"";
}

void refuse_pytorch_format(const std::filesystem::path& path) {
  const std::string format = pytorch_format(path);
  if (format.empty()) return;
  std::filesystem::path converted = path;
  converted.replace_extension("safetensors");
  throw Error(fmt::format(
      "resume.init = {}: this is PyTorch's own format\n  expected: a safetensors file\n  got:      {}\n  hint:     "
      "convert it "
      "with Python (pip install torch safetensors):\n"
      "    import torch, safetensors.torch; state = torch.load({}, map_location=\"cpu\", weights_only=True)\n"
      "    safetensors.torch.save_file({{k: v.contiguous() for k, v in state.get(\"state_dict\", state).items()}}, {})",
      path.string(), format, python_text(path), python_text(converted)));
}

std::vector<NamedTensor> read_weights(const std::filesystem::path& path) {
  refuse_pytorch_format(path);
  SafetensorsFile file = read_safetensors(path);
  if (file.metadata.contains("kilobatch_checkpoint")) return model_tensors(read_checkpoint(path));
  return std::move(file.tensors);
}

// Removes the prefix if all names have it. Returns whether they had it.
bool strip_parallel_prefix(std::vector<NamedTensor>& tensors) {
  const bool all = !tensors.empty() && std::all_of(tensors.begin(), tensors.end(), [](const NamedTensor& tensor) {
    return tensor.name.starts_with(kParallelPrefix);
  });
  if (all)
    for (NamedTensor& tensor : tensors) tensor.name.erase(0, kParallelPrefix.size());
  return all;
}

// Returns the tensors of the model that a file of its part under `scope` shall have: all of them if it is empty. Puts
// the scope before the file's names.
std::vector<TensorView> part_under(const std::string& scope, std::vector<TensorView> wanted,
                                   std::vector<NamedTensor>& given) {
  if (scope.empty()) return wanted;
  const std::string prefix = scope + ".";
  const size_t all = wanted.size();
  std::erase_if(wanted, [&](const TensorView& place) { return !place.name.starts_with(prefix); });
  if (wanted.empty())
    throw Error(
        fmt::format("resume.init_scope = {}: expected a scope of the model, got one under which none of its {} "
                    "tensors stands\n  hint:     ./run inspect RECIPE, or PROGRAM inspect, lists their names",
                    scope, all));
  for (NamedTensor& tensor : given) tensor.name.insert(0, prefix);
  return wanted;
}

void check_match(const Match& found, const std::filesystem::path& file, InitExtent extent) {
  if (found.taken.empty())
    throw Error(
        fmt::format("resume.init = {}: nothing matches\n  the model has: {}\n  the file has:  {}\n  hint:          "
                    "resume.init_scope names the scope of the model under which the file's names stand",
                    file.string(), list(found.missing), list(found.other.empty() ? found.unexpected : found.other)));
  if (extent == InitExtent::whole && !(found.missing.empty() && found.other.empty())) {
    std::string faults;
    if (!found.missing.empty()) faults += "\n  not in the file: " + list(found.missing);
    if (!found.other.empty()) faults += "\n  of another type: " + list(found.other);
    if (!found.unexpected.empty()) faults += "\n  in the file alone: " + list(found.unexpected);
    throw Error(fmt::format(
        "resume.init = {}: the file does not have every tensor of the model{}\n  hint: resume.init_partial takes "
        "the {} that fit, and leaves the others their initial values",
        file.string(), faults, found.taken.size()));
  }
  if (const std::string fault = not_finite_text(views_of(found.taken)); !fault.empty())
    throw Error(fmt::format(
        "resume.init = {}: expected weights that are finite, got {}\n  hint: these are of a run that diverged; an "
        "earlier checkpoint of it may be whole",
        file.string(), fault));
}

}  // namespace

std::filesystem::path init_file(const std::filesystem::path& given) {
  if (!std::filesystem::is_directory(given)) return given;
  const std::filesystem::path model = given / kRunModel;
  if (std::filesystem::exists(model)) return model;
  throw Error(
      fmt::format("resume.init = {}: expected a safetensors file or the folder of a run, got a folder without {}",
                  given.string(), kRunModel));
}

void init_weights(StateStore& store, const std::filesystem::path& given, InitExtent extent, const std::string& scope,
                  const std::function<void(const std::string&)>& say) {
  const std::filesystem::path file = init_file(given);
  std::vector<NamedTensor> tensors = read_weights(file);
  const bool is_stripped = strip_parallel_prefix(tensors);
  const std::vector<TensorView> wanted = part_under(scope, store.views(false), tensors);
  const Match found = match(wanted, tensors);
  check_match(found, file, extent);
  store.load(found.taken);
  say(fmt::format("init {}: {} of {} tensors taken", file.string(), found.taken.size(), wanted.size()));
  if (is_stripped) say(fmt::format("  names are taken without their prefix \"{}\"", kParallelPrefix));
  for (const auto& [types, count] : found.conversions)
    say(fmt::format("  converted from {}: {} tensors", types, count));
  if (!found.missing.empty()) say("  not in the file, initial values kept: " + list(found.missing));
  for (const std::string& line : found.other) say("  of another type, initial values kept: " + line);
  if (!found.unexpected.empty()) say("  in the file alone: " + list(found.unexpected));
}

}  // namespace kb
