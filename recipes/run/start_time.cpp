#include "recipes/run/start_time.h"

namespace kb {
namespace {

const std::chrono::steady_clock::time_point kLoaded = std::chrono::steady_clock::now();

}  // namespace

std::chrono::steady_clock::time_point program_start() { return kLoaded; }

}  // namespace kb
