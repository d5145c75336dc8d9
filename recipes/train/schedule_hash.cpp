#include "recipes/train/schedule_hash.h"

namespace kb {

std::string ScheduleHash::up_to(int64_t step) {
  for (; next_ < step; ++next_)
    for (const NamedScalar& scalar : scalars_.at(next_)) {
      hash_.update_field(scalar.name);
      hash_.update(&scalar.value, sizeof scalar.value);
    }
  return hash_.hex();
}

}  // namespace kb
