// Two networks that are trained against each other on drawn glyphs (Goodfellow et al. 2014, Generative adversarial
// networks, section 3): a generator makes images of noise, a discriminator tells them from drawn ones. Each network is
// a group of parameters with a loss, an optimizer and a learning rate of its own; both are updated in one step, from
// the values before it. `two_networks --groups "discriminator --lr 0"` trains the generator alone.
#include <cmath>
#include <cstring>

#include "data/hash_random.h"
#include "data/sets/glyphs.h"
#include "graph/scope.h"
#include "recipes/commands/program.h"

using namespace kb;

namespace {

constexpr int64_t kPixels = kGlyphSide * kGlyphSide, kNoise = 32, kHidden = 128;

// Drawn images, and noise beside each: another in every epoch of a training, the same in every evaluation.
class Glyphs : public SampleSource {
 public:
  explicit Glyphs(Split drawn) : SampleSource({kPixels, kNoise * sizeof(float)}), drawn_(std::move(drawn)) {}

  int64_t count() const override { return drawn_.count(); }
  void read(const SampleRequest& sample, std::span<const std::span<std::byte>> fields) const override {
    if (!fields[0].empty())
      std::memcpy(fields[0].data(), drawn_.pixels.data() + sample.number * kPixels, static_cast<size_t>(kPixels));
    HashStream random(hash_words(sample.seed, sample.epoch, sample.number));
    for (size_t at = 0; at < fields[1].size(); at += sizeof(float)) {
      const float value = random.uniform(-1, 1);
      std::memcpy(fields[1].data() + at, &value, sizeof value);
    }
  }

 private:
  Split drawn_;
};

// noise [N, 32] -> grey images [N, 784] in [0, 1].
Tensor generator(Tensor noise) {
  const Scope scope("generator");
  return sigmoid(linear("image", relu(linear("hidden", noise, kHidden)), kPixels));
}

// images [N, 784] -> the logarithm of the odds [N] that they are drawn ones.
Tensor odds(Tensor images) {
  const Tensor hidden = leaky_relu(linear("hidden", images, kHidden), 0.2);
  return reshape(linear("odds", hidden, 1), {images.size(0)});
}

// How far generated images are from drawn ones: the root mean square, over pixels, of the difference of the means and
// of the standard deviations. It takes sums over all samples of an evaluation, so it is no mean of values of the
// samples.
Metric distance(Tensor drawn, Tensor made) {
  const auto figure = [](std::span<const MetricValues> sums, int64_t samples) -> std::vector<double> {
    double squares = 0;
    for (size_t pixel = 0; pixel < kPixels; ++pixel) {
      double mean[2], deviation[2];
      for (size_t part = 0; part < 2; ++part) {
        const double n = static_cast<double>(samples), sum = sums[2 * part].values[pixel];
        mean[part] = sum / n;
        deviation[part] = std::sqrt(std::max(0.0, sums[2 * part + 1].values[pixel] / n - mean[part] * mean[part]));
      }
      squares += std::pow(mean[0] - mean[1], 2) + std::pow(deviation[0] - deviation[1], 2);
    }
    return {std::sqrt(squares / kPixels)};
  };
  return {{{"distance"}}, {{drawn}, {drawn * drawn}, {made}, {made * made}}, figure};
}

ModelOutput two_networks(Inputs& in) {
  const Tensor drawn = reshape(cast(in["images"], in.real()) / 255.0, {in["images"].size(0), kPixels});
  const Tensor made = generator(in["noise"]);
  Tensor of_drawn, of_made;
  {
    const Scope scope("discriminator");
    of_drawn = odds(drawn);
  }
  {
    const Reuse again("discriminator");
    of_made = odds(made);
  }
  ModelOutput output;
  output.losses = {{"generator_loss", softplus(-of_made), "generator"},
                   {"discriminator_loss", softplus(-of_drawn) + softplus(of_made), "discriminator"}};
  output.metrics = {distance(drawn, made)};
  output.drawings = {{"made", reshape(made, {made.size(0), 1, kGlyphSide, kGlyphSide})}};
  return output;
}

Task load_glyphs(const TaskRequest&) {
  Dataset glyphs = glyphs_dataset({.train_count = 4000, .test_count = 400, .noise = 0});
  return {.name = "two_networks",
          .fields = {{.name = "images", .dtype = DType::u8, .shape = {1, kGlyphSide, kGlyphSide}, .axes = "CHW"},
                     {.name = "noise", .shape = {kNoise}}},
          .model = two_networks,
          .data = "glyphs",
          .train = std::make_shared<Glyphs>(std::move(glyphs.train)),
          .test = std::make_shared<Glyphs>(std::move(glyphs.test))};
}

}  // namespace

int main(int argc, char** argv) {
  // Adam with beta1 0.5 as in Radford et al. 2015, Unsupervised representation learning with deep convolutional
  // generative adversarial networks, section 4.
  return run_recipe({.name = "two_networks",
                     .summary = "a generator and a discriminator on drawn glyphs, each with a learning rate of its own",
                     .paper = "Goodfellow et al. 2014, Generative adversarial networks",
                     .defaults = {.minibatch = 100,
                                  .epochs = 20,
                                  .optimizer = "adam",
                                  .hyper = {{"beta1", 0.5}},
                                  .lr = 1e-3,
                                  .schedule = "constant"},
                     .preset = [](const PresetChoice&) -> Preset {
                       return {.flags = {"--groups", "discriminator --lr 0.0005"}};
                     },
                     .task = load_glyphs},
                    argc, argv);
}
