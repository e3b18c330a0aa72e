#pragma once

#include <doctest/doctest.h>

#include <string>

#include "redis/error.h"

namespace support {

/// The Error that `call` throws; fails the test if it throws none.
template <typename Call>
rlctl::redis::Error error_of(Call call) {
  try {
    call();
  } catch (const rlctl::redis::Error& error) {
    return error;
  }
  FAIL("nothing was thrown");
  return {rlctl::redis::Failure::kUsage, ""};
}

inline std::string message_of(const rlctl::redis::Error& error) {
  return error.what();
}

/// Whether it says that the command may have been executed.
inline bool is_in_doubt(const rlctl::redis::Error& error) {
  return error.hint().ends_with(rlctl::redis::kMayHaveRun);
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace support
