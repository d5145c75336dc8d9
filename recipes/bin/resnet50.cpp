// summary: ResNet-50 at 224x224 on synthetic images, for inspect and bench
#include "recipes/commands/program.h"
#include "recipes/papers/table.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::resnet50(), argc, argv); }
