#include "tests/interpreters/accesses.h"

namespace kb::ir {
namespace {

bool ordered(const Stamp& x, const Stamp& y) {
  if (x.period != y.period) return true;
  if (x.tile != y.tile) return false;
  if (x.epoch != y.epoch) return true;
  return x.thread == y.thread && (x.lane_loop != y.lane_loop || x.lane_loop < 0 || x.lane == y.lane);
}

}  // namespace

const char* note_read(Cell& cell, const Stamp& now) {
  if (cell.under_way) return "is read while a copy into it is under way";
  if (!cell.defined) return "is read but was never written";
  if (!ordered(cell.write, now)) return "is read in a race with its write";
  const Stamp& before = cell.read;
  if (before.period != now.period) {
    cell.many_tiles = cell.many_threads = cell.many_lanes = false;
  } else if (before.tile != now.tile) {
    cell.many_tiles = true;
  } else if (before.epoch != now.epoch) {
    cell.many_threads = cell.many_lanes = false;
  } else if (before.thread != now.thread) {
    cell.many_threads = true;
  } else if (before.lane_loop != now.lane_loop) {
    cell.many_lanes = false;
  } else if (before.lane != now.lane) {
    cell.many_lanes = true;
  }
  cell.read = now;
  return nullptr;
}

const char* note_write(Cell& cell, const Stamp& now) {
  if (cell.under_way) return "is written while a copy into it is under way";
  if (cell.defined && !ordered(cell.write, now)) return "is written twice in a race";
  const Stamp& read = cell.read;
  const bool same_tile = read.period == now.period && read.tile == now.tile;
  const bool same_thread = same_tile && read.epoch == now.epoch && read.thread == now.thread;
  const bool raced = !ordered(read, now) || (read.period == now.period && cell.many_tiles) ||
                     (same_tile && read.epoch == now.epoch && cell.many_threads) ||
                     (same_thread && read.lane_loop == now.lane_loop && now.lane_loop >= 0 && cell.many_lanes);
  if (raced) return "is written in a race with a read";
  cell.write = now;
  cell.defined = true;
  return nullptr;
}

}  // namespace kb::ir
