// The note about a disk that is too small for a run's files.
#include "recipes/run/folder_room.h"

#include <boost/test/unit_test.hpp>
#include <limits>

namespace kb::folder_room_test {

BOOST_AUTO_TEST_SUITE(folder_room)

BOOST_AUTO_TEST_CASE(a_note_names_what_is_free_and_what_is_needed) {
  const RunFiles files{.checkpoint_bytes = 2'000'000, .checkpoints = 4, .model_bytes = 1'000'000, .models = 2};
  BOOST_TEST(files.total() == 10'000'000);
  BOOST_TEST(over_disk_note("runs/mine", 10'000'000, files) == "");
  BOOST_TEST(over_disk_note("runs/mine", 9'000'000, files) ==
             "NOTE: the disk of runs/mine has 9 MB free, and the run's files take up to 10 MB more (4 of 2 MB for "
             "checkpoints, 2 of 1 MB for model.safetensors): a full disk ends the run");
}

BOOST_AUTO_TEST_CASE(free_bytes_of_a_folder) {
  BOOST_TEST(free_bytes("/") > 0);
  BOOST_TEST(free_bytes("/no/such/folder") == std::numeric_limits<int64_t>::max());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace kb::folder_room_test
