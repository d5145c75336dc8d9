#include "recipes/models/loss_curvature.h"

namespace kb {

LossCurvature loss_curvature(const CurvatureRequest& request, const std::optional<Recipe>& own,
                             const std::function<void(const std::string&)>& say) {
  RunLoss loss(request.loss, own, {"curvature", request.groups, true}, say);
  LossCurvature found;
  found.facts = loss.facts();
  const auto product = [&](const std::vector<double>& vector) { return loss.product(vector); };
  GradientGroups groups(found.facts.parameters, request.groups);
  loss.visit_gradients([&](double value, const std::vector<double>& gradient) {
    found.loss += value / static_cast<double>(loss.minibatches());
    groups.add(gradient);
  });
  found.spectrum = lanczos(product, found.facts.parameters,
                           {request.eigenvalues, request.tolerance, request.most_products, loss.seed()});
  found.noise = curvature_noise(groups, found.facts.per_minibatch, product);
  return found;
}

}  // namespace kb
