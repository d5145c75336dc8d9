// Gives libFuzzer the target that the flag --target=NAME names.
#include <cstring>

#include "tests/fuzz/target.h"

static kb::fuzz::TargetFunction target = nullptr;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  constexpr const char* kFlag = "--target=";
  std::string_view name;
  for (int i = 1; i < *argc; ++i)
    if (std::strncmp((*argv)[i], kFlag, std::strlen(kFlag)) == 0) name = (*argv)[i] + std::strlen(kFlag);
  target = kb::fuzz::find_target(name);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  target(data, size);
  return 0;
}
