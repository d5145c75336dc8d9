// summary: a small convolutional net on drawn glyphs: no download, about a minute
#include "recipes/papers/table.h"
#include "recipes/run/trainer.h"

int main(int argc, char** argv) { return kb::run_recipe(kb::glyphs(), argc, argv); }
