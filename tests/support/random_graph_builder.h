// A RandomGraphBuilder draws a random graph: it keeps a pool of tensors, and each of its steps takes some of them and
// leaves others. The steps are in random_graph_pointwise.cpp, random_graph_moves.cpp, random_graph_windows.cpp,
// random_graph_integers.cpp and random_graph_layers.cpp, the pool and the leaves in random_graph_builder.cpp.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/functions.h"
#include "graph/graph.h"
#include "tests/support/random_graph.h"
#include "tests/support/random_numbers.h"

namespace kb::test {

// A tensor of the pool, a bound of its absolute values, and whether every backend computes it exactly.
struct Pooled {
  Tensor tensor;
  double bound = 6;
  bool exact = false;
  bool used = false;
};

class RandomGraphBuilder {
 public:
  RandomGraphBuilder(uint32_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options), graph_("random" + std::to_string(seed)), turn_(seed) {}

  Graph run();

 private:
  struct Step {
    bool smooth;
    int weight;
    void (RandomGraphBuilder::*make)();
  };
  static const std::vector<Step>& steps();

  // --- the pool
  Pooled& pick();
  Pooled& pick_exact();
  Pooled& pick_rank(int64_t least, int64_t most);
  void keep(Tensor tensor, double bound, bool exact = false);
  Tensor use(Pooled& item) {
    item.used = true;
    return item.tensor;
  }
  Tensor positive(Tensor x) { return softplus(x) + 0.5; }

  // --- leaves
  Tensor leaf(const Dims& shape);
  Tensor given(const char* kind, DType dtype, const Dims& shape);
  Pooled fresh(const Dims& shape);
  Tensor indices(const Dims& shape, int64_t limit);
  Dims shape(int64_t least_rank, int64_t most_rank);
  Dims broadcastable(const Dims& shape);
  Ints some_axes(int64_t rank, bool at_least_one);
  Tensor whole(DType dtype, const Dims& shape);
  Tensor pick_whole();
  Tensor whole_pointwise(Tensor a);
  Tensor whole_move(Tensor a);
  // Returns the items in turn. Each seed begins at another item, so that the graphs of many seeds meet all of them.
  template <class T>
  const T& in_turn(const std::vector<T>& items) {
    return items[static_cast<size_t>(turn_++) % items.size()];
  }
  std::string fresh_name(const char* kind) { return kind + std::to_string(names_++); }
  int64_t elements_left(const Dims& shape) const {
    return options_.max_elements / std::max<int64_t>(1, element_count(shape));
  }

  // --- steps
  void unary();
  void tabled_unary(Tensor x);
  void kinked_unary();
  void jumping_unary();
  void binary();
  void kinked_binary();
  void comparison();
  void integers();
  void bits();
  void low_precision();
  void reshaping();
  void transposing();
  void slicing();
  void padding();
  void concatenation();
  void broadcasting();
  void sums();
  void extrema();
  void arg_maximum();
  void moments_step();
  void euclidean();
  void product();
  void convolution_step();
  void convolution_gradients();
  void average_pooling();
  void maximum_pooling();
  void gathering();
  void cropping();
  void scattering();
  void selecting_classes();
  void softmaxes();
  void normalisation();
  void markers();
  void dropping();
  void state_step();
  void whole_numbers();
  // These steps are drawn by the option `layers` alone.
  void attending();
  void ordering();
  void kinks();
  void pooling_the_greatest();
  void indexed_moves();
  void reducing();
  void resampling();
  void convolving();
  void layers();
  void shared_layer();
  void products();
  void losses();
  void random_draws();
  void differentiating();
  static const std::vector<Step>& layer_steps();

  Tensor cut(const Dims& shape);
  Tensor as_floats(Tensor x);
  Tensor image();
  Tensor blocked_image();
  int64_t filters(int64_t groups, int64_t most);
  Window window(const Dims& image, bool dilated);
  void finish();
  void finish_loss();

  RandomNumbers random_;
  const RandomGraphOptions& options_;
  Graph graph_;
  std::vector<Pooled> pool_;
  std::vector<Tensor> whole_;  // integers and booleans: all exact, all outputs
  int names_ = 0;
  uint32_t turn_ = 0;
};

}  // namespace kb::test
