// Writes and reads order.jsonl, which holds an order of gradients as data: one JSON object a line, first the head, that
// is the plan of the order, and then a line for each gradient, in the order in which fates were decided. A line at a
// time is in memory.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "graph/text_buffer.h"
#include "recipes/orders/order_plan.h"
#include "recipes/orders/order_rules.h"
#include "runtime/input_file.h"

namespace kb {

// Reads an order, and checks that it keeps to the rules of its policy: every gradient is of a worker that computes, and
// has the number, version, fate, piece and begin that follow from the lines before it.
class OrderReader {
 public:
  // Opens the file and reads its head. Throws Error: FileError if it cannot be read.
  explicit OrderReader(const std::filesystem::path& path);

  // Returns the next gradient; nothing at the end of the file. Throws Error, which names the path, the line, what was
  // expected and what was found, for a line that is damaged, breaks the rules, or is the last one and cut off.
  std::optional<GradientRecord> next();

  const OrderPlan& plan() const { return plan_; }
  // Returns what the order has come to after the last gradient that was read.
  const OrderRules& rules() const { return *rules_; }
  const OrderState& state() const { return rules_->state(); }
  int64_t bytes() const { return line_begin_; }  // bytes of the lines that were read

 private:
  std::optional<std::string_view> next_line();
  bool read_on();
  void check(const GradientRecord& record) const;

  InputFile file_;
  std::string buffer_;  // bytes of the file from `line_begin_` - `at_` on
  size_t at_ = 0;       // position in the buffer of the line that is next
  int64_t line_begin_ = 0, line_ = 0;
  OrderPlan plan_;
  std::optional<OrderRules> rules_;
};

// Appends an order's lines to a file.
class OrderWriter {
 public:
  // Creates the file, which must not exist, with its head. Throws FileError if it cannot.
  OrderWriter(const std::filesystem::path& path, const OrderPlan& plan);
  // Goes on after the first `decided` gradients of a file and removes what follows them. Throws Error if the file holds
  // fewer, damaged ones, or an order of another plan.
  OrderWriter(const std::filesystem::path& path, const OrderPlan& plan, int64_t decided);
  // Writes what is left; errors are lost here, and not in flush().
  ~OrderWriter();
  OrderWriter(const OrderWriter&) = delete;
  OrderWriter& operator=(const OrderWriter&) = delete;

  // Adds a line. Lines are collected and written together.
  void write(const GradientRecord& record);
  void flush();
  // Writes all lines and waits until they are on the disk.
  void sync();

 private:
  std::filesystem::path path_;
  int descriptor_ = -1;
  TextBuffer pending_;
};

}  // namespace kb
