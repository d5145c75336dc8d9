# Protobuf with its compiler, which Debian has as a package of its own: protobuf::libprotobuf-lite, protobuf::protoc. A
# program that only links the installed Kilobatch needs CMake's own module, for the library alone.
include(${CMAKE_ROOT}/Modules/FindProtobuf.cmake)
if(NOT TARGET protobuf::protoc)
  set(Protobuf_FOUND FALSE)
endif()
