// The tool that packs images, as a program.
#include <boost/test/unit_test.hpp>

#include "data/images/image_set.h"
#include "runtime/process.h"
#include "tests/recipes/photos.h"
#include "tests/support/support.h"

namespace kb::pack_tool_test {

BOOST_AUTO_TEST_SUITE(pack_tool)

// The tool's note has the words of a training's note about the same folder.
BOOST_AUTO_TEST_CASE(files_that_are_no_images_by_their_names_are_told) {
  const test::Photos photos;
  const auto packed = [&](const std::string& name) {
    const ProcessResult result = Process({KB_BIN "/pack", photos.dir(), "--to", photos.dir() + "/" + name}).wait();
    BOOST_REQUIRE_MESSAGE(result.status == 0, result.output);
    return result.output;
  };
  BOOST_TEST(!test::contains(packed("all.pack"), "NOTE"));
  test::write_file(photos.directory / "train/n00/notes.txt", "");
  test::write_file(photos.directory / "val/n01/Thumbs.db", "");
  const std::string note = image_set(open_image_store({photos.dir(), {}, 1}), 16).note;
  BOOST_TEST(note.find("NOTE: 2 files do not end in ") == 0u, note);
  const std::string said = packed("some.pack");
  BOOST_TEST(test::contains(said, note + "\n"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::pack_tool_test
