# cuDNN::cudnn: cuDNN, with cuBLASLt and the headers of the toolkit that find_package(CUDAToolkit) has found before. NVIDIA's
# packages of cuDNN have no package file.
include(FindPackageHandleStandardArgs)
find_path(cuDNN_INCLUDE_DIR cudnn_graph.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(cuDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
find_library(cuBLASLt_LIBRARY cublasLt HINTS ${CUDAToolkit_LIBRARY_DIR})
mark_as_advanced(cuDNN_INCLUDE_DIR cuDNN_LIBRARY cuBLASLt_LIBRARY)
if(cuDNN_INCLUDE_DIR)
  file(STRINGS ${cuDNN_INCLUDE_DIR}/cudnn_version.h kb_lines REGEX "#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) [0-9]")
  list(TRANSFORM kb_lines REPLACE "[^0-9]" "")
  list(JOIN kb_lines "." cuDNN_VERSION)
endif()
find_package_handle_standard_args(cuDNN VERSION_VAR cuDNN_VERSION
  REQUIRED_VARS cuDNN_LIBRARY cuDNN_INCLUDE_DIR cuBLASLt_LIBRARY CUDAToolkit_FOUND)
if(cuDNN_FOUND AND NOT TARGET cuDNN::cudnn)
  add_library(cuDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(cuDNN::cudnn PROPERTIES IMPORTED_LOCATION ${cuDNN_LIBRARY}
    INTERFACE_LINK_LIBRARIES ${cuBLASLt_LIBRARY}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES "${cuDNN_INCLUDE_DIR};${CUDAToolkit_INCLUDE_DIRS}")
endif()
