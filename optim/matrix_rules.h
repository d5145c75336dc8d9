// Update rules that look at layers as matrices; Shampoo is in optim/shampoo.h. Each layer of their group has two axes
// or more; the axes behind the first count as one, as those of a filter (O, I, H, W).
#pragma once
#include "graph/update_rule.h"

namespace kb {

// Returns matrices near the orthogonal ones that are nearest to `matrices`, (number, rows, columns): with the singular
// vectors of each, and singular values between about 0.7 and 1.2 in place of its own (Jordan et al. 2024). Five steps
// X <- a X + (b X X^T + c (X X^T)^2) X from X / (|X| + 1e-7), (a, b, c) = (3.4445, -4.7750, 2.0315).
Tensor orthogonalised(Tensor matrices);

// u <- m u + (1 - m) g; w <- w - eta s O(n) - eta lambda d w, n = m u + (1 - m) g, or u without Nesterov's step, and O
// orthogonalised(). Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks"; lambda as in adamw.
// For a matrix of R rows and C columns, s is sqrt(max(1, R / C)) as theirs, or, where the scalar update_rms is above 0,
// update_rms sqrt(max(R, C)): the root mean square of s O(n) is then about update_rms (Liu et al. 2025, arXiv
// 2502.16982, eq. 4, with 0.2, so that the rates and weight decay of AdamW fit).
Tensor muon_update(UpdateContext& c);

}  // namespace kb
