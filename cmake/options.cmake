# How everything is compiled, as one interface target, rlctl_options.

# Not cache variables, because project() has put others there. -O2 would take half as long again, and only the few
# files that rlctl_library() is told to optimize run faster for it.
set(CMAKE_CXX_FLAGS_DEV "-O1 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O1 -DNDEBUG")
# Under sanitizers, optimizing takes longer than the tests gain by it. A fuzz target runs for longer. The presets choose
# clang for ASan and UBSan, which takes three fifths of GCC's time to compile for them.
if(RLCTL_SANITIZE AND NOT RLCTL_FUZZ)
  set(CMAKE_CXX_FLAGS_DEV "-O0")
endif()

add_library(rlctl_options INTERFACE)
target_include_directories(rlctl_options INTERFACE "${PROJECT_SOURCE_DIR}/src")
target_link_libraries(rlctl_options INTERFACE fmt::fmt-header-only)
target_compile_options(rlctl_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
  -Wnon-virtual-dtor -Woverloaded-virtual
  # The scripts calculate in plain doubles; a fused multiply-add would round differently.
  -ffp-contract=off)
# No object names the folders in which it was made, so that a release does not depend on them.
target_compile_options(rlctl_options INTERFACE $<$<CONFIG:Release>:
  -ffile-prefix-map=${PROJECT_BINARY_DIR}=build -ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
# GCC 12 reports std::string's writes to its own buffer as overruns (its bugs 105329, 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(rlctl_options INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow)
endif()

# Whether this version of fmt has the template that src/base/fmt.cc instantiates once for all.
include(CheckCXXSourceCompiles)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_REQUIRED_LIBRARIES fmt::fmt-header-only)
check_cxx_source_compiles("#include <fmt/format.h>
  namespace fmt::detail {
  extern template void vformat_to<char>(buffer<char>&, string_view, format_args, locale_ref);
  }" RLCTL_FMT_ONCE)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
unset(CMAKE_REQUIRED_LIBRARIES)
if(RLCTL_FMT_ONCE)
  target_compile_definitions(rlctl_options INTERFACE RLCTL_FMT_ONCE)
endif()

if(RLCTL_WERROR)
  target_compile_options(rlctl_options INTERFACE -Werror)
endif()
# See __wrap_realloc() in src/base/worker.cc.
target_link_options(rlctl_options INTERFACE -Wl,--wrap=realloc)
if(RLCTL_SANITIZE)
  target_compile_definitions(rlctl_options INTERFACE RLCTL_SANITIZED)
  target_compile_options(rlctl_options INTERFACE
    -fsanitize=${RLCTL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(RLCTL_SANITIZE MATCHES address)
    target_compile_definitions(rlctl_options INTERFACE RLCTL_UNDER_ASAN)
  endif()
  if(RLCTL_SANITIZE MATCHES undefined AND NOT RLCTL_FUZZ)
    # A seventh of the time to compile. ASan sees a null pointer where it is used; tests/night/fuzz checks all three.
    target_compile_options(rlctl_options INTERFACE -fno-sanitize=null,alignment,vptr)
  endif()
  # A report needs no more than lines, and what a debugger needs beside them takes long to write.
  target_compile_options(rlctl_options INTERFACE -g1)
  # At a fixed address the sanitizers' million relocations are made by the linker instead of at each start, which
  # takes half of the time so.
  target_link_options(rlctl_options INTERFACE -fsanitize=${RLCTL_SANITIZE}
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
endif()
if(RLCTL_FUZZ)
  # The sanitizers do not see an index beyond the end of a string_view, a vector's capacity or a span.
  target_compile_definitions(rlctl_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(RLCTL_STATIC_RUNTIME)
  target_link_options(rlctl_options INTERFACE -static-libstdc++ -static-libgcc)
endif()

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${CCACHE_PROGRAM}")
endif()
