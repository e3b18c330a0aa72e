# rlctl_library(NAME LIBRARY... [FOLDERS FOLDER...] [OPTIMIZED FILE...] [PRIVATE LIBRARY...]): a static library of the
# .cc files in this folder and in FOLDERS below it ("*": all of them). In a release, the OPTIMIZED files of this folder
# ("*": all of them) are compiled with -O2.
#
# The files of a library are compiled together, in a few batches (a unity build), and those that are not optimized share
# one precompiled header, because otherwise most of the time would be spent on parsing the same headers and on compiling
# the same templates again: a batch for each folder takes a fifth longer. Names in anonymous namespaces must therefore be
# unique within a library; the compiler reports duplicates in a batch. RLCTL_UNITY=OFF, as in the dev preset, compiles
# each file separately, so that a change is cheaper to rebuild.

function(rlctl_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOLDERS;OPTIMIZED;PRIVATE")
  set(patterns "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  foreach(folder IN LISTS arg_FOLDERS)
    list(APPEND patterns "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
  endforeach()
  file(GLOB sources CONFIGURE_DEPENDS ${patterns})
  list(FILTER sources EXCLUDE REGEX "/(static_)?main\\.cc$")
  set(optimized ${arg_OPTIMIZED})
  list(TRANSFORM optimized PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  if(arg_OPTIMIZED STREQUAL "*")
    set(optimized ${sources})
  endif()
  list(REMOVE_ITEM sources ${optimized})
  add_library(${name} STATIC ${sources})
  target_link_libraries(${name} PUBLIC rlctl_options ${arg_UNPARSED_ARGUMENTS} PRIVATE ${arg_PRIVATE})
  rlctl_compile_together(${name})
  if(optimized)
    # They have the library's folders of headers, but not its precompiled header, which is made for other options.
    add_library(${name}_optimized OBJECT ${optimized})
    target_compile_options(${name}_optimized PRIVATE $<$<CONFIG:Release>:-O2>)
    target_link_libraries(${name}_optimized PRIVATE rlctl_options ${arg_UNPARSED_ARGUMENTS} ${arg_PRIVATE})
    target_include_directories(${name}_optimized PRIVATE $<TARGET_PROPERTY:${name},INCLUDE_DIRECTORIES>)
    rlctl_batch(${name}_optimized)
    target_sources(${name} PRIVATE $<TARGET_OBJECTS:${name}_optimized>)
  endif()
endfunction()

# rlctl_batch(TARGET): the files of a target are compiled together, in at most seven batches, which keep two processors
# busy; with fewer, the compiler would need far more than a gigabyte of memory. A hash of a folder's name says in which
# batch its files are, so that another folder makes no difference to it.
function(rlctl_batch target)
  # GCC mistakes the files that a unity build includes for headers.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${RLCTL_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  if(NOT sources)
    return()  # all of them are optimized
  endif()
  foreach(source IN LISTS sources)
    get_filename_component(folder "${source}" DIRECTORY)
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${folder}")
    string(MD5 hash "${folder}")
    string(SUBSTRING "${hash}" 28 4 digits)
    math(EXPR batch "0x${digits} % 7")
    set_source_files_properties("${source}" PROPERTIES UNITY_GROUP "${batch}")
  endforeach()
endfunction()

# rlctl_compile_together(TARGET [HEADER]): in batches, with its own precompiled header if one is given, or with that of
# another target.
function(rlctl_compile_together target)
  rlctl_batch(${target})
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
