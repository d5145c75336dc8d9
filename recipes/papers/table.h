// The recipes by name. Each is a file of its own that holds model, defaults and paper, a row here, and a program in
// recipes/bin/.
#pragma once
#include <string>
#include <vector>

#include "recipes/task/model.h"

namespace kb {

Recipe glyphs();
Recipe lenet_mnist();
Recipe mlp_mnist();
Recipe resnet50();
Recipe resnet_cifar();

std::vector<Recipe> all_recipes();
bool is_listed(const std::string& name);
// Throws Error with the nearest name there is.
Recipe find_recipe(const std::string& name);

}  // namespace kb
