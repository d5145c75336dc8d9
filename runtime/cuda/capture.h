// Captures what is enqueued on a stream as a graph that can be launched.
#pragma once
#include "runtime/cuda/driver.h"

namespace kb::cuda {

// Calls `enqueue` and returns what it enqueued on the stream; cuGraphExecDestroy ends it. Throws what `enqueue` throws,
// or CallError when there is something that cannot be captured; nothing has run then.
template <class Enqueue>
CapturedExec captured(const Driver& driver, Stream stream, Enqueue&& enqueue) {
  driver(driver.capture_begin, stream, CaptureMode::thread_local_);
  Captured work = nullptr;
  try {
    enqueue();
  } catch (...) {
    driver.capture_end.function(stream, &work);
    if (work) driver.graph_destroy.function(work);
    throw;
  }
  driver(driver.capture_end, stream, &work);
  CapturedExec graph = nullptr;
  const Result result = driver.graph_instantiate.function(&graph, work, 0);
  driver.graph_destroy.function(work);
  if (result != kSuccess) driver.fail(driver.graph_instantiate.symbol, result);
  return graph;
}

}  // namespace kb::cuda
