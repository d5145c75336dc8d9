# Finds oneDNN: DNNL::dnnl, oneDNN_FOUND, oneDNN_VERSION. Debian's own package file of it asks for the OpenCL headers,
# which nothing here includes: so by hand. Read by the build and by those who use the installed Kilobatch.
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
