# SentencePiece::SentencePiece, with the library that trains. It has no package file for CMake; its version stands in that
# of pkg-config.
include(FindPackageHandleStandardArgs)
find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)
if(SentencePiece_LIBRARY)
  cmake_path(GET SentencePiece_LIBRARY PARENT_PATH kb_folder)
  if(EXISTS ${kb_folder}/pkgconfig/sentencepiece.pc)
    file(STRINGS ${kb_folder}/pkgconfig/sentencepiece.pc kb_lines REGEX "^Version:")
    string(REGEX REPLACE "[^0-9.]" "" SentencePiece_VERSION "${kb_lines}")
  endif()
endif()
find_package_handle_standard_args(SentencePiece
  REQUIRED_VARS SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY SentencePiece_INCLUDE_DIR
  VERSION_VAR SentencePiece_VERSION REASON_FAILURE_MESSAGE "On Debian and Ubuntu: apt install libsentencepiece-dev")
if(SentencePiece_FOUND AND NOT TARGET SentencePiece::SentencePiece)
  add_library(SentencePiece::SentencePiece UNKNOWN IMPORTED)
  set_target_properties(SentencePiece::SentencePiece PROPERTIES IMPORTED_LOCATION ${SentencePiece_TRAIN_LIBRARY}
    INTERFACE_LINK_LIBRARIES ${SentencePiece_LIBRARY} INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${SentencePiece_INCLUDE_DIR})
endif()
