#include "recipes/task/image_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/image_files.h"
#include "graph/error.h"

namespace kb {
namespace {

// Returns, for every pixel of images [N, C, H, W], whether its position along `axis` is at or after entry `which` of
// the image's record. The entry is broadcast before the comparison, so that a fused kernel reads only the records from
// memory.
Tensor reached(Tensor images, int64_t axis, Tensor records, int64_t which) {
  Tensor at = broadcast_axes(iota(images.graph(), DType::i32, images.size(axis)), images.shape(), {axis});
  return at >= broadcast_axes(reshape(slice(records, 1, which, which + 1), {records.size(0)}), images.shape(), {0});
}

}  // namespace

Tensor cut_out(Tensor images, Tensor box, const std::vector<uint8_t>& fill) {
  const Call call(Where::current());
  Tensor paint =
      constant(images.graph(), DType::u8, {images.size(1), 1, 1}, std::vector<double>(fill.begin(), fill.end()));
  Tensor rows = bit_and(reached(images, 2, box, 0), logical_not(reached(images, 2, box, 2)));
  Tensor columns = bit_and(reached(images, 3, box, 1), logical_not(reached(images, 3, box, 3)));
  return select(bit_and(rows, columns), paint, images);
}

Tensor mix_images(Tensor images, Tensor partner, Tensor weight) {
  const Call call(Where::current());
  Tensor own = broadcast_axes(weight, images.shape(), {0});
  return own * cast(images, own.dtype()) + (1.0 - own) * cast(gather(images, partner), own.dtype());
}

namespace {

// Positions of the fields in Task::fields.
enum : size_t { kImages, kLabels, kWindow, kBox, kPartner, kMix, kFieldCount };

std::vector<Field> image_fields(const InputSpec& input) {
  const ImageShape& s = input.shape;
  std::vector<Field> fields(kFieldCount);
  fields[kImages] = {
      .name = "images", .dtype = DType::u8, .shape = {s.channels, s.height, s.width}, .axes = "CHW", .in_memory = true};
  fields[kLabels] = {.name = "labels", .dtype = DType::i32, .below = input.classes, .in_memory = true};
  fields[kWindow] = {.name = "augment.window", .dtype = DType::i32, .shape = {3}};
  fields[kBox] = {.name = "augment.box", .dtype = DType::i32, .shape = {4}};
  fields[kPartner] = {.name = "augment.partner", .dtype = DType::i32, .below = Field::kRows};
  fields[kMix] = {.name = "augment.mix", .dtype = DType::f32};
  return fields;
}

// Returns (x / 255 - mean) / stddev for x in 0 to 255, computed as one product and one difference, because a division
// per pixel would take longer than the memory traffic of the pixels.
Tensor normalise_images(Tensor images, const InputSpec& input, DType real) {
  const Call call(Where::current());
  Dims per_channel = {input.shape.channels, 1, 1};
  Graph& graph = images.graph();
  std::vector<double> scale, shift;
  for (size_t c = 0; c < input.mean.size(); ++c) {
    scale.push_back(1 / (255 * input.stddev[c]));
    shift.push_back(input.mean[c] / input.stddev[c]);
  }
  return cast(images, real) * constant(graph, real, per_channel, scale) - constant(graph, real, per_channel, shift);
}

void check_mixed_labels(const Graph& graph, const std::string& recipe, const Batch& batch) {
  if (!batch.other_labels.valid()) return;
  for (const Node& node : graph.nodes)
    for (const Value input : node.inputs)
      if (input == batch.other_labels.value()) return;
  throw Error(
      fmt::format("recipe {}: mixup mixes the images, but the model's loss does not read Batch::other_labels\n"
                  "  hint:     classification(batch, logits) does; or leave mixup out of data.augment",
                  recipe));
}

struct ImageModel {
  std::string recipe;
  Model model;
  InputSpec input;
  OptionValues options;
  AugmentSpec in_graph;

  ModelOutput operator()(Inputs& in) const {
    const AugmentSpec augment = in.is_training() ? in_graph : AugmentSpec{};
    Tensor pixels = in["images"];
    if (augment.moves()) pixels = crop(pixels, in["augment.window"], {pixels.size(2), pixels.size(3)});
    if (augment.cutout > 0) pixels = cut_out(pixels, in["augment.box"], mean_pixel(input.mean));
    Batch batch{{}, in["labels"], in.scalar(kLabelSmoothing), input.classes, options};
    if (augment.mixup > 0) {
      const Tensor partner = in["augment.partner"];
      batch.label_weight = in["augment.mix"];
      pixels = mix_images(pixels, partner, batch.label_weight);
      batch.other_labels = gather(batch.labels, partner);
    }
    batch.images = normalise_images(pixels, input, in.real());
    in.weights();  // declared before the model's own nodes
    ModelOutput output = model(batch);
    check_mixed_labels(in.graph(), recipe, batch);
    return output;
  }
};

template <class Element>
std::span<Element> typed(std::span<std::byte> bytes) {
  return {reinterpret_cast<Element*>(bytes.data()), bytes.size() / sizeof(Element)};
}

template <class Values>
std::span<const std::byte> bytes_of(const Values& values) {
  return std::as_bytes(std::span(values.data(), values.size()));
}

// A part of a labelled image set, which keeps the whole set alive.
class ImageRows : public Source {
 public:
  ImageRows(std::shared_ptr<const Dataset> data, const Split& split, Augmentation augmentation)
      : data_(std::move(data)), split_(split), augmentation_(std::move(augmentation)) {}

  int64_t count() const override { return split_.count(); }

  FieldFill gather(const Order& order, int64_t first_row) const override {
    return [fill = gather_rows(split_, order, first_row, augmentation_)](int64_t step, const FieldMemory& memory) {
      if (memory.fields.size() != kFieldCount) throw std::logic_error("batch memory of a task without images");
      const auto& f = memory.fields;
      fill(step,
           {typed<uint8_t>(f[kImages]),
            typed<int32_t>(f[kLabels]),
            memory.weights,
            {typed<int32_t>(f[kWindow]), typed<int32_t>(f[kBox]), typed<int32_t>(f[kPartner]), typed<float>(f[kMix])},
            memory.samples});
    };
  }

  std::vector<std::string> replaced() const override {
    return split_.files ? split_.files->replaced() : std::vector<std::string>();
  }

  int64_t reading_bytes() const override { return split_.files ? split_.files->held_bytes() : 0; }

  std::span<const std::byte> table(size_t field) const override {
    if (field == kImages) return bytes_of(split_.pixels);
    return field == kLabels ? bytes_of(split_.labels) : std::span<const std::byte>();
  }

 private:
  std::shared_ptr<const Dataset> data_;
  const Split& split_;
  Augmentation augmentation_;
};

// The source of noise_source(). Its augmentation records leave the images as they are.
class NoiseRows : public Source {
 public:
  NoiseRows(int64_t classes, int64_t count) : classes_(classes), count_(count) {}

  int64_t count() const override { return count_; }
  bool is_constant() const override { return true; }

  FieldFill gather(const Order& order, int64_t /*first_row*/) const override {
    return [this, order](int64_t step, const FieldMemory& memory) {
      uint32_t word = 1;
      for (uint8_t& pixel : typed<uint8_t>(memory.fields[kImages]))
        pixel = static_cast<uint8_t>((word = word * 1664525u + 1013904223u) >> 24);
      const std::span<int32_t> labels = typed<int32_t>(memory.fields[kLabels]);
      for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(static_cast<int64_t>(i) % classes_);
      for (const size_t field : {kWindow, kBox, kPartner}) std::ranges::fill(memory.fields[field], std::byte{0});
      std::ranges::fill(typed<float>(memory.fields[kMix]), 1.0f);
      std::ranges::fill(memory.weights, order.weight(step));
    };
  }

 private:
  int64_t classes_, count_;
};

}  // namespace

Task image_task(const Recipe& recipe, const InputSpec& input, const OptionValues& options,
                const AugmentSpec& in_graph) {
  return {.name = recipe.name,
          .fields = image_fields(input),
          .model = ImageModel{recipe.name, recipe.model, input, options, in_graph},
          .optimizers = recipe.optimizers,
          .schedules = recipe.schedules,
          .classes = input.classes,
          .data = input.dataset,
          .train_count = input.train_count,
          .test_count = input.test_count,
          .is_noise = input.noise,
          .is_learnable = input.dataset != kSynthetic};
}

std::shared_ptr<const Source> noise_source(const InputSpec& input) {
  return std::make_shared<NoiseRows>(input.classes, input.train_count);
}

void set_image_sources(Task& task, const InputSpec& input, std::shared_ptr<const Dataset> data,
                       const Augmentation& augmentation) {
  if (data->test.count() > 0) task.test = std::make_shared<ImageRows>(data, data->test, Augmentation{});
  if (input.noise) {
    task.train = task.plain = noise_source(input);
    return;
  }
  task.train = std::make_shared<ImageRows>(data, data->train, augmentation);
  task.plain = std::make_shared<ImageRows>(data, data->train, Augmentation{});
}

}  // namespace kb
