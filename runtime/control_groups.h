// The control groups (cgroups) of this process, which limit what it may use. Linux has them in two versions: in v2 one
// hierarchy has all controllers, in v1 each hierarchy has some.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace kb {

struct ControlGroup {
  std::filesystem::path folder;
  bool is_v2 = false;
};

// Returns the process's groups of a controller ("cpu", "memory") and of every v2 hierarchy, each followed by all groups
// above it that the process can see. A hierarchy that is mounted twice is listed twice. `root` is the folder that has
// proc and sys.
std::vector<ControlGroup> control_groups(const std::string& controller, const std::filesystem::path& root);

}  // namespace kb
