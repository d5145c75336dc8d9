// summary: LeNet-5, wider, on MNIST or Fashion-MNIST
#include "recipes/commands/program.h"
#include "recipes/papers/table.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::lenet_mnist(), argc, argv); }
