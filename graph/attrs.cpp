#include "graph/attrs.h"

#include <algorithm>
#include <bit>

#include "graph/error.h"

namespace kb {
namespace {

template <class T>
const T& get(const AttrValue* value, std::string_view key) {
  if (value == nullptr) throw InternalError("attribute '" + std::string(key) + "' is missing");
  const T* found = std::get_if<T>(value);
  if (found == nullptr) throw InternalError("attribute '" + std::string(key) + "' is of another kind");
  return *found;
}

bool equal_bits(double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); }

bool equal(const AttrValue& a, const AttrValue& b) {
  using Reals = std::vector<double>;
  if (a.index() == b.index() && std::holds_alternative<Reals>(a))
    return std::ranges::equal(std::get<Reals>(a), std::get<Reals>(b), equal_bits);
  if (a.index() == b.index() && std::holds_alternative<double>(a))
    return equal_bits(std::get<double>(a), std::get<double>(b));
  return a == b;
}

}  // namespace

bool operator==(const Attrs& a, const Attrs& b) {
  return std::ranges::equal(
      a.items_, b.items_, [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

Attrs::Attrs(std::initializer_list<std::pair<std::string, AttrValue>> items) {
  items_.reserve(items.size());
  for (const auto& [key, value] : items) set(key, value);
}

Attrs& Attrs::set(std::string key, AttrValue value) {
  const auto at = std::lower_bound(items_.begin(), items_.end(), key,
                                   [](const auto& item, const std::string& k) { return item.first < k; });
  if (at != items_.end() && at->first == key)
    at->second = std::move(value);
  else
    items_.emplace(at, std::move(key), std::move(value));
  return *this;
}

void Attrs::erase(std::string_view key) {
  std::erase_if(items_, [key](const auto& item) { return item.first == key; });
}

const AttrValue* Attrs::find(std::string_view key) const {
  for (const auto& [name, value] : items_)
    if (name == key) return &value;
  return nullptr;
}

int64_t Attrs::integer(std::string_view key) const { return get<int64_t>(find(key), key); }
int64_t Attrs::integer(std::string_view key, int64_t fallback) const { return has(key) ? integer(key) : fallback; }
double Attrs::real(std::string_view key) const { return get<double>(find(key), key); }
const std::string& Attrs::text(std::string_view key) const { return get<std::string>(find(key), key); }
const Ints& Attrs::ints(std::string_view key) const { return get<Ints>(find(key), key); }
const std::vector<double>& Attrs::reals(std::string_view key) const { return get<std::vector<double>>(find(key), key); }
DType Attrs::dtype(std::string_view key) const { return get<DType>(find(key), key); }

}  // namespace kb
