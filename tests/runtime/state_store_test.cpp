#include "runtime/state_store.h"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <functional>
#include <set>

#include "compiler/passes/loss_scale.h"
#include "compiler/passes/parameter_space.h"
#include "graph/interpreter.h"
#include "tests/runtime/elsewhere.h"
#include "tests/support/says.h"

namespace kb::state_store_test {

using test::Elsewhere;
using test::says;

namespace {

Variable parameter(const std::string& name, Dims shape, Role role, Init init) {
  return {name, {DType::f32, std::move(shape), ""}, VariableKind::parameter, role, init, {}, 0};
}

const Init kNormal{InitKind::normal, 0, 1}, kOne{InitKind::constant, 1, 0};

// The store keeps two parameters in the flat space, a slot and a running mean. It does not keep a table and a prepared
// copy.
struct Fixture {
  std::unique_ptr<Backend> backend = make_cpu_backend({1, 1, ""});
  Variable weight = parameter("fc.weight", {3, 5}, Role::weight, kNormal);
  Variable scale = parameter("bn.weight", {7}, Role::norm_scale, kOne);
  ParameterSpace space = make_space({&weight, &scale}, {});
  std::vector<Variable> variables = {
      flat_variable(space),
      slot_variable(space, "flat.velocity", "velocity", {0, space.length}),
      {"bn.running_mean", {DType::f32, {7}, ""}, VariableKind::state, Role::none, {InitKind::constant, 0.25, 0}, {}, 0},
      {"flat.decay", {DType::f32, {2}, ""}, VariableKind::table, Role::none, {InitKind::runs, 0, 0}, {1, 1, 1, 0}, 0},
      {"prepared.0", {DType::f32, {4}, ""}, VariableKind::prepared, Role::none, {}, {}, 1000}};
  StateStore store{*backend};

  Fixture() {
    store.adopt(variables, space);
    store.initialise(1);
  }
  const NamedTensor& find(const std::vector<NamedTensor>& tensors, const std::string& name) const {
    for (const NamedTensor& tensor : tensors)
      if (tensor.name == name) return tensor;
    throw std::runtime_error(name);
  }
};

double element(const NamedTensor& tensor, int64_t i) { return load_element(tensor.type.dtype, tensor.data.data(), i); }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(state_store, Fixture)

BOOST_AUTO_TEST_CASE(canonical_tensors_are_sorted_and_shaped) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : store.canonical()) names.push_back(tensor.name);
  std::vector<std::string> expected = {"bn.running_mean", "bn.weight", "fc.weight", "velocity.bn.weight",
                                       "velocity.fc.weight"};
  BOOST_TEST(names == expected);
  BOOST_TEST(store.canonical(false).size() == 3u);
  NamedTensor weight = find(store.canonical(), "fc.weight");
  BOOST_TEST((weight.type == Type{DType::f32, {3, 5}, ""}));
  BOOST_TEST(weight.data.size() == 60u);
}

BOOST_AUTO_TEST_CASE(tables_and_prepared_copies_are_not_kept) {
  BOOST_TEST(!store.has("flat.decay"));
  BOOST_TEST(!store.has("prepared.0"));
  BOOST_CHECK_THROW(store.data("prepared.0"), InternalError);
}

// A model may name a layer "flat". The name alone does not make a variable a vector over the parameter space.
BOOST_AUTO_TEST_CASE(a_state_named_as_a_flat_vector_is_one_of_its_own) {
  StateStore other(*backend);
  const Variable mean{"flat.running_mean",
                      {DType::f32, {7}, ""},
                      VariableKind::state,
                      Role::none,
                      {InitKind::constant, 0.25, 0},
                      {},
                      0};
  other.adopt({mean}, space);
  other.initialise(1);
  BOOST_REQUIRE(other.canonical().size() == 1u);
  BOOST_TEST(other.canonical()[0].name == "flat.running_mean");
  BOOST_TEST(element(other.canonical()[0], 6) == 0.25);
}

BOOST_AUTO_TEST_CASE(initial_values_follow_seed_and_name) {
  std::vector<NamedTensor> tensors = store.canonical();
  BOOST_TEST(element(find(tensors, "bn.weight"), 6) == 1.0);
  BOOST_TEST(element(find(tensors, "bn.running_mean"), 0) == 0.25);
  BOOST_TEST(element(find(tensors, "velocity.fc.weight"), 3) == 0.0);
  Array expected = initial_value(weight, 1);
  for (int64_t i = 0; i < 15; ++i)
    BOOST_TEST(element(find(tensors, "fc.weight"), i) == expected.data[static_cast<size_t>(i)]);
}

BOOST_AUTO_TEST_CASE(the_hash_follows_every_canonical_byte) {
  std::string hash = store.state_sha256();
  BOOST_TEST(hash.size() == 64u);
  store.initialise(1);
  BOOST_TEST(store.state_sha256() == hash);
  store.initialise(2);
  BOOST_TEST(store.state_sha256() != hash);
  store.initialise(1);
  auto* flat = reinterpret_cast<float*>(store.data(kFlatParameters));
  flat[15] = 3;  // padding between the two segments
  BOOST_TEST(store.state_sha256() == hash);
  for (const char* name : {"flat.parameters", "flat.velocity", "bn.running_mean"}) {
    auto* values = reinterpret_cast<float*>(store.data(name));
    values[4] += 1;
    BOOST_TEST(store.state_sha256() != hash);
    values[4] -= 1;
  }
}

BOOST_AUTO_TEST_CASE(canonical_and_load_are_inverse) {
  store.initialise(5);
  std::string hash = store.state_sha256();
  std::vector<NamedTensor> tensors = store.canonical();
  tensors.push_back({"head.weight", {DType::f32, {1}, ""}, std::vector<std::byte>(4)});
  StateStore other(*backend);
  other.adopt(variables, space);
  std::vector<std::string> unknown = other.load(tensors);
  BOOST_TEST(unknown == std::vector<std::string>{"head.weight"});
  BOOST_TEST(other.state_sha256() == hash);
}

BOOST_AUTO_TEST_CASE(a_tensor_of_another_type_changes_nothing) {
  std::string hash = store.state_sha256();
  std::vector<NamedTensor> tensors = store.canonical();
  for (NamedTensor& tensor : tensors) std::fill(tensor.data.begin(), tensor.data.end(), std::byte{1});
  NamedTensor& last = tensors.back();
  last.type.shape = {5, 3};
  BOOST_CHECK_EXCEPTION(store.load(tensors), Error, says("tensor velocity.fc.weight: expected f32[3,5], got f32[5,3]"));
  last.type.shape = {3, 5};
  last.data.pop_back();
  BOOST_CHECK_EXCEPTION(store.load(tensors), Error, says("in 59 bytes"));
  BOOST_TEST(store.state_sha256() == hash);
}

// Filters lie with their channels last in a GPU's memory; names, shapes and bytes of the state are those of a CPU.
BOOST_AUTO_TEST_CASE(a_backends_order_is_not_seen_outside) {
  Variable filters = parameter("conv.weight", {2, 8, 1, 3}, Role::weight, kNormal);
  filters.type.names = "OIHW";
  const auto state_of = [&](Backend& on, bool filters_last) {
    const ParameterSpace own = make_space({&scale, &filters, &weight}, {}, kSegmentBlock, filters_last);
    auto state = std::make_unique<StateStore>(on);
    const int64_t last = own.segments[2].offset;
    state->adopt({slot_variable(own, "flat.first", "first", {0, kSegmentBlock}),
                  slot_variable(own, "flat.last", "last", {last, own.length}), flat_variable(own)},
                 own);
    state->initialise(3);
    return state;
  };
  Elsewhere far;
  const auto near_state = state_of(*backend, false), far_state = state_of(far, true);
  BOOST_TEST(near_state->state_sha256() == far_state->state_sha256());
  BOOST_TEST(near_state->canonical().size() == 5u);
  const auto* row_major = reinterpret_cast<const float*>(near_state->data(kFlatParameters));
  const int64_t begin = kSegmentBlock;
  for (int64_t o = 0; o < 2; ++o)
    for (int64_t i = 0; i < 8; ++i)
      for (int64_t w = 0; w < 3; ++w)
        BOOST_TEST(far.last.at(static_cast<size_t>(begin + (o * 3 + w) * 8 + i)) ==
                   row_major[begin + (o * 8 + i) * 3 + w]);
  BOOST_TEST(far_state->load(near_state->canonical()).empty());
  BOOST_TEST(near_state->state_sha256() == far_state->state_sha256());
}

BOOST_AUTO_TEST_CASE(a_second_program_adopts_what_is_there) {
  std::string hash = store.state_sha256();
  std::byte* flat = store.data(kFlatParameters);
  std::vector<Variable> inference = {variables[0], variables[2]};
  store.adopt(inference, space);
  store.adopt({}, {});
  BOOST_TEST(store.data(kFlatParameters) == flat);
  BOOST_TEST(store.state_sha256() == hash);
}

// Only the values of a device's memory at a save belong into a checkpoint.
BOOST_AUTO_TEST_CASE(views_show_what_refresh_brings) {
  Elsewhere far;
  StateStore state(far);
  state.adopt(variables, space);
  state.part("mean").adopt({variables[2]}, {});
  state.initialise(1);
  const std::vector<TensorView> views = state.views();
  for (StateStore* const each : {&state, &state.part("mean")})
    reinterpret_cast<float*>(each->data("bn.running_mean"))[0] = 8;
  const std::string before = state_sha256(views);
  state.refresh();
  BOOST_TEST(kb::state_sha256(views) != before);
  for (const TensorView& view : views)
    if (view.name.ends_with("running_mean")) BOOST_TEST(load_element(DType::f32, view.data, 0) == 8);
}

BOOST_AUTO_TEST_CASE(parts_are_optimizer_state_under_their_own_names) {
  Elsewhere far;
  StateStore state(far);
  state.adopt(variables, space);
  state.part("bn").adopt(variables, space);
  state.initialise(3);
  const std::vector<std::string> names = {
      "bn.bn.running_mean",    "bn.bn.weight", "bn.fc.weight", "bn.running_mean",    "bn.velocity.bn.weight",
      "bn.velocity.fc.weight", "bn.weight",    "fc.weight",    "velocity.bn.weight", "velocity.fc.weight"};
  std::vector<std::string> got;
  for (const TensorView& view : state.views()) {
    got.push_back(view.name);
    BOOST_TEST(view.slot == (view.name.starts_with("velocity.") || std::ranges::count(view.name, '.') > 1));
  }
  BOOST_TEST(got == names);
  BOOST_TEST(state.views(false).size() == 3u);
  BOOST_TEST((find(state.canonical(), "bn.fc.weight").data == find(state.canonical(), "fc.weight").data));
  // A state is loaded with its parts, each into its own memory.
  std::vector<NamedTensor> tensors = state.canonical();
  for (NamedTensor& tensor : tensors) std::memset(tensor.data.data(), 0x3f, tensor.data.size());
  const std::string own = state.own_sha256();
  tensors[1].data[0] = std::byte{1};
  BOOST_TEST(state.load(tensors).empty());
  BOOST_TEST(state.own_sha256() != own);
  BOOST_TEST((find(state.canonical(), "bn.bn.weight").data == tensors[1].data));
  BOOST_TEST(state.part("bn").data(kFlatParameters) != state.data(kFlatParameters));
  state.part_lies_elsewhere("mean");
  BOOST_TEST(state.lies_elsewhere("mean.fc.weight"));
  BOOST_TEST(!state.lies_elsewhere("means.fc.weight"));
}

BOOST_AUTO_TEST_CASE(a_copy_takes_values_with_or_without_slots) {
  Elsewhere far;
  StateStore from(far), to(far);
  for (StateStore* const each : {&from, &to}) each->adopt(variables, space);
  std::vector<NamedTensor> tensors = from.canonical();
  for (NamedTensor& tensor : tensors) std::memset(tensor.data.data(), 0x3f, tensor.data.size());
  from.load(tensors);
  to.initialise(1);
  to.take(from, false);
  BOOST_TEST((find(to.canonical(), "fc.weight").data == find(tensors, "fc.weight").data));
  BOOST_TEST(element(find(to.canonical(), "velocity.fc.weight"), 0) == 0.0);
  to.take(from, true);
  BOOST_TEST(to.state_sha256() == from.state_sha256());
}

BOOST_AUTO_TEST_CASE(the_hash_is_of_names_and_types_too) {
  const float zeros[6] = {};
  const auto hash = [&](const char* name, DType dtype, Dims shape) {
    return kb::state_sha256(
        std::vector{TensorView(name, {dtype, std::move(shape), ""}, reinterpret_cast<const std::byte*>(zeros))});
  };
  const std::set<std::string> hashes = {hash("a", DType::f32, {2, 3}), hash("b", DType::f32, {2, 3}),
                                        hash("a", DType::f32, {3, 2}), hash("a", DType::i32, {2, 3})};
  BOOST_TEST(hashes.size() == 4u);
}

BOOST_AUTO_TEST_CASE(other_parameters_are_refused) {
  Variable wider = parameter("fc.weight", {3, 6}, Role::weight, kNormal);
  ParameterSpace other = make_space({&wider, &scale}, {});
  BOOST_CHECK_EXCEPTION(store.adopt({}, other), Error, says("have other parameters"));
  const std::function<void(ParameterSpace&)> changes[] = {[](ParameterSpace& space) { space.dtype = DType::bf16; },
                                                          [](ParameterSpace& space) { space.segments[0].name += "x"; },
                                                          [](ParameterSpace& space) {
                                                            space.segments[0].type.shape = {5, 3};
                                                          },
                                                          [](ParameterSpace& space) { ++space.segments[1].offset; },
                                                          [](ParameterSpace& space) { ++space.segments[1].length; },
                                                          [](ParameterSpace& space) {
                                                            space.segments[0].order = {1, 0};
                                                          },
                                                          [](ParameterSpace& space) { space.segments.pop_back(); }};
  for (const auto& change : changes) {
    ParameterSpace changed = space;
    change(changed);
    BOOST_CHECK_EXCEPTION(store.adopt({}, changed), Error, says("have other parameters"));
  }
  Variable mean = variables[2];
  mean.type.shape = {8};
  BOOST_CHECK_EXCEPTION(store.adopt({mean}, {}), Error,
                        says("disagree about bn.running_mean\n  expected: f32[7]\n  got:      f32[8]"));
}

BOOST_AUTO_TEST_CASE(variables_outside_the_flat_space_are_kept_too) {
  StateStore plain(*backend);
  plain.adopt({weight, scale}, {});
  plain.initialise(1);
  BOOST_TEST(plain.canonical().size() == 2u);
  BOOST_TEST((find(plain.canonical(), "fc.weight").data == find(store.canonical(), "fc.weight").data));
}

// A slot of a matrix is a variable of its own, as the loss scale is.
BOOST_FIXTURE_TEST_CASE(zeroed_slots_are_all_but_the_loss_scale, Fixture) {
  const Variable left{"left.fc.weight", {DType::f32, {1, 3, 3}, ""}, VariableKind::slot, Role::none, {}, {}, 0};
  const Variable scale_of_loss{kLossScale, {DType::f32, {}, ""}, VariableKind::slot, Role::none, {}, {}, 0};
  store.adopt({left, scale_of_loss}, space);
  std::vector<NamedTensor> tensors = store.canonical();
  for (NamedTensor& tensor : tensors) std::memset(tensor.data.data(), 0x3f, tensor.data.size());
  store.load(tensors);
  store.zero_slots();
  const std::vector<NamedTensor> after = store.canonical();
  const auto is_zero = [](std::byte byte) { return byte == std::byte{0}; };
  for (const char* name : {"left.fc.weight", "velocity.fc.weight"})
    BOOST_TEST(std::ranges::all_of(find(after, name).data, is_zero));
  for (const char* name : {kLossScale, "fc.weight", "bn.running_mean"})
    BOOST_TEST(std::ranges::none_of(find(after, name).data, is_zero));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::state_store_test
