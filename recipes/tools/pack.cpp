// summary: a folder of images in one file that processes share, or smaller copies of them: DIR --to FILE; --verify FILE
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <optional>

#include "data/class_folders.h"
#include "data/images/image_set.h"
#include "data/images/pack.h"
#include "graph/enum_table.h"
#include "recipes/config/command_line.h"
#include "recipes/config/values.h"
#include "recipes/perf/memory_answer.h"
#include "recipes/run/console.h"
#include "recipes/run/tool.h"
#include "runtime/options.h"
#include "runtime/usable_processors.h"

namespace kb {
namespace {

using Clock = std::chrono::steady_clock;

constexpr EnumNames<PackStage> kStageWords({"confirmed", "packed", "verified"});

// Prints the progress on standard error: rewrites one line on a terminal, prints a line per minute elsewhere.
class ProgressLine {
 public:
  void operator()(PackStage stage, int64_t images, int64_t of, uint64_t bytes) {
    const Clock::time_point now = Clock::now();
    if (stage != stage_) {
      stage_ = stage;
      began_ = shown_ = now;
      begun_with_ = images;
    }
    if (now - shown_ < (terminal_ ? std::chrono::milliseconds(200) : std::chrono::minutes(1)) && images < of) return;
    shown_ = now;
    const std::chrono::duration<double> seconds = now - began_;
    const double speed = static_cast<double>(images - begun_with_) / std::max(seconds.count(), 1e-9);
    fmt::print(stderr, "{}{} {} of {} images, {}, {:.0f} images/s, {} left{}", terminal_ ? "\r\x1b[K" : "",
               kStageWords[stage], images, of, bytes_text(bytes), speed,
               speed > 0 ? time_left_text(static_cast<double>(of - images) / speed) : "?",
               terminal_ && images < of ? "" : "\n");
  }

 private:
  const bool terminal_ = ::isatty(2) == 1;
  std::optional<PackStage> stage_;
  Clock::time_point began_, shown_;
  int64_t begun_with_ = 0;  // images at the first call of the stage; those of an earlier start took no time
};

int64_t image_count(const ImageStore& store) {
  return static_cast<int64_t>(store.index().train.size() + store.index().test.size());
}

// Reads all images back and compares their checksums. Returns the exit code, 1 if an image is damaged.
int verify(const std::string& file, const ImageStore& pack, int threads) {
  const std::vector<std::string> damaged = verify_pack(pack, threads, ProgressLine());
  for (const std::string& name : damaged) fmt::print("damaged: {}\n", name);
  fmt::print("{}: {} of {} images have their checksum, fingerprint {}\n", file,
             image_count(pack) - static_cast<int64_t>(damaged.size()), image_count(pack),
             index_fingerprint(pack.index()));
  return damaged.empty() ? 0 : 1;
}

int pack(const std::string& data, const std::string& to, const PackForm& form, int threads) {
  const auto store = open_image_store({data, RuntimeOptions::from_environment().cache_dir, threads});
  if (const std::string note = passed_over_note(store->index().passed); !note.empty()) fmt::print("{}\n", note);
  const int64_t there = write_pack(*store, to, {form, threads, ProgressLine()});
  if (there > 0) fmt::print("went on behind {} images of an earlier start\n", there);
  const auto made = open_pack(to);
  fmt::print("{}: {} training and {} test images of {} classes, {}\n", to, made->index().train.size(),
             made->index().test.size(), made->index().classes.size(),
             bytes_text(static_cast<int64_t>(std::filesystem::file_size(to))));
  return verify(to, *made, threads);
}

}  // namespace

int pack_command(const ToolArguments& arguments) {
  std::string data, to, checked;
  PackForm form;
  int threads = usable_processors();
  CommandLine line(
      "Packs the images of a folder (DIR/train/CLASS/*, DIR/val/CLASS/*) into one file for --dataset imagenet --data "
      "FILE. The files' own bytes give the bits that the folder gives; started again after a stop it goes on.",
      "./run pack DIR --to FILE, or ./run pack --verify FILE");
  line.text({"DIR", "", "folder of the images, or a pack of them"}, data)
      .text({"--to", "FILE", "write the pack into this file"}, to)
      .whole({"--side", "PIXELS",
              "shrink images to this length of the shorter side, pixels; 0: pack the files as they are"},
             form.side, 0, 65500)
      .whole({"--quality", "Q", "JPEG quality of the copies, 1 to 100"}, form.quality, 1, 100)
      .flag("--raw", form.raw, "store bare pixels, which need no decoding and about ten times the space")
      .whole({"--threads", "N", "number of threads that read, shrink and verify"}, threads, 1, 1024)
      .text({"--verify", "FILE", "compare each image of this pack with its checksum; exit code 1 where one differs"},
            checked);
  if (!line.parse(arguments.words)) return 0;
  if (!checked.empty() && data.empty() && to.empty()) return verify(checked, *open_pack(checked), threads);
  if (!checked.empty() || data.empty() || to.empty())
    throw UsageError("pack: expected DIR --to FILE, or --verify FILE");
  if (form.raw && form.side == 0) throw UsageError("--raw: expected a --side beside it, of 1 pixel or more");
  return pack(data, to, form, threads);
}

}  // namespace kb
