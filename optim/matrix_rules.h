// Update rules that look at layers as matrices; Shampoo is in optim/shampoo.h. Each layer of their group has two axes
// or more; the axes behind the first count as one, as those of a filter (O, I, H, W).
#pragma once
#include "graph/update_rule.h"

namespace kb {

// Returns matrices near the orthogonal ones that are nearest to `matrices`, (number, rows, columns): with the singular
// vectors of each, and singular values between about 0.7 and 1.2 in place of its own (Jordan et al. 2024). Five steps
// X <- a X + (b X X^T + c (X X^T)^2) X from X / (|X| + 1e-7), (a, b, c) = (3.4445, -4.7750, 2.0315).
Tensor orthogonalised(Tensor matrices);

// Is the rule `muon` of optim/README.md; O is orthogonalised().
Tensor muon_update(UpdateContext& c);

}  // namespace kb
