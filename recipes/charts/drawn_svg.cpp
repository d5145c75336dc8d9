#include "recipes/charts/drawn_svg.h"

#include <fmt/format.h>

#include "runtime/atomic_file.h"
#include "runtime/input_file.h"
#include "runtime/process.h"

namespace kb {

namespace fs = std::filesystem;

void draw_svg(const std::string& rsvg_convert, const fs::path& svg, const fs::path& to) {
  const fs::path drawn = to.string() + ".tmp";
  const bool is_pdf = to.extension() == ".pdf";
  const ProcessResult result = Process({rsvg_convert, is_pdf ? "--format=pdf" : "--format=png",
                                        is_pdf ? "--zoom=1" : "--zoom=2", "--output=" + drawn.string(), svg.string()})
                                   .wait();
  if (result.status != 0)
    throw Error(fmt::format("{}: exit code {}\n  got:      {}", rsvg_convert, result.status, result.output));
  const std::string picture = read_file(drawn);
  fs::remove(drawn);
  write_file_atomically(to, picture);
}

}  // namespace kb
