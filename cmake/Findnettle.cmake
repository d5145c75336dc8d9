# nettle::nettle. It has no package file for CMake.
include(${CMAKE_CURRENT_LIST_DIR}/find_by_header.cmake)
kb_find_by_header(nettle nettle/sha2.h nettle nettle/version.h "#define NETTLE_VERSION_(MAJOR|MINOR)" nettle-dev)
