// Headers that most programs include, precompiled once for all of them. A program still includes itself what it uses.
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
