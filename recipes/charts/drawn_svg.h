// Pictures of SVG in points (PNG) or for print (PDF), by librsvg's program `rsvg-convert` where it is installed
// (Debian: librsvg2-bin).
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Draws the file `svg` into the file `to`, by whose ending it is a PNG, at twice the size, or a PDF, in vectors.
// `rsvg_convert`: path of the program (RuntimeOptions::rsvg_convert). Throws Error where the program refuses.
void draw_svg(const std::string& rsvg_convert, const std::filesystem::path& svg, const std::filesystem::path& to);

}  // namespace kb
