# rlctl_library(NAME LIBRARY...): a static library of the .cc files in this folder and in the folders
# named after FOLDERS, which uses these libraries.
#
# The files are compiled some at a time (a unity build) and share one precompiled header, since most
# of the time would go into parsing the same headers again. Therefore names in anonymous namespaces
# must be unique within a folder; the compiler says where they are not.

function(rlctl_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;PRIVATE")
  set(patterns "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(REMOVE_ITEM sources "${CMAKE_CURRENT_SOURCE_DIR}/main.cc")
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC rlctl_options ${arg_UNPARSED_ARGUMENTS} PRIVATE ${arg_PRIVATE})
  rlctl_compile_together(${name})
endfunction()

function(rlctl_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RLCTL_UNITY} UNITY_BUILD_BATCH_SIZE 16)
  if(target STREQUAL "rlctl_base")
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/base/precompiled.h")
  else()
    target_precompile_headers(${target} REUSE_FROM rlctl_base)
  endif()
endfunction()
