#include "recipes/run/guarded_main.h"

#include <fmt/format.h>

#include <boost/core/demangle.hpp>
#include <csignal>
#include <filesystem>
#include <system_error>
#include <typeinfo>

#include "data/error.h"
#include "graph/error.h"
#include "recipes/config/flag_names.h"
#include "recipes/config/values.h"
#include "runtime/standard_streams.h"
#include "runtime/threads.h"

namespace kb {
namespace {

// Returns a message about an exception that is no error of a user's. Kilobatch throws InternalError alone on purpose;
// nothing tells whose function has let out another one.
std::string fault_text(const std::exception& error) {
  if (dynamic_cast<const InternalError*>(&error)) return fmt::format("internal error: {}", error.what());
  return fmt::format(
      "an exception that nothing caught, {}: {}\n"
      "  from:     a function of this program's own (a model, a task, an observer), or a fault of Kilobatch\n"
      "  hint:     gdb's `catch throw` stops where it is thrown; an error that is meant for the user is a kb::Error",
      boost::core::demangle(typeid(error).name()), error.what());
}

int fault(const std::exception& error, std::string& message) {
  message = fault_text(error);
  return 3;
}

// Returns a message about what the system refused, or "" if that is not known. Known are the errors that fmt::print()
// throws if standard output cannot be written, and EAGAIN, the error of a thread that cannot be started.
std::string refusal_of(const std::system_error& error) {
  if (std::string fault = standard_output_fault(error.code().value()); !fault.empty()) return fault;
  return error.code() == std::errc::resource_unavailable_try_again ? no_thread_text("this work", error.code()) : "";
}

std::string refusal_of(const std::filesystem::filesystem_error& error) {
  return error.path1().empty() ? std::string(error.what())
                               : fmt::format("cannot use {}: {}", error.path1().string(), error.code().message());
}

// Returns the exit code of `work`, or the one for what it throws, whose text it puts into `message`.
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
    message = "not enough memory; a smaller batch.minibatch takes less";
  } catch (const std::filesystem::filesystem_error& error) {
    message = refusal_of(error);
  } catch (const std::system_error& error) {
    message = refusal_of(error);
    if (message.empty()) return fault(error, message);
  } catch (const std::exception& error) {
    return fault(error, message);
  }
  return 1;
}

}  // namespace

int guarded_main(const std::string& program, const std::function<int()>& work) {
  open_standard_descriptors();
  std::signal(SIGCHLD, SIG_DFL);  // the system forgets how a child ended if the parent's parent has ignored this signal
  std::signal(SIGXFSZ, SIG_IGN);  // writing past `ulimit -f` is then an error with a message
  std::string message;
  const int code = exit_code(work, message);
  if (message.empty()) message = standard_output_fault();
  if (message.empty()) return code;
  print_error(program + ": " + with_flags(message));
  return code == 0 ? 1 : code;
}

}  // namespace kb
