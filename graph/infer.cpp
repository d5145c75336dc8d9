#include "graph/infer.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>

#include "graph/enum_table.h"
#include "graph/infer_rules.h"

namespace kb {
namespace {

void check_arity(Op op, size_t got) {
  const int arity = info(op).arity;
  if (arity >= 0 ? got == static_cast<size_t>(arity) : got > 0) return;
  throw Mistake{"wrong number of arguments", arity >= 0 ? std::to_string(arity) : "at least 1", std::to_string(got),
                ""};
}

// Shape rules add and multiply two attributes, or an attribute and an extent. Within these bounds they do not overflow.
constexpr int64_t kMostNumber = int64_t{1} << 40;
constexpr int64_t kMostBytes = int64_t{1} << 40;

void check_numbers(const Attrs& attrs) {
  for (const auto& [key, value] : attrs.items()) {
    const Ints* several = std::get_if<Ints>(&value);
    const int64_t* one = std::get_if<int64_t>(&value);
    const Ints numbers = several ? *several : one ? Ints{*one} : Ints{};
    for (const int64_t number : numbers)
      if (number > kMostNumber || number < -kMostNumber)
        throw Mistake{key + " out of range", "at most " + std::to_string(kMostNumber) + " either way",
                      several ? ints_text(numbers) : std::to_string(number), ""};
  }
}

Type declared_type(const Attrs& attrs) {
  Type type{attrs.dtype("dtype"), attrs.ints("shape"), attrs.has("names") ? attrs.text("names") : ""};
  check_tensor({type.dtype, type.shape, ""});
  if (!type.names.empty() && type.names.size() != type.shape.size())
    throw Mistake{"names do not fit the shape", "one letter a dimension: " + std::to_string(type.shape.size()),
                  "'" + type.names + "' for " + ints_text(type.shape), "'_' stands for a dimension without a name"};
  return type;
}

Type infer_input(const Attrs& attrs) {
  Type type = declared_type(attrs);
  const std::string kind = attrs.has("kind") ? attrs.text("kind") : "sample";
  if (kind != "sample" && kind != "scalar") throw Mistake{"no kind of input", "sample or scalar", "'" + kind + "'", ""};
  const int64_t below = attrs.integer("below", 1);
  if (below < 1 || (attrs.has("below") && type.dtype != DType::i32))
    throw Mistake{"no bound of the input's numbers", "i32 below 1 or more",
                  to_string(type) + " below " + std::to_string(below), ""};
  return type;
}

Type infer_constant(const Attrs& attrs) {
  Type type = declared_type(attrs);
  const auto count = static_cast<int64_t>(attrs.reals("values").size());
  if (count != 1 && count != type.elements())
    throw Mistake{"wrong number of values", "1, or one an element: " + std::to_string(type.elements()),
                  std::to_string(count) + " for " + shape_text(type), ""};
  return type;
}

Type infer_iota(const Attrs& attrs) {
  Type type = declared_type(attrs);
  if (type.dtype != DType::i32 && type.dtype != DType::u32)
    throw Mistake{"dtype is no index type", "i32 or u32", std::string(name(type.dtype)), "cast(iota(...), dtype)"};
  if (type.rank() != 1)
    throw Mistake{"wrong number of dimensions", "one axis", shape_text(type), "reshape or broadcast the result"};
  check_i32_numbers(type.shape[0], "numbers", type);
  return type;
}

Type infer_count(const Type& x, const Attrs& attrs) {
  const Type result{attrs.dtype("dtype"), {}, ""};
  check_numbers(result);
  check_axes(attrs.ints("axes"), x);
  int64_t count = 1;
  for (const int64_t axis : attrs.ints("axes")) count *= x.shape[static_cast<size_t>(axis)];
  const double held = round_to(result.dtype, static_cast<double>(count));
  if (is_float(result.dtype) ? std::isinf(held) : held != static_cast<double>(count))
    throw Mistake{"more elements than " + std::string(name(result.dtype)) + " holds",
                  "another dtype for " + std::to_string(count), to_string(x), "count(cast(x, DType::f32), axes)"};
  return result;
}

Type infer_random_bits(std::span<const Type> in, const Attrs& attrs) {
  for (const Type& scalar : in)
    if (scalar.dtype != DType::u32 || scalar.rank() != 0)
      throw Mistake{"step, worker and seed are scalars", "u32[]", to_string(scalar), ""};
  if (attrs.ints("shape").empty() || attrs.ints("strides").size() != attrs.ints("shape").size())
    throw Mistake{"no axis of samples", "shape [N, ...], one stride an axis", ints_text(attrs.ints("shape")), ""};
  return {DType::u32, attrs.ints("shape"), ""};
}

std::string cast_hint(const Type& a, const Type& b) {
  if (!is_float(a.dtype) || !is_float(b.dtype)) return "cast(...) one of them to the other's dtype";
  const char* narrow = size_of(a.dtype) <= size_of(b.dtype) ? "a" : "b";
  return "cast(" + std::string(narrow) +
         ", DType::" + std::string(name(size_of(a.dtype) <= size_of(b.dtype) ? b.dtype : a.dtype)) + ")";
}

}  // namespace

std::vector<Type> infer_leaf(Op op, std::span<const Type> in, const Attrs& attrs) {
  if (op == Op::input) return {infer_input(attrs)};
  if (op == Op::variable) return {declared_type(attrs)};
  if (op == Op::constant) return {infer_constant(attrs)};
  if (op == Op::iota) return {infer_iota(attrs)};
  if (op == Op::count) return {infer_count(in[0], attrs)};
  if (op == Op::random_bits) return {infer_random_bits(in, attrs)};
  ensure(op == Op::extent, "infer: no rule for a leaf");
  check_tensor({attrs.dtype("dtype"), attrs.ints("extents"), ""});
  return {Type{attrs.dtype("dtype"), {}, ""}};
}

void check_tensor(const Type& type) {
  if (type.dtype == DType::i64)
    throw Mistake{"no tensor is of i64", names_text(tensor_dtypes()), to_string(type),
                  "DType::i32 counts to 2147483647"};
  for (size_t axis = 0; axis < type.shape.size(); ++axis) {
    if (type.shape[axis] >= 1) continue;
    throw Mistake{(type.shape[axis] == 0 ? "no elements on axis " : "negative extent on axis ") + std::to_string(axis),
                  "extents of 1 or more", shape_text(type), "a tensor that may be empty is left out of the graph"};
  }
  if (type.elements() > kMostBytes / size_of(type.dtype))
    throw Mistake{"the tensor is too large", "at most 1 TiB: " + std::to_string(kMostBytes) + " bytes", to_string(type),
                  ""};
}

namespace {

std::vector<Type> infer_marker(Op, std::span<const Type> in, const Attrs&) { return {in[0]}; }

}  // namespace

std::vector<Type> infer(Op op, std::span<const Type> inputs, const Attrs& attrs) {
  check_arity(op, inputs.size());
  check_numbers(attrs);
  constexpr EnumTable<OpClass, decltype(&infer_leaf)> kRules({infer_leaf, infer_pointwise, infer_movement,
                                                              infer_reduction, infer_window, infer_indexed,
                                                              infer_library, infer_marker});
  std::vector<Type> results = kRules[info(op).cls](op, inputs, attrs);
  for (const Type& type : results) check_tensor(type);
  return results;
}

std::string operands_text(std::span<const Type> in, std::string_view op) {
  const size_t conditions = op == name(Op::select) ? 1 : 0;
  std::string text;
  for (size_t i = 0; i < in.size(); ++i) {
    const auto letter = static_cast<char>('a' + (i - conditions) % 26);
    text += (i > 0 ? ", " : "") + (i < conditions ? "condition" : std::string(1, letter)) + " " + to_string(in[i]);
  }
  return text;
}

std::string ints_text(const Ints& values) { return shape_text({DType::i64, values, ""}); }

void check_i32_numbers(int64_t count, const std::string& what, const Type& x) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (count > kMost)
    throw Mistake{"more " + what + " than i32 numbers", "at most " + std::to_string(kMost), shape_text(x), ""};
}

void check_axes(const Ints& axes, const Type& x) {
  int64_t last = -1;
  for (const int64_t axis : axes) {
    if (axis < 0 || axis >= x.rank())
      throw Mistake{"axis out of range", "axes of x " + shape_text(x) + ": 0 to " + std::to_string(x.rank() - 1),
                    ints_text(axes), ""};
    if (axis <= last) throw Mistake{"axes repeat or are not sorted", "each axis once", ints_text(axes), ""};
    last = axis;
  }
}

void check_rank_at_least(const Type& x, int64_t rank, const char* expected) {
  if (x.rank() < rank) throw Mistake{"too few dimensions", expected, shape_text(x), ""};
}

void check_float(const Type& x, const char* hint) {
  if (!is_float(x.dtype)) throw Mistake{"dtype is no float", "f64, f32, bf16 or f16", to_string(x), hint};
}

void check_numbers(const Type& x) {
  if (x.dtype == DType::boolean)
    throw Mistake{"no arithmetic on booleans", "floats or integers", to_string(x), "cast(x, DType::f32)"};
}

void check_summable(const Type& x) {
  check_numbers(x);
  if (is_narrow(x.dtype))
    throw Mistake{std::string(name(x.dtype)) + " wraps beyond " + std::to_string(greatest(x.dtype)),
                  "floats or wider integers", to_string(x), "cast(x, DType::i32)"};
}

void check_dtype(const Type& x, DType dtype, const std::string& role) {
  if (x.dtype != dtype)
    throw Mistake{role + " has the wrong dtype", std::string(name(dtype)), to_string(x),
                  "cast(" + role + ", DType::" + std::string(dtype == DType::boolean ? "boolean" : name(dtype)) + ")"};
}

void check_same_dtype(std::span<const Type> in) {
  for (const Type& type : in.subspan(1))
    if (type.dtype != in[0].dtype)
      throw Mistake{"dtypes differ", "operands of one dtype", operands_text(in), cast_hint(in[0], type)};
}

std::string merge_names(const std::string& a, const std::string& b) {
  if (a.empty()) return b;
  if (b.size() != a.size()) return a;
  std::string names = a;
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == '_') names[i] = b[i];
  return names;
}

char letter(const Type& x, int64_t axis) { return x.names.empty() ? '_' : x.names[static_cast<size_t>(axis)]; }

std::string names_without(const Type& x, const Ints& axes) {
  if (x.names.empty()) return "";
  std::string names;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) names += letter(x, i);
  return names;
}

}  // namespace kb
