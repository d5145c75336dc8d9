#include "runtime/cuda/function_table.h"

#include <dlfcn.h>
#include <fmt/format.h>

namespace kb::cuda {

bool open_table(FunctionTable& table, const char* library, std::string& why) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    why = dlerror();
    return false;
  }
  for (const FunctionTable::Slot& slot : table.slots) {
    *slot.function = dlsym(handle, slot.symbol);
    if (*slot.function) continue;
    why = fmt::format("{} has no {}", library, slot.symbol);
    return false;
  }
  return true;
}

}  // namespace kb::cuda
