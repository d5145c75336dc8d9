// Functions of a library that is looked for at run time, by the names it exports: a table of pointers that is filled
// from the library, or by a test.
#pragma once
#include <string>
#include <vector>

namespace kb::cuda {

struct FunctionTable {
  struct Slot {
    const char* symbol;
    void** function;
  };
  template <class R, class... P>
  struct CallOf {
    using Function = R (*)(P...);
    CallOf(std::vector<Slot>& slots, const char* name) : symbol(name) {
      slots.push_back({name, reinterpret_cast<void**>(&function)});
    }
    const char* symbol;
    Function function = nullptr;
  };
  // One that gives a result code, 0 where it succeeds.
  template <class... P>
  using Call = CallOf<int, P...>;

  FunctionTable() = default;
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  std::vector<Slot> slots;  // all of the calls of the table
};

// Fills the table from `library`. False, with the reason in `why`, where the library or one of its functions is
// missing. The library stays open until the process ends.
bool open_table(FunctionTable& table, const char* library, std::string& why);

}  // namespace kb::cuda
