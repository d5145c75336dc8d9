# `cmake --build build --target libraries && cmake --install build --prefix P`: the rooms' libraries and headers, plug-ins,
# and what find_package(Kilobatch) reads. Headers keep their rooms ("recipes/run/trainer.h"), so that a model's file is the
# same inside the source tree and outside.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(KB_INSTALL_HEADERS ${CMAKE_INSTALL_INCLUDEDIR}/kilobatch)
set(KB_INSTALL_PACKAGE ${CMAKE_INSTALL_LIBDIR}/cmake/Kilobatch)

function(kb_install)
  # What users link: Kilobatch::kilobatch. A library with sanitizers wants them in its user's program too.
  add_library(kilobatch INTERFACE)
  add_library(Kilobatch::kilobatch ALIAS kilobatch)
  target_link_libraries(kilobatch INTERFACE kb_recipes)
  # A program looks for the plug-ins on its library path.
  target_link_options(kilobatch INTERFACE
    "$<INSTALL_INTERFACE:LINKER:-rpath,$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}>")
  if(KB_SANITIZE)
    target_compile_options(kilobatch INTERFACE $<INSTALL_INTERFACE:-fsanitize=${KB_SANITIZE}>)
    target_link_options(kilobatch INTERFACE $<INSTALL_INTERFACE:-fsanitize=${KB_SANITIZE}>)
  endif()

  get_property(libraries GLOBAL PROPERTY KB_LIBRARIES)
  add_custom_target(libraries)
  add_dependencies(libraries ${libraries})
  foreach(plugin kilobatch_cuda kilobatch_mpi kilobatch_pieces)
    if(TARGET ${plugin})
      add_dependencies(libraries ${plugin})
    endif()
  endforeach()
  install(TARGETS kilobatch ${libraries} EXPORT kilobatch ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT kilobatch NAMESPACE Kilobatch:: FILE KilobatchTargets.cmake DESTINATION ${KB_INSTALL_PACKAGE})
  # Without the backends' own headers.
  install(DIRECTORY ${kb_rooms} DESTINATION ${KB_INSTALL_HEADERS}
    FILES_MATCHING PATTERN "*.h" PATTERN "*.inc" PATTERN cpu EXCLUDE PATTERN tools EXCLUDE PATTERN tutorial EXCLUDE)

  install(DIRECTORY recipes/tutorial DESTINATION ${CMAKE_INSTALL_DATADIR}/kilobatch)

  configure_package_config_file(cmake/KilobatchConfig.cmake.in ${CMAKE_BINARY_DIR}/KilobatchConfig.cmake
    INSTALL_DESTINATION ${KB_INSTALL_PACKAGE} NO_SET_AND_CHECK_MACRO)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/KilobatchConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${CMAKE_BINARY_DIR}/KilobatchConfig.cmake ${CMAKE_BINARY_DIR}/KilobatchConfigVersion.cmake
    DESTINATION ${KB_INSTALL_PACKAGE})
  # The modules of the libraries that the static libraries link; they include the last file.
  install(FILES cmake/FindoneDNN.cmake cmake/Findlibdeflate.cmake cmake/Findnettle.cmake cmake/find_by_header.cmake
    DESTINATION ${KB_INSTALL_PACKAGE}/modules)
endfunction()
