// The interpreter's knowledge of memory: who accessed each element, and when, so that it finds races in whatever order
// a kernel happens to be run.
#pragma once
#include <vector>

#include "tests/interpreters/scalar.h"

namespace kb::ir {

// Says who accesses an element, and when. Two accesses are ordered if they are in different periods (a period is a
// phase, or the body of last_block), in one tile with a barrier between them, or in one thread but not in different
// lanes of one lane loop.
struct Stamp {
  int32_t period = -1;
  int32_t tile = 0;
  int32_t epoch = 0;       // number of barriers so far
  int32_t thread = -1;     // -1 outside thread loops
  int32_t lane_loop = -1;  // number of this run of a lane loop; -1 outside
  int32_t lane = -1;       // -1 if the access is for all lanes at once
};

// The accesses to one element that later ones are checked against.
struct Cell {
  Stamp write, read;
  bool defined = false;
  // Whether several tiles of `read`'s period, threads of its epoch, or lanes of its lane loop read the element.
  bool many_tiles = false, many_threads = false, many_lanes = false;
  bool under_way = false;  // whether a copy into it was begun and nothing has waited for it
};

// These note a read or a write; they return why it is at fault, or null.
const char* note_read(Cell& cell, const Stamp& now);
const char* note_write(Cell& cell, const Stamp& now);

struct LocalArray {
  DType type = DType::f32;
  Storage storage = Storage::register_;
  int64_t extent = 0;
  int64_t rows = 1, columns = 1;  // extents of accumulators, of each matrix
  int64_t copies = 1;             // one for each thread if an array of registers is declared outside thread loops
  std::vector<Scalar> values;
  std::vector<Cell> cells;
};

}  // namespace kb::ir
