// A table of functions of a library that is looked for at run time. The pointers are found by the names that the
// library exports, or set by a test.
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
  // A function that returns a result code; 0 is success.
  template <class... P>
  using Call = CallOf<int, P...>;

  FunctionTable() = default;
  virtual ~FunctionTable() = default;
  FunctionTable(const FunctionTable&) = delete;
  FunctionTable& operator=(const FunctionTable&) = delete;

  // driver(driver.stream_synchronize, stream) calls the function, and fail() unless it returns 0.
  template <class... P, class... A>
  void operator()(const Call<P...>& call, A... arguments) const {
    if (const int result = call.function(arguments...); result != 0) fail(call.symbol, result);
  }
  [[noreturn]] virtual void fail(const char* symbol, int result) const = 0;

  std::vector<Slot> slots;  // one for each function of the table
};

// Fills the table from `library`. Returns false, with the reason in `why`, when the library or one of its functions is
// missing. The library stays open until the process ends.
bool open_table(FunctionTable& table, const char* library, std::string& why);

}  // namespace kb::cuda
