// ValuePlaces gives the values of a schedule their memory: it adds buffers for variables, inputs, outputs and
// intermediate values, and a view of one of these buffers for every value. A value that is written in place, gathered
// into a concat or summed over processes lies in its destination from the start.
#pragma once
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/schedule.h"
#include "compiler/schedule/order.h"
#include "compiler/target.h"

namespace kb {

class ValuePlaces {
 public:
  // Adds buffers and views to the schedule of `graph`; all outlive this.
  ValuePlaces(const Graph& graph, const Ordered& ordered, const Target& target, Schedule& schedule);

  // Returns the memory of a value, and opens a buffer for it if it has none yet.
  View place(Value value);
  // Returns the memory of a state variable.
  View store(const std::string& variable);
  View scratch(int64_t bytes);
  View save_output(const Output& output);
  int64_t bytes_of(Value value) const;

 private:
  int32_t add_buffer(BufferKind kind, std::string name, int64_t bytes, int32_t node);
  int32_t store_buffer(const std::string& name, int64_t bytes);
  void place_variables_and_inputs();
  void place_state_writes();
  void place_outputs();
  void find_lives();
  bool is_read_behind_exchange(Value part, Value whole) const;
  void place_concat(const Group& group);
  void place_at(Value owner, View view);
  Value taken_over(Value owner) const;
  View open_buffer(Value owner);
  int64_t variable_bytes(const Variable& variable) const;
  int64_t bytes_of(const Node& node, int32_t out) const;

  const Graph& graph_;
  const Ordered& ordered_;
  const Target& target_;
  Schedule& schedule_;
  std::unordered_map<std::string, int32_t> stores_;
  // Numbers of launches, by value: the last launch that reads the value's memory, and the exchange that overwrites it.
  std::unordered_map<Value, size_t, ValueHash> last_reader_, exchanged_at_;
  std::unordered_set<Value, ValueHash> operands_;  // touched by a GPU's library calls and products of matrices
};

}  // namespace kb
