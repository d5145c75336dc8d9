# kb_find_by_header(NAME HEADER LIBRARY VERSION_HEADER LINES APT): the body of a module that finds a library without its
# package file, as the target NAME::NAME, NAME_FOUND and NAME_VERSION. LINES: a regular expression of the lines in which
# VERSION_HEADER says its version. APT: the package that brings it on Debian and Ubuntu.
include(FindPackageHandleStandardArgs)

macro(kb_find_by_header name header library version_header lines apt)
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_INCLUDE_DIR)
    file(STRINGS ${${name}_INCLUDE_DIR}/${version_header} kb_lines REGEX "${lines}")
    list(TRANSFORM kb_lines REPLACE "[^0-9.]" "")
    list(JOIN kb_lines "." ${name}_VERSION)
  endif()
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
    VERSION_VAR ${name}_VERSION REASON_FAILURE_MESSAGE "On Debian and Ubuntu: apt install ${apt}")
  if(${name}_FOUND AND NOT TARGET ${name}::${name})
    add_library(${name}::${name} UNKNOWN IMPORTED)
    set_target_properties(${name}::${name} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
      INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
  endif()
endmacro()
