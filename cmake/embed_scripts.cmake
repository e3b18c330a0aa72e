# embed_scripts(OUTPUT SCRIPT...): writes a C++ header with each script's text and its SHA1, by which
# EVALSHA knows it if it is Lua. Run at configure time; a changed script configures again.

function(embed_scripts output)
  set(rows "")
  foreach(script IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${script}")
    get_filename_component(name "${script}" NAME)
    string(REGEX REPLACE "\\.lua$" "" name "${name}")
    string(REGEX REPLACE "[-.]" "_" id "${name}")
    file(READ "${script}" text)
    file(SHA1 "${script}" sha1)
    string(APPEND rows
      "inline constexpr EmbeddedScript k_${id}{\n    \"${sha1}\",\n    R\"~script~(${text})~script~\"};\n\n")
  endforeach()
  set(content "// Written by cmake/embed_scripts.cmake. Do not edit.
// NOLINTBEGIN(readability-identifier-naming): the scripts' own names
#pragma once

#include \"base/embedded_script.h\"

namespace rlctl::embedded {

${rows}}  // namespace rlctl::embedded
// NOLINTEND(readability-identifier-naming)
")
  # Written only if it differs, so that nothing is recompiled needlessly.
  set(written "")
  if(EXISTS "${output}")
    file(READ "${output}" written)
  endif()
  if(NOT written STREQUAL content)
    file(WRITE "${output}" "${content}")
  endif()
endfunction()
