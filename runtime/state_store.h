// All that a run has learnt, and lives from step to step: parameters, optimizer slots, running statistics. Outside
// every arena, in the backend's memory; the training program fixes the layout and inference programs adopt it.
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/passes/passes.h"
#include "runtime/backend.h"

namespace kb {

// One tensor in canonical form: PyTorch's name, shape and layout, padding excluded.
struct NamedTensor {
  std::string name;  // "conv1.weight", "bn1.running_mean", "velocity.conv1.weight" (slot before the parameter's name)
  Type type;
  std::vector<std::byte> data;  // row-major
};

// The name and type of a canonical tensor, and the address of its bytes, which others own.
struct TensorView {
  std::string name;
  Type type;
  const std::byte* data = nullptr;
  bool slot = false;  // optimizer state

  TensorView(std::string tensor_name, Type tensor_type, const std::byte* bytes, bool is_slot = false)
      : name(std::move(tensor_name)), type(std::move(tensor_type)), data(bytes), slot(is_slot) {}
  // The tensor must outlive it. Throws InternalError where the data is not of the type's size.
  explicit TensorView(const NamedTensor& tensor);
};
std::vector<TensorView> views_of(std::span<const NamedTensor> tensors);

// SHA-256 over names, types and bytes of tensors in the order of their names.
std::string state_sha256(std::span<const TensorView> tensors);

class StateStore {
 public:
  explicit StateStore(Backend& backend) : backend_(backend) {}

  // Tells whether a store keeps `kind`. Tables and prepared copies, made from program and parameters, are a session's.
  static bool keeps(VariableKind kind);

  // Makes room for variables that are not there yet (zeros). The first space that is not empty is kept; another one
  // must equal it. Error where a variable is there in another type.
  void adopt(const std::vector<Variable>& variables, const ParameterSpace& space);
  // Initial values of everything: a pure function of seed and names.
  void initialise(uint32_t seed);

  // A variable's address in the backend's memory.
  std::byte* data(const std::string& name);
  bool has(const std::string& name) const { return entries_.contains(name); }
  const ParameterSpace& space() const { return space_; }

  // Parameters, slots (with `slots`) and running statistics, sorted by name. Views hold until the next adopt; what they
  // show is of now, and of every later `refresh`. On a backend whose memory the host sees they show that memory itself.
  std::vector<TensorView> views(bool slots = true) const;
  // Waits for the device, and brings its values to where views show them.
  void refresh() const;
  std::vector<NamedTensor> canonical(bool slots = true) const;
  // Puts canonical tensors back; gives the names that fit nothing here. Throws Error on another shape or dtype, and
  // then has changed nothing.
  std::vector<std::string> load(const std::vector<NamedTensor>& tensors);
  std::string state_sha256() const { return kb::state_sha256(views()); }

 private:
  struct Entry {
    Variable variable;
    std::unique_ptr<DeviceMemory> memory;
    mutable std::vector<std::byte> mirror;  // of `memory`, where the host does not see that
    std::byte* host() const { return mirror.empty() ? memory->data() : mirror.data(); }
  };
  void initialise_parameters(uint32_t seed);
  void upload();
  void adopt_space(const ParameterSpace& space);

  Backend& backend_;
  ParameterSpace space_;
  std::map<std::string, Entry> entries_;
};

}  // namespace kb
