#include "runtime/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>

namespace kb {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(std::istream&& text, char separator) {
  std::vector<std::string> parts;
  for (std::string part; std::getline(text, part, separator);) parts.push_back(part);
  return parts;
}

// Returns whether a list "cpu,cpuacct" has the word.
bool lists(const std::string& list, const std::string& word) {
  const std::vector<std::string> words = split(std::istringstream(list), ',');
  return std::find(words.begin(), words.end(), word) != words.end();
}

// The mount of a hierarchy of control groups, read from a line of /proc/self/mountinfo.
struct Mount {
  bool is_v2 = false;
  std::string root;  // path in the hierarchy of the group that is mounted
  fs::path point;
};

// Parses "41 31 0:38 ROOT POINT OPTIONS ... - TYPE SOURCE SUPER_OPTIONS". Returns nothing if the mount is not a
// hierarchy that has the controller.
std::optional<Mount> parse_mount(const std::string& line, const std::string& controller) {
  const size_t dash = line.find(" - ");
  if (dash == std::string::npos) return std::nullopt;
  std::istringstream before(line), after(line.substr(dash + 3));
  std::string id, parent, device, root, point, type, source, options;
  before >> id >> parent >> device >> root >> point;
  after >> type >> source >> options;
  const bool is_v2 = type == "cgroup2";
  if (!is_v2 && (type != "cgroup" || !lists(options, controller))) return std::nullopt;
  return Mount{is_v2, root, point};
}

// Returns the group's path in its hierarchy, from the lines "HIERARCHY:CONTROLLERS:PATH" of /proc/self/cgroup.
std::optional<std::string> path_of_group(const std::vector<std::string>& groups, bool is_v2,
                                         const std::string& controller) {
  for (const std::string& line : groups) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_v2 ? line.starts_with("0::") : lists(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// Returns the group's path below the mounted group. It is empty if the group is outside of that, and the mounted group
// is all that can be seen.
fs::path below(const std::string& root, const std::string& path) {
  const fs::path relative = fs::path(path).lexically_relative(root);
  return relative.empty() || relative == "." || *relative.begin() == ".." ? fs::path() : relative;
}

}  // namespace

std::vector<ControlGroup> control_groups(const std::string& controller, const fs::path& root) {
  const std::vector<std::string> paths = split(std::ifstream(root / "proc/self/cgroup"), '\n');
  std::vector<ControlGroup> groups;
  for (const std::string& line : split(std::ifstream(root / "proc/self/mountinfo"), '\n')) {
    const std::optional<Mount> mount = parse_mount(line, controller);
    const auto path = mount ? path_of_group(paths, mount->is_v2, controller) : std::nullopt;
    if (!path) continue;
    const fs::path top = root / mount->point.relative_path();
    for (fs::path inside = below(mount->root, *path);; inside = inside.parent_path()) {
      groups.push_back({inside.empty() ? top : top / inside, mount->is_v2});
      if (inside.empty()) break;
    }
  }
  return groups;
}

}  // namespace kb
