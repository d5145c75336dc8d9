# Finds the packages whose own package file is missing, asks for more than is needed, or for less. Read by the build and by those
# who use the installed Kilobatch.

# kb_find_library(NAME HEADER LIBRARY VERSION_HEADER LINES): finds a library without its package file, as the target NAME::NAME,
# NAME_FOUND and NAME_VERSION. LINES: a regular expression of the lines in which VERSION_HEADER says its version.
macro(kb_find_library name header library version_header lines)
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
    set(${name}_FOUND TRUE)
    file(STRINGS ${${name}_INCLUDE_DIR}/${version_header} kb_lines REGEX "${lines}")
    list(TRANSFORM kb_lines REPLACE "[^0-9.]" "")
    list(JOIN kb_lines "." ${name}_VERSION)
    if(NOT TARGET ${name}::${name})
      add_library(${name}::${name} UNKNOWN IMPORTED)
      set_target_properties(${name}::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
    endif()
  endif()
endmacro()

# Debian's package file of oneDNN asks for the OpenCL headers, which nothing here includes.
macro(kb_find_onednn)
  kb_find_library(oneDNN oneapi/dnnl/dnnl.hpp dnnl oneapi/dnnl/dnnl_version.h "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
endmacro()
macro(kb_find_libdeflate)
  kb_find_library(libdeflate libdeflate.h deflate libdeflate.h "#define LIBDEFLATE_VERSION_STRING")
endmacro()
macro(kb_find_nettle)
  kb_find_library(nettle nettle/sha2.h nettle nettle/version.h "#define NETTLE_VERSION_(MAJOR|MINOR)")
endmacro()

# Protobuf with its compiler, which Debian has as a package of its own: protobuf::libprotobuf-lite, protobuf::protoc.
macro(kb_find_protobuf)
  find_package(Protobuf QUIET)
  if(NOT TARGET protobuf::protoc)
    set(Protobuf_FOUND FALSE)
  endif()
endmacro()

# cuDNN 9.8 or newer and cuBLASLt, where find_package(CUDAToolkit) found a toolkit: cuDNN::cudnn, cuDNN_FOUND,
# cuDNN_VERSION. NVIDIA's packages of cuDNN have no package file.
macro(kb_find_cudnn)
  if(CUDAToolkit_FOUND)
    find_path(cuDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(cuDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
    find_library(cuBLASLt_LIBRARY cublasLt HINTS ${CUDAToolkit_LIBRARY_DIR})
    mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY cuBLASLt_LIBRARY)
    if(cuDNN_INCLUDE_DIR AND cuDNN_LIBRARY AND cuBLASLt_LIBRARY)
      file(STRINGS ${cuDNN_INCLUDE_DIR}/cudnn_version.h lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]")
      list(TRANSFORM lines REPLACE "[^0-9]" "")
      list(JOIN lines "." cuDNN_VERSION)
    endif()
    if(cuDNN_VERSION AND NOT cuDNN_VERSION VERSION_LESS 9.8)
      set(cuDNN_FOUND TRUE)
      add_library(cuDNN::cudnn UNKNOWN IMPORTED)
      set_target_properties(cuDNN::cudnn PROPERTIES IMPORTED_LOCATION ${cuDNN_LIBRARY}
        INTERFACE_LINK_LIBRARIES ${cuBLASLt_LIBRARY}
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${cuDNN_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
    endif()
  endif()
endmacro()
