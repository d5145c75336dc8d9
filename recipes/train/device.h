// Chooses the backend that a run asks for, and tells why it was taken.
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
  std::string reason;  // why it was taken: "machine.device = cpu"
  std::string sums;    // how GPUs sum their gradients: "NCCL 2.28.9, halving-doubling"; else empty
};

// Throws Error for a device that is not there; there is no fallback. `world`: the processes of the run, where there may
// be several; it outlives the device. All of them take the same kind of device, each a GPU of its own.
// `shards`: parts of a minibatch in library calls; 0: one a core.
Device choose_device(const MachineOptions& options, int64_t shards, World* world = nullptr);

// Returns a backend's measured choices (Backend::algorithm_choices) as a text for manifests and checkpoints; empty
// where it has none.
std::string algorithm_choices_text(const Backend& backend);
// Has the backend use the choices of a text. Returns a line to tell if it cannot, because they were made on another
// device or with another version of a library; else empty.
std::string use_algorithm_choices(Backend& backend, const std::string& text);

// Collective call. Returns what `compile` gives. The leading process chooses implementations for its library calls by
// measuring, and all others use its choices: so all of them compute the same bits.
Programs compile_alike(World& world, Backend& backend, const std::function<Programs()>& compile);

// Returns a line if `precision` is one whose dtype convolutions and matmuls are not computed in on this device: they
// widen, so the run means the same and gains no speed. Empty otherwise.
std::string precision_note(const Backend& backend, Precision precision);

// Returns a line if options.fast or sync_steps is set and this device is a CPU, on which they change nothing. Empty
// otherwise.
std::string without_effect_note(const Backend& backend, const MachineOptions& options);

// Returns the threads of the loader: as `asked`, or as many as are left of the process's processors beside `threads` of
// the backend (0: one a processor), 1 to 4.
int choose_loader_threads(std::optional<int64_t> asked, int threads, int processors);

}  // namespace kb
