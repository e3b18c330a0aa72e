#pragma once

#include <cstddef>

namespace rlctl::ldb {

/// What one call tells: some of the values of a probe, which are the activations of
/// Probe::functions and then its locals. Parts are numbered from 1 on, through all the probes of a
/// script.
struct ProbePart {
  /// So that registers suffice.
  static constexpr std::size_t kMostValues = 30;

  std::size_t probe = 0;
  std::size_t first = 0;  ///< of its values

  /// The probes of one function tell of the same places, from which values are known.
  static std::size_t place_of(std::size_t function, std::size_t first) {
    constexpr std::size_t kMostParts = 16;  // (200 locals, 60 upvalues, and a marker for each) / 30
    return function * kMostParts + first / kMostValues;
  }
};

}  // namespace rlctl::ldb
