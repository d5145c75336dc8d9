// Tells whether a function of ours and one of a toolkit's header can be called in the same way.
#pragma once
#include <type_traits>

namespace kb::cuda {

// Returns whether two argument types are passed in the same way: equal types; enumerations and integers of one size;
// trivial structures of one size and alignment; and pointers to these.
template <class Ours, class Theirs>
constexpr bool same_argument() {
  if constexpr (std::is_same_v<Ours, Theirs>)
    return true;
  else if constexpr (std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>)
    return std::is_class_v<std::remove_pointer_t<Ours>> && std::is_class_v<std::remove_pointer_t<Theirs>>
               ? same_argument<std::remove_pointer_t<Ours>, std::remove_pointer_t<Theirs>>()
               : std::is_enum_v<std::remove_pointer_t<Theirs>> && sizeof(std::remove_pointer_t<Ours>) == sizeof(int) &&
                     std::is_integral_v<std::remove_pointer_t<Ours>>;
  else if constexpr (std::is_class_v<Ours> && std::is_class_v<Theirs>)
    return std::is_trivial_v<Ours> && std::is_trivial_v<Theirs> && sizeof(Ours) == sizeof(Theirs) &&
           alignof(Ours) == alignof(Theirs);
  else
    return (std::is_enum_v<Ours> || std::is_integral_v<Ours>)&&(
               std::is_enum_v<Theirs> || std::is_integral_v<Theirs>)&&sizeof(Ours) == sizeof(Theirs);
}

// `Code` is the enumeration of the toolkit's results, which are int here.
template <class Code, class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class Code, class R, class S, class... A, class... B>
struct SameCall<Code, R (*)(A...), S (*)(B...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(A) == sizeof...(B))
      return (std::is_same_v<R, S> || (std::is_same_v<R, int> && std::is_same_v<S, Code>)) &&
             (same_argument<A, B>() && ...);
    else
      return false;
  }();
};

}  // namespace kb::cuda
