// Pictures in points, of SVG, by librsvg's program `rsvg-convert` where it is installed (Debian: librsvg2-bin).
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Draws the file `svg` at twice its size into the file `png`. `rsvg_convert`: path of the program
// (RuntimeOptions::rsvg_convert). Throws Error where the program refuses.
void write_png(const std::string& rsvg_convert, const std::filesystem::path& svg, const std::filesystem::path& png);

}  // namespace kb
