// The part of cuda_instructions() that multiplies matrices by warpgroups: four warps, whose products run beside other
// code until they are waited for (wgmma, on sm_90a).
#pragma once
#include <string>

namespace kb {

std::string warpgroup_instructions();

}  // namespace kb
