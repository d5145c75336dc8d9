// Converts pictures from SVG to pixels (PNG) or for print (PDF), by librsvg's program `rsvg-convert` if it is installed
// (Debian: librsvg2-bin).
#pragma once
#include <filesystem>
#include <string>

namespace kb {

// Draws the file `svg` into the file `to`, whose ending decides: a PNG at twice the size, or a PDF with vectors.
// `rsvg_convert`: path of the program (RuntimeOptions::rsvg_convert). Throws Error if the program fails.
void draw_svg(const std::string& rsvg_convert, const std::filesystem::path& svg, const std::filesystem::path& to);

}  // namespace kb
