# libdeflate::libdeflate. Debian 12 has no package file of it.
include(${CMAKE_CURRENT_LIST_DIR}/find_by_header.cmake)
kb_find_by_header(libdeflate libdeflate.h deflate libdeflate.h "#define LIBDEFLATE_VERSION_STRING" libdeflate-dev)
