#pragma once

#include <string>

#include "base/error.h"

namespace rlctl::test {

/// What the UsageError of `call` says; "accepted" if there is none.
template <typename Call>
std::string refusal_of(Call call) {
  try {
    static_cast<void>(call());
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace rlctl::test
