// A table with an entry for each value of an enumeration. It does not compile if a value lacks its entry.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace kb {

// Returns whether `value` has a name in its enumeration. In the name of this function compilers write
// "kb::Role::weight" for a value that has one, and "(kb::Role)9" for another.
template <auto value>
consteval bool is_enumerator() {
  constexpr std::string_view kText = __PRETTY_FUNCTION__;
  constexpr size_t kLast = kText.rfind(')') + 1;
  return kText.find_first_not_of("0123456789", kLast) != kText.size() - 1;
}

// Returns the number of values of an enumeration, which count from 0 on.
template <typename E, size_t number = 0>
consteval size_t enumerators() {
  if constexpr (is_enumerator<static_cast<E>(number)>())
    return enumerators<E, number + 1>();
  else
    return number;
}

template <typename E, typename Entry>
class EnumTable {
 public:
  // `entries` stand in the order of the values.
  template <size_t count>
  requires(count == enumerators<E>()) consteval EnumTable(const Entry (&entries)[count]) {
    std::copy(entries, entries + count, entries_.begin());
  }
  constexpr const Entry& operator[](E value) const { return entries_[static_cast<size_t>(value)]; }
  constexpr auto begin() const { return entries_.begin(); }
  constexpr auto end() const { return entries_.end(); }
  constexpr size_t size() const { return entries_.size(); }

 private:
  std::array<Entry, enumerators<E>()> entries_ = {};
};

template <typename E>
using EnumNames = EnumTable<E, std::string_view>;

}  // namespace kb
