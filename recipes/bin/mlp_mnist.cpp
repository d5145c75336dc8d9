// summary: a 784-256-256-10 perceptron on MNIST
#include "recipes/commands/program.h"
#include "recipes/papers/table.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::mlp_mnist(), argc, argv); }
