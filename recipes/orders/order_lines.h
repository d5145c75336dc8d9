// The lines of order.jsonl, which holds an order of gradients as data: one JSON object a line, first the head, that is
// the plan of the order, and then a line for each gradient, in the order in which fates were decided.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string_view>

#include "graph/text_buffer.h"
#include "recipes/orders/order_plan.h"

namespace kb {

inline constexpr const char* kOrderFile = "order.jsonl";
inline constexpr int64_t kOrderFormat = 1;  // "format_version" of the head

// Append a line, with its line end.
void append_head(TextBuffer& out, const OrderPlan& plan);
void append_record(TextBuffer& out, const GradientRecord& record);

// Read a line without its line end. They throw Error, which names the path, the line, the field, what was expected and
// what was found. Fields that they do not know are skipped. The head is line 1.
OrderPlan parse_head(std::string_view text, const std::filesystem::path& path);
GradientRecord parse_record(std::string_view text, const std::filesystem::path& path, int64_t line);

}  // namespace kb
