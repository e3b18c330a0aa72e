#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "replay/log_format.h"

namespace rlctl::replay {

/// What a field of a log means for a replay. A message is a line of another format. The address is
/// the client's if the key is something else: what is not one is not a line of this format.
enum Role : std::size_t { kTime, kDate, kKey, kCost, kMessage, kAddress, kRoles };

/// The fields of a line that matter; none: the line does not have it. Valid until the next line.
using Values = std::array<std::optional<std::string_view>, kRoles>;

/// Finds the fields of a log's lines, by their places or by their names.
class FieldReader {
 public:
  virtual ~FieldReader() = default;

  virtual LineKind read(std::string_view line, Values& values) = 0;
  /// The last line had fields with names, whatever they are.
  virtual bool has_names() const { return false; }
  /// The last line was a request: the fields that it had are those of all lines from now on.
  virtual void settle() {}
  /// The name of the field with this role; empty if there is none, or none so far.
  virtual std::string_view name(Role role) const = 0;
  /// Why the last line was bad.
  const std::string& why() const noexcept { return why_; }

 protected:
  LineKind bad(std::string why) {
    why_ = std::move(why);
    return LineKind::kBad;
  }

 private:
  std::string why_;
};

/// Which names the fields with a role have.
class RoleNames {
 public:
  /// The chosen ones, exactly; else the usual ones, in any case and with or without _ - @ and
  /// blanks between their words, the most telling first.
  explicit RoleNames(const FieldOptions& chosen);

  /// From now on only this field has this role, or this one if none before it is there.
  void settle(Role role, std::string_view name) { names_[role] = {{std::string(name)}, true}; }
  void add(Role role, std::string_view name) { names_[role].names.emplace_back(name); }
  /// No field has this role until one is added, exactly as it is written; unless one was chosen.
  void clear(Role role);

  /// How well a field fits, 0 best; none if it does not.
  std::optional<std::size_t> rank(Role role, std::string_view name) const;
  /// "'ts'" if a field is chosen or settled; otherwise "for the time".
  std::string describe(Role role) const;
  bool has_names(Role role) const noexcept { return !names_[role].names.empty(); }
  bool is_chosen(Role role) const noexcept { return is_chosen_[role]; }

 private:
  struct Names {
    std::vector<std::string> names;
    bool is_exact = false;
  };
  std::array<Names, kRoles> names_;
  std::array<bool, kRoles> is_chosen_{};
};

/// Whether a time of this name is that of a day, whose date is in a field of its own if there is
/// one.
bool may_be_of_a_day(std::string_view name);

/// The text without the blanks around it.
std::string_view trimmed(std::string_view text) noexcept;
/// Whether a list of words has this one; a word of the list that ends with * is the
/// beginning of words.
bool lists(std::string_view list, std::string_view word) noexcept;

/// The name of the variable at the front of a text, $NAME or ${NAME}, which is removed; empty, and
/// nothing is removed, if there is none.
std::string_view take_variable(std::string_view& text);

/// Lines with fields at fixed places: nginx's log_format or Apache's LogFormat. Throws UsageError
/// if the format is wrong, or lacks a chosen field.
std::unique_ptr<FieldReader> make_text_reader(std::string_view format, const FieldOptions& fields);
/// Fields with names: a JSON object whose values are variables, or a format with NAME in it.
std::unique_ptr<FieldReader> make_named_reader(std::string_view format, const FieldOptions& fields);

}  // namespace rlctl::replay
