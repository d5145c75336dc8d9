# Finds the packages whose own package file is missing, asks for more than is needed, or for less. Read by the build and by those
# who use the installed Kilobatch.

# oneDNN: DNNL::dnnl, oneDNN_FOUND, oneDNN_VERSION. Debian's package file of it asks for the OpenCL headers, which
# nothing here includes.
macro(kb_find_onednn)
  find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
  find_library(oneDNN_LIBRARY dnnl)
  mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)
  if(oneDNN_INCLUDE_DIR AND oneDNN_LIBRARY)
    set(oneDNN_FOUND TRUE)
    file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "#define DNNL_VERSION_(MAJOR|MINOR|PATCH)")
    list(TRANSFORM lines REPLACE "[^0-9]" "")
    list(JOIN lines "." oneDNN_VERSION)
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${oneDNN_LIBRARY}
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
  endif()
endmacro()

# libdeflate: libdeflate::libdeflate, libdeflate_FOUND, libdeflate_VERSION. Debian 12 has no package file of it.
macro(kb_find_libdeflate)
  find_path(libdeflate_INCLUDE_DIR libdeflate.h)
  find_library(libdeflate_LIBRARY deflate)
  mark_as_advanced(libdeflate_INCLUDE_DIR libdeflate_LIBRARY)
  if(libdeflate_INCLUDE_DIR AND libdeflate_LIBRARY)
    set(libdeflate_FOUND TRUE)
    file(STRINGS ${libdeflate_INCLUDE_DIR}/libdeflate.h line REGEX "#define LIBDEFLATE_VERSION_STRING")
    string(REGEX REPLACE ".*\"(.*)\".*" "\\1" libdeflate_VERSION "${line}")
    if(NOT TARGET libdeflate::libdeflate)
      add_library(libdeflate::libdeflate UNKNOWN IMPORTED)
      set_target_properties(libdeflate::libdeflate PROPERTIES IMPORTED_LOCATION ${libdeflate_LIBRARY}
        INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${libdeflate_INCLUDE_DIR})
    endif()
  endif()
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
