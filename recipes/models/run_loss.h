// The training loss of a run's model as a function of its parameters: its gradient, and products with its Hessian.
#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "optim/box_maximum.h"
#include "recipes/config/command_line.h"
#include "recipes/models/run_model.h"
#include "recipes/train/feed.h"
#include "runtime/json.h"
#include "runtime/session.h"

namespace kb {

struct LossRequest {
  RunModelRequest model;
  std::string data = {};      // directory of the data; "" = that of the run
  int64_t samples = 2048;     // training samples, the first ones of the seed's order; rounded down to whole groups
  int64_t per_minibatch = 0;  // samples that the loss is computed of at once; 0: as many as a worker of the run has
};

// Says in a tool's help which loss it is.
inline constexpr const char* kLossText =
    "The loss is that of training samples without augmentation, dropout and weight decay; batch norm takes the "
    "statistics of minibatches as large as a worker's.";
// Adds RUN and the flags of such a request to a tool's.
void add_loss_flags(CommandLine& line, LossRequest& request);

struct LossFacts {
  std::string description;  // "lenet_mnist after 938 steps (runs/a/checkpoints/best.safetensors)"
  int64_t parameters = 0, samples = 0, per_minibatch = 0;
};
// Return what a tool tells of a loss: two lines, and the first members of an object.
std::string to_text(const LossFacts& facts, double loss);
Json to_json(const LossFacts& facts, double loss);

// A graph of a minibatch's loss and the gradient of each parameter; if `with_products`, also of the Hessian's product
// with a vector, whose parts are inputs.
struct LossGraph {
  // Names of inputs and outputs, before a parameter's name.
  static constexpr const char *kGradientOf = "gradient.", *kVectorOf = "vector.", *kProductOf = "product.";

  LossGraph(const Task& task, int64_t samples, DType real, bool with_products);

  std::vector<std::string> names = {};  // names of the parameters
  std::vector<size_t> sizes = {};       // their elements
  Graph graph;

 private:
  void add_products(const std::vector<Tensor>& parameters, const std::vector<Tensor>& gradient);
};

// The loss without augmentation, dropout and weight decay, its mean over some of the run's training samples. It is
// computed on the CPU, in f64 for a run in f64, otherwise in f32. Frozen parameters count as the others do. Vectors
// hold all parameters, one after the other.
class RunLoss {
 public:
  struct Use {
    const char* tool;            // name of the command, which error messages tell
    int64_t groups = 1;          // the minibatches are a multiple of it
    bool with_products = false;  // whether product() is called
  };
  // Calls `say` with lines for a person. Throws Error if there is no such run, or fewer samples than a minibatch for
  // each group.
  RunLoss(const LossRequest& request, const std::optional<Recipe>& own, const Use& use,
          const std::function<void(const std::string&)>& say);

  const LossFacts& facts() const { return facts_; }
  uint64_t seed() const { return static_cast<uint64_t>(model_.config.arithmetic.seed); }
  int64_t minibatches() const { return facts_.samples / facts_.per_minibatch; }

  std::vector<double> parameters() const;
  // Sets the parameters, and returns the mean loss and its gradient there.
  ValueAndGradient at(const std::vector<double>& parameters);

  // Calls visit(loss, gradient) for each minibatch.
  template <class Visit>
  void visit_gradients(Visit visit) {
    std::vector<double> gradient(static_cast<size_t>(facts_.parameters));
    for (int64_t i = 0; i < minibatches(); ++i) {
      step(i);
      std::ranges::fill(gradient, 0.0);
      add_outputs(LossGraph::kGradientOf, gradient);
      visit(session_.read_scalar("loss"), std::as_const(gradient));
    }
  }

  // Returns the product of the mean loss's Hessian with a vector. It is linear in the vector, whose size f32 has to
  // hold: it is computed for the unit vector.
  std::vector<double> product(const std::vector<double>& vector);

 private:
  void step(int64_t minibatch);
  void add_outputs(const std::string& kind, std::vector<double>& sums);
  void set_vector(const std::vector<double>& vector, double size);

  RunModel model_;
  const Task task_;
  const DType real_;
  LossFacts facts_;
  const LossGraph graph_;
  Session session_;
  HostBatch batch_;
  FieldFill fill_;
  const SampleNames names_;
  std::vector<double> values_;
};

}  // namespace kb
