#include "recipes/run/guarded_main.h"

#include <fmt/format.h>

#include <csignal>
#include <system_error>

#include "data/error.h"
#include "recipes/config/flags.h"
#include "runtime/standard_streams.h"

namespace kb {
namespace {

int internal_error(const std::exception& error, std::string& message) {
  message = fmt::format("internal error: {}", error.what());
  return 3;
}

// `work`'s exit code, or that of what it throws, with the message.
int exit_code(const std::function<int()>& work, std::string& message) {
  try {
    return work();
  } catch (const UsageError& error) {
    message = error.what();
    return 2;
  } catch (const Error& error) {
    message = error.what();
  } catch (const DataError& error) {
    message = error.what();
  } catch (const std::bad_alloc&) {
    message = "not enough memory; a smaller --minibatch takes less";
  } catch (const std::system_error& error) {
    message = standard_output_fault(error.code().value());  // printing throws what the stream meets
    if (message.empty()) return internal_error(error, message);
  } catch (const std::exception& error) {
    return internal_error(error, message);
  }
  return 1;
}

}  // namespace

int guarded_main(const std::string& program, const std::function<int()>& work) {
  open_standard_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);  // a file past `ulimit -f` is an error with a message, not the end
  std::string message;
  const int code = exit_code(work, message);
  if (message.empty()) message = standard_output_fault();
  if (message.empty()) return code;
  print_error(program + ": " + message);
  return code == 0 ? 1 : code;
}

}  // namespace kb
