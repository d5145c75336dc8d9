# oneDNN::oneDNN. Debian's package file of oneDNN asks for the OpenCL headers, which nothing here includes.
include(${CMAKE_CURRENT_LIST_DIR}/find_by_header.cmake)
kb_find_by_header(oneDNN oneapi/dnnl/dnnl.hpp dnnl oneapi/dnnl/dnnl_version.h "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)"
  libdnnl-dev)
