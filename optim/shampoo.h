// Shampoo: the gradient of a matrix, multiplied by inverse roots of its covariances on both sides (Gupta et al. 2018,
// arXiv 1802.09568; Anil et al. 2020, arXiv 2002.09018).
#pragma once
#include "graph/update_rule.h"

namespace kb {

// The longest side of a block, rows or columns. Matrices with a longer side are cut into equal blocks, which are
// preconditioned one by one (Anil et al. 2020).
inline constexpr int64_t kShampooSide = 128;

// Returns (A + ridge s I)^(-1/4) of each symmetric matrix A without negative eigenvalues, (number, side, side). s is
// (the sum of the eigenvalues' eighth powers)^(1/8), between the greatest eigenvalue and side^(1/8) times that. `ridge`
// is a scalar; the result has converged for a ridge of 1e-6 and above.
Tensor inverse_fourth_root(Tensor matrices, Tensor ridge);

// L <- b2 L + (1 - b2) g g^T; R <- b2 R + (1 - b2) g^T g; p = (L + ridge I)^(-1/4) g (R + ridge I)^(-1/4), block by
// block (Gupta et al. 2018, algorithm 1, with moving means in place of sums); a <- b1 a + (1 - b1) |f| / |p| p,
// f = g / (sqrt(v^) + epsilon), v^ as in adam: p gets the norm of another rule's step (grafting: Agarwal et al. 2020;
// Anil et al. 2020), here RMSprop's, over a whole layer; w <- w - eta a^ - eta lambda d w, a^ = a / (1 - b1^t). The
// ridges are those of inverse_fourth_root().
Tensor shampoo_update(UpdateContext& c);

}  // namespace kb
