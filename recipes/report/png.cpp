#include "recipes/report/png.h"

#include <fmt/format.h>

#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/process.h"

namespace kb {

namespace fs = std::filesystem;

void write_png(const std::string& rsvg_convert, const fs::path& svg, const fs::path& png) {
  const fs::path drawn = png.string() + ".tmp";
  const ProcessResult result = Process({rsvg_convert, "--zoom=2", "--output=" + drawn.string(), svg.string()}).wait();
  if (result.status != 0)
    throw Error(fmt::format("{}: exit code {}\n  got:      {}", rsvg_convert, result.status, result.output));
  const std::string picture = read_file(drawn);
  fs::remove(drawn);
  write_file_atomically(png, picture);
}

}  // namespace kb
