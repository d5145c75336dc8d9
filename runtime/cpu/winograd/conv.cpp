#include <algorithm>

#include "runtime/cpu/winograd/plan.h"
#include "runtime/cpu/winograd/tile_block.h"

namespace kb::winograd {

namespace {

class ConvOp : public LibraryOp {
 public:
  ConvOp(const Kernels& kernels, const ConvSpec& spec, int shards)
      : kernels_(kernels), spec_(spec), shards_(std::min<int64_t>(shards, spec.n)), shape_(spec) {
    block_ = tiles_at_once(shape_, spec.n, shards_);
    zeros_ = scratch_.add(static_cast<size_t>(shape_.result.channels) * sizeof(float));
    source_bytes_ = panel_bytes(shape_.source.channels, block_);
    shard_bytes_ = source_bytes_ + panel_bytes(shape_.result.channels, block_);
    panels_ = scratch_.add(shard_bytes_ * static_cast<size_t>(shards_));
  }

  size_t scratch_bytes() const override { return scratch_.bytes(); }
  std::string implementation() const override { return std::string("winograd:") + kernels_.isa; }

  void run(Pool& pool, std::span<const void* const> in, std::span<void* const> out, void* scratch) const override {
    std::fill_n(at<float>(scratch, zeros_), shape_.result.channels, 0.0F);
    const auto* bias = static_cast<const float*>(spec_.bias ? in[2] : at(scratch, zeros_));
    each_shard(pool, shards_, [&](int64_t shard) {
      run_shard(shard, static_cast<const float*>(in[0]), static_cast<const float*>(in[1]), bias,
                static_cast<float*>(out[0]), scratch);
    });
  }

 private:
  void run_shard(int64_t shard, const float* source, const float* weights, const float* bias, float* result,
                 void* scratch) const {
    const int64_t begin = shard_bound(spec_.n, shards_, shard), end = shard_bound(spec_.n, shards_, shard + 1);
    char* own = at(scratch, panels_ + shard_bytes_ * static_cast<size_t>(shard));
    const int64_t last = end * shape_.tile_count();
    for (int64_t first = begin * shape_.tile_count(); first < last; first += block_) {
      const int64_t count = std::min(block_, last - first);
      const Panels from = panels(own, count, shape_.source.channels),
                   sums = panels(own + source_bytes_, count, shape_.result.channels);
      write_source_terms(kernels_, shape_, source, first, from);
      for (int64_t term = 0; term < kTerms; ++term) {
        multiply(term, from, weights, sums);
        prefetch_source(shape_, source, first + count, std::min(block_, last - first - count), term);
      }
      const Image& image = shape_.result;
      shape_.each_tile(first, count, [&](int64_t i, int64_t sample, const TilePlaces& tile) {
        kernels_.result_of_terms(sums, i, image.blocks(), bias, tile.result, image.steps(),
                                 result + sample * image.size() + tile.result_pixel * image.block);
      });
    }
    if (spec_.relu)
      relu_in_place(spec_.dtype, result + begin * shape_.result.size(), (end - begin) * shape_.result.size());
  }

  // Multiplies one term of all tiles by that of the weights.
  void multiply(int64_t term, const Panels& from, const float* weights, const Panels& sums) const {
    const int64_t weight_block = shape_.source.channels * kChannels, blocks = shape_.result.blocks();
    Product p{.blocks = shape_.source.blocks(),
              .count = kChannels,
              .left_step = from.block_step(),
              .right_block = weight_block,
              .sums_block = sums.block_step()};
    for (int64_t b = 0; b < blocks; b += kernels_.blocks) {
      const int64_t together = std::min<int64_t>(kernels_.blocks, blocks - b);
      p.right = weights + (term * blocks + b) * weight_block;
      each_part(from.items, kernels_.rows, [&](int64_t row, int64_t rows) {
        p.left = from.data + term * from.term_step + row * kChannels;
        p.sums = sums.data + term * sums.term_step + b * sums.block_step() + row * kChannels;
        kernels_.of_tiles[rows - 1][together - 1](p);
      });
    }
  }

  const Kernels& kernels_;
  ConvSpec spec_;
  int64_t shards_;
  Shape shape_;
  int64_t block_ = 0;  // tiles whose terms are in memory at once
  ScratchLayout scratch_;
  size_t zeros_ = 0, panels_ = 0, source_bytes_ = 0, shard_bytes_ = 0;
};

}  // namespace

std::unique_ptr<LibraryOp> plan_conv(const Kernels& kernels, const ConvSpec& spec, int shards) {
  return std::make_unique<ConvOp>(kernels, spec, shards);
}

}  // namespace kb::winograd
