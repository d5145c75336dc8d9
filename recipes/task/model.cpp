#include "recipes/task/model.h"

namespace kb {

ModelOutput classification(const Batch& batch, Tensor logits, Where where) {
  Tensor loss = cross_entropy(logits, batch.labels, batch.label_smoothing, where);
  if (batch.other_labels.valid())
    loss = batch.label_weight * loss +
           (1.0 - batch.label_weight) * cross_entropy(logits, batch.other_labels, batch.label_smoothing, where);
  return {loss, {{"error", 1.0 - argmax_equals(logits, batch.labels, where), {.is_share = true}}}, logits};
}

}  // namespace kb
