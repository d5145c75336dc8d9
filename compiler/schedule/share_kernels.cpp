#include "compiler/schedule/share_kernels.h"

#include <map>

#include "compiler/lower/lower.h"
#include "compiler/text_hash.h"

namespace kb {
namespace {

// Kernels that are equal once all their offsets are arguments.
struct Family {
  std::vector<size_t> kernels;                // numbers in the schedule, ascending
  std::vector<std::vector<int64_t>> offsets;  // of each kernel
};

std::vector<Family> find_families(const std::vector<ir::Kernel>& kernels) {
  std::vector<Family> families;
  std::map<std::string, size_t> numbers;  // keyed by the text of a family
  for (size_t k = 0; k < kernels.size(); ++k) {
    ir::Kernel kernel = kernels[k];
    std::vector<int64_t> offsets = share_offsets(kernel);
    const auto [at, fresh] = numbers.try_emplace(ir::to_text(kernel), families.size());
    if (fresh) families.emplace_back();
    families[at->second].kernels.push_back(k);
    families[at->second].offsets.push_back(std::move(offsets));
  }
  return families;
}

// Returns of each place of an offset whether the kernels of a family differ there.
std::vector<bool> places_that_differ(const Family& family) {
  const std::vector<int64_t>& first = family.offsets.front();
  std::vector<bool> differ(first.size(), false);
  for (const std::vector<int64_t>& offsets : family.offsets)
    for (size_t i = 0; i < first.size(); ++i)
      if (offsets[i] != first[i]) differ[i] = true;
  return differ;
}

}  // namespace

void share_kernels(Schedule& schedule) {
  std::vector<ir::Kernel> kernels;
  std::vector<int32_t> numbers(schedule.kernels.size());   // the new number of each kernel
  std::vector<std::vector<int64_t>> more(numbers.size());  // arguments that launches of each kernel get
  for (const Family& family : find_families(schedule.kernels)) {
    ir::Kernel& shared = kernels.emplace_back(std::move(schedule.kernels[family.kernels.front()]));
    const std::vector<bool> differ = places_that_differ(family);
    for (size_t k = 0; k < family.kernels.size(); ++k) {
      numbers[family.kernels[k]] = static_cast<int32_t>(kernels.size()) - 1;
      for (size_t i = 0; i < differ.size(); ++i)
        if (differ[i]) more[family.kernels[k]].push_back(family.offsets[k][i]);
    }
    if (family.kernels.size() == 1) continue;
    share_offsets(shared, differ);
    shared.name = "k_" + text_hash(ir::to_text(shared));
  }
  for (Step& step : schedule.steps) {
    KernelLaunch* launch = std::get_if<KernelLaunch>(&step.work);
    if (launch == nullptr) continue;
    const std::vector<int64_t>& arguments = more[static_cast<size_t>(launch->kernel)];
    launch->arguments.insert(launch->arguments.end(), arguments.begin(), arguments.end());
    launch->kernel = numbers[static_cast<size_t>(launch->kernel)];
  }
  schedule.kernels = std::move(kernels);
}

}  // namespace kb
