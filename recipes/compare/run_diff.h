// Compares two runs: which settings differ, what the results are, and from which step on the losses differ.
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Returns a text for people, about the run folders `a` and `b`: flags, data, machine, build and graph that differ, the
// results of both, and the first step at which the losses differ. Throws Error where a folder holds no run, or its
// manifest is damaged.
std::string run_diff_text(const std::filesystem::path& a, const std::filesystem::path& b);

}  // namespace kb
