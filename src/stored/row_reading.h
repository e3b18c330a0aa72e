#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "stored/forms.h"
#include "stored/key_names.h"
#include "stored/libraries.h"
#include "stored/library_row.h"

namespace rlctl::stored {

/// A finite number.
std::optional<double> number_in(std::string_view text);
std::optional<std::int64_t> count_in(std::string_view text);
/// A time of today; without a unit, the size of the number tells it.
std::optional<microseconds> time_in(std::string_view text, double unit, std::int64_t epoch = 0);
/// The largest usual step of which the window is a multiple.
microseconds roundness(const std::optional<microseconds>& window);

/// How well a row fits.
struct Fitting {
  Decoded state;
  double off = 0;  ///< by how many µs the TTL is not what the row says
};

/// What a key means by a row; nothing if the content is not what the row says.
std::optional<Fitting> read_by_row(const Row& row, const Name& name, const Question& question,
                                   const Siblings& siblings);

}  // namespace rlctl::stored
