// summary: a small convolutional net on drawn glyphs: no download, about a minute
#include "recipes/commands/program.h"
#include "recipes/papers/table.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::glyphs(), argc, argv); }
