// summary: residual networks of 8 to 110 layers on CIFAR-10
#include "recipes/commands/program.h"
#include "recipes/papers/table.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::resnet_cifar(), argc, argv); }
