// summary: residual networks of 8 to 110 layers on CIFAR-10
#include "recipes/papers/table.h"
#include "recipes/run/trainer.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::resnet_cifar(), argc, argv); }
