// Headers that most programs include, compiled once for all of them. Every program includes what it uses itself.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "recipes/run/tool.h"
