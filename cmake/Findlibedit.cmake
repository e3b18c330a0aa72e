# libedit from the distribution, as the target libedit::libedit. It ships no CMake package. If all its
# dependencies are available as static libraries, those are used: a process starts sooner with four shared
# libraries less, and rarely edits a line.

find_path(LIBEDIT_INCLUDE_DIR histedit.h)
find_library(LIBEDIT_STATIC_LIBRARY NAMES libedit.a)
find_library(LIBEDIT_SHARED_LIBRARY NAMES edit)
set(libedit_needs "")
foreach(name IN ITEMS tinfo bsd md)
  find_library(LIBEDIT_${name}_LIBRARY NAMES lib${name}.a)
  mark_as_advanced(LIBEDIT_${name}_LIBRARY)
  list(APPEND libedit_needs "${LIBEDIT_${name}_LIBRARY}")
endforeach()
mark_as_advanced(LIBEDIT_INCLUDE_DIR LIBEDIT_STATIC_LIBRARY LIBEDIT_SHARED_LIBRARY)

set(LIBEDIT_LIBRARY "${LIBEDIT_STATIC_LIBRARY}")
if(NOT LIBEDIT_STATIC_LIBRARY OR libedit_needs MATCHES "NOTFOUND")
  set(LIBEDIT_LIBRARY "${LIBEDIT_SHARED_LIBRARY}")
  set(libedit_needs "")
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(libedit REQUIRED_VARS LIBEDIT_LIBRARY LIBEDIT_INCLUDE_DIR)

if(libedit_FOUND AND NOT TARGET libedit::libedit)
  add_library(libedit::libedit UNKNOWN IMPORTED)
  if(RLCTL_SHARED_ZLIB_NCURSES)
    # By name, so that the linker takes the shared library unless it is told -static.
    list(TRANSFORM libedit_needs REPLACE ".*/libtinfo\\.a$" tinfo)
  endif()
  set_target_properties(libedit::libedit PROPERTIES
    IMPORTED_LOCATION "${LIBEDIT_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${LIBEDIT_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "${libedit_needs}")
endif()
