// The backend that --device names, and why it was taken.
#pragma once
#include <memory>
#include <string>

#include "recipes/flags.h"
#include "runtime/backend.h"

namespace kb {

struct Device {
  std::unique_ptr<Backend> backend;
  std::string reason;  // "as --device cpu asks"
};

// Throws Error for a device that is not there; there is no fallback.
Device choose_device(const Flags& flags);

// One line where --precision asks for a dtype that convolutions and matmuls are not computed in on this device: they
// widen, so the run means the same and gains no speed. Empty otherwise.
std::string precision_note(const Backend& backend, const Flags& flags);

// Threads of the loader, as --loader-threads asks, or for auto as many as cores are left beside the backend's, 1 to 4.
int choose_loader_threads(const Flags& flags);

}  // namespace kb
