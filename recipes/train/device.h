// Chooses the backend that a run asks for, with a reason for people.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "recipes/train/machine.h"
#include "recipes/train/programs.h"
#include "runtime/backend.h"

namespace kb {

struct Device {
  std::unique_ptr<Backend> backend;
  std::string reason;  // why this backend was chosen, such as "machine.device = cpu"
  std::string sums;    // how several GPUs sum gradients, such as "NCCL 2.28.9, halving-doubling"; else empty
};

// Throws Error if options.device names a device that is absent; only `auto` falls back from GPUs to CPUs. `world` holds
// the processes of the run, if there may be several, and must outlive the device. All processes use the same kind of
// device; on GPUs each process has one of its own. `shards` is the number of parts into which library calls divide a
// minibatch; 0 stands for one per core.
Device choose_device(const MachineOptions& options, int64_t shards, World* world = nullptr);

// Returns the implementations that a backend chose by measuring (Backend::algorithm_choices) as a text for manifests
// and checkpoints; empty if there are none.
std::string algorithm_choices_text(const Backend& backend);
// Makes the backend use the choices that algorithm_choices_text() wrote. Returns a line for a person if the choices
// were made on another device or with another version of a library, and so are not used; else empty.
std::string use_algorithm_choices(Backend& backend, const std::string& text);

// Collective call. Returns the programs that `compile` makes. On GPUs the leading process chooses implementations for
// library calls by measuring, and all other processes use its choices, so that all compute the same bits.
Programs compile_alike(World& world, Backend& backend, const std::function<Programs()>& compile);

// Returns a line for a person if `precision` asks for f16 or bf16 but this device computes convolutions and matmuls in
// a wider dtype: such a run gains no speed. Empty otherwise.
std::string precision_note(const Backend& backend, Precision precision);

// Returns a line for a person if options.fast or options.sync_steps is set, or `products` is another choice than the
// default, and this device is a CPU, on which none of them has an effect. Empty otherwise.
std::string without_effect_note(const Backend& backend, const MachineOptions& options, Products products);
// Returns why the device was chosen, and that line, if there is one.
std::string reason_and_note(const Device& device, const MachineOptions& options, Products products);

// Returns the number of loader threads: `asked` if it is given, else the number of the process's processors that the
// backend's `threads` leave free, but at least 1 and at most 4. A backend with 0 threads uses every processor.
int choose_loader_threads(std::optional<int64_t> asked, int threads, int processors);

}  // namespace kb
