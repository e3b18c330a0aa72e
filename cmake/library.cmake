# rlctl_library(NAME LIBRARY... [FOLDERS FOLDER...] [PRIVATE LIBRARY...]): a static library of the
# .cc files in this folder and in FOLDERS below it ("*": all of them).
#
# The files of a folder are compiled together (a unity build), and all share one precompiled header, because
# otherwise most of the time would be spent on parsing the same headers again. Names in anonymous namespaces
# must therefore be unique within a folder; the compiler reports duplicates. RLCTL_UNITY=OFF, as in the dev
# preset, compiles each file separately, so that a change is cheaper to rebuild.

function(rlctl_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;PRIVATE")
  set(patterns "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/(static_)?main\\.cc$")
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC rlctl_options ${arg_UNPARSED_ARGUMENTS} PRIVATE ${arg_PRIVATE})
  rlctl_compile_together(${name})
endfunction()

# rlctl_optimize(FILE...): compiles each of these files of this folder alone, and with -O2 in a release.
function(rlctl_optimize)
  # The precompiled header is made for the options of the others.
  set_source_files_properties(${ARGN} PROPERTIES
    SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS $<$<CONFIG:Release>:-O2>)
endfunction()

# rlctl_compile_together(TARGET [HEADER]): the same, with its own precompiled header if one is given, or with that of
# another target.
function(rlctl_compile_together target)
  # GCC mistakes the files that a unity build includes for headers.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RLCTL_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(REPLACE "/" "_" folder "${folder}")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${folder}")
  endforeach()
  if(ARGC GREATER 1 AND TARGET ${ARGV1})
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
  elseif(ARGC GREATER 1)
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/${ARGV1}")
  elseif(target STREQUAL "rlctl_base")
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/src/base/precompiled.h")
  else()
    target_precompile_headers(${target} REUSE_FROM rlctl_base)
  endif()
endfunction()
