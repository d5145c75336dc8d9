#include "compiler/fusion_class.h"

#include "graph/enum_table.h"

namespace kb {
namespace {

constexpr EnumTable<FusionClass, FusionTraits> kTraits({
    // class, name, kind, shared, computes_again, stores_by_element
    {FusionClass::pointwise, "pointwise", StepKind::kernel, true, true, true},
    {FusionClass::row_reduce, "row_reduce", StepKind::kernel, true, true, true},
    {FusionClass::column_reduce, "column_reduce", StepKind::kernel, true, true, true},
    {FusionClass::full_reduce, "full_reduce", StepKind::kernel, true, true, true},
    {FusionClass::window, "window", StepKind::kernel, false, false, false},
    {FusionClass::order, "order", StepKind::kernel, false, false, false},
    {FusionClass::scatter, "scatter", StepKind::kernel, false, true, false},
    {FusionClass::library, "library", StepKind::library, false, false, false},
    {FusionClass::copy, "copy", StepKind::copy, false, false, false},
    {FusionClass::carry, "carry", StepKind::kernel, false, false, true},
    {FusionClass::exchange, "exchange", StepKind::exchange, false, false, false},
    {FusionClass::wait, "wait", StepKind::wait, false, false, false},
});

constexpr bool rows_stand_in_order() {
  for (const FusionTraits& row : kTraits)
    if (&kTraits[row.cls] != &row) return false;
  return true;
}
static_assert(rows_stand_in_order());

}  // namespace

const FusionTraits& traits(FusionClass cls) { return kTraits[cls]; }

}  // namespace kb
