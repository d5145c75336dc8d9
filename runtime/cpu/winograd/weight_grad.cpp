#include "runtime/cpu/winograd/plan.h"
#include "runtime/cpu/winograd/tile_block.h"
#include "runtime/cpu/winograd/weights.h"

namespace kb::winograd {

namespace {

// Each shard sums terms, of the input times of the gradient, over its tiles; the gradient is made of the sum of the
// shards.
class WeightGradOp : public LibraryOp {
 public:
  WeightGradOp(const Kernels& kernels, const ConvSpec& spec, int shards)
      : kernels_(kernels), spec_(spec), shards_(std::min<int64_t>(shards, spec.n)), shape_(spec) {
    block_ = tiles_at_once(shape_, spec.n, shards_);
    sums_bytes_ = static_cast<size_t>(kTerms * spec.c * spec.o) * sizeof(float);
    source_bytes_ = panel_bytes(spec.c, block_);
    gradient_bytes_ = panel_bytes(spec.o, block_);
  }

  size_t scratch_bytes() const override { return static_cast<size_t>(shards_) * shard_bytes(); }
  std::string implementation() const override { return std::string("winograd:") + kernels_.isa; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    each_shard(pool, shards_, [&](int64_t shard) {
      run_shard(shard, static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), scratch);
    });
    write_weight_gradient(pool, spec_, static_cast<const float*>(scratch), shards_,
                          static_cast<int64_t>(sums_bytes_ / sizeof(float)), static_cast<float*>(out[0]));
  }

 private:
  size_t shard_bytes() const { return sums_bytes_ + source_bytes_ + gradient_bytes_; }

  void run_shard(int64_t shard, const float* x, const float* y, void* scratch) const {
    const int64_t tiles = shape_.tile_count(), begin = shard_bound(spec_.n, shards_, shard) * tiles,
                  end = shard_bound(spec_.n, shards_, shard + 1) * tiles;
    auto* sums = at<float>(scratch, sums_bytes_ * static_cast<size_t>(shard));
    char* own = at(scratch, sums_bytes_ * static_cast<size_t>(shards_) +
                                (source_bytes_ + gradient_bytes_) * static_cast<size_t>(shard));
    for (int64_t first = begin; first < end; first += block_) {
      const int64_t count = std::min(block_, end - first);
      const Panels inputs = panels(own, count, spec_.c), gradients = panels(own + source_bytes_, count, spec_.o);
      write_source_terms(kernels_, shape_, x, first, inputs);
      write_gradient_terms(y, first, gradients);
      for (int64_t term = 0; term < kTerms; ++term) {
        add_products(term, inputs, gradients, first > begin, sums);
        prefetch_source(shape_, x, first + count, std::min(block_, end - first - count), term);
      }
    }
  }

  void write_gradient_terms(const float* y, int64_t first, const Panels& terms) const {
    const Image& image = shape_.result;
    shape_.each_tile(first, terms.items, [&](int64_t i, int64_t sample, const TilePlaces& tile) {
      kernels_.gradient_terms(y + sample * image.size() + tile.result_pixel * image.block, image.steps(),
                              image.blocks(), tile.result, terms, i);
    });
  }

  // Adds the products of one term to the sums [term][block of outputs][input][16 outputs].
  void add_products(int64_t term, const Panels& inputs, const Panels& gradients, bool adds, float* sums) const {
    const int64_t blocks = shape_.result.blocks(), sums_block = spec_.c * kChannels;
    Product p{.count = inputs.items, .right_block = gradients.block_step(), .sums_block = sums_block, .adds = adds};
    for (int64_t c = 0; c < shape_.source.blocks(); ++c) {
      for (int64_t b = 0; b < blocks; b += kernels_.blocks) {
        const int64_t together = std::min<int64_t>(kernels_.blocks, blocks - b);
        p.right = gradients.data + term * gradients.term_step + b * gradients.block_step();
        each_part(kChannels, kernels_.rows, [&](int64_t row, int64_t rows) {
          p.left = inputs.data + term * inputs.term_step + c * inputs.block_step() + row;
          p.sums = sums + (term * blocks + b) * sums_block + (c * kChannels + row) * kChannels;
          kernels_.of_channels[rows - 1][together - 1](p);
        });
      }
    }
  }

  const Kernels& kernels_;
  ConvSpec spec_;
  int64_t shards_;
  Shape shape_;
  int64_t block_ = 0;  // tiles whose terms are in memory at once
  size_t sums_bytes_ = 0, source_bytes_ = 0, gradient_bytes_ = 0;
};

}  // namespace

std::unique_ptr<LibraryOp> plan_weight_grad(const Kernels& kernels, const ConvSpec& spec, int shards) {
  return std::make_unique<WeightGradOp>(kernels, spec, shards);
}

}  // namespace kb::winograd
