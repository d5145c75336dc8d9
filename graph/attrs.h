// Attributes of a node: a small map from name to value. It is sorted by name, so that text and hash have one order.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/dtype.h"

namespace kb {

using Ints = std::vector<int64_t>;
using AttrValue = std::variant<int64_t, double, std::string, Ints, std::vector<double>, DType>;

class Attrs {
 public:
  Attrs() = default;
  Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items);

  Attrs& set(std::string key, AttrValue value);
  void erase(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }

  // Each of these throws InternalError when the key is absent or its value has another type. With a `fallback`, an
  // absent key gives that instead.
  int64_t integer(std::string_view key) const;
  int64_t integer(std::string_view key, int64_t fallback) const;
  double real(std::string_view key) const;
  const std::string& text(std::string_view key) const;
  const Ints& ints(std::string_view key) const;
  const std::vector<double>& reals(std::string_view key) const;
  DType dtype(std::string_view key) const;

  const std::vector<std::pair<std::string, AttrValue>>& items() const { return items_; }
  // Compares numbers by their bits: 0 and -0 differ, and a NaN equals itself.
  friend bool operator==(const Attrs& a, const Attrs& b);

 private:
  const AttrValue* find(std::string_view key) const;
  std::vector<std::pair<std::string, AttrValue>> items_;
};

}  // namespace kb
