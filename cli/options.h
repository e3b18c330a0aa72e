#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::cli {

/// An option that may stand alone or carry a value, which only binds with '=': --wait, --wait=5s.
struct OptionalValue {
  bool given = false;
  std::optional<std::string> value;
};

/// The options of rlctl and of the one command that was chosen: what they are called, where their
/// values go, and how a command line is read. Values stay text here; whoever knows what they mean
/// parses them.
///
/// As GNU getopt_long does it: options and operands in any order, "--" ends the options, "-p6379",
/// "-qj", "--opt value", "--opt=value"; the last of a repeated scalar wins. Names may not be
/// abbreviated, since that would freeze every name.
///
/// Names, value names and help texts are not copied. Targets must outlive parse().
class Options {
 public:
  Options();
  ~Options();
  Options(Options&&) noexcept;
  Options& operator=(Options&&) noexcept;

  /// The heading of what follows.
  void group(std::string_view title);
  void flag(std::string_view names, bool& target, std::string_view help);
  void value(std::string_view names, std::string_view value_name,
             std::optional<std::string>& target, std::string_view help);
  void list(std::string_view names, std::string_view value_name, std::vector<std::string>& target,
            std::string_view help);
  void optional_value(std::string_view names, std::string_view value_name, OptionalValue& target,
                      std::string_view help);

  /// The index of the first operand (a command's name, before its options are known);
  /// arguments.size() where there is none. Throws UsageError on an unknown option before it.
  [[nodiscard]] std::size_t find_operand(std::span<const std::string> arguments) const;

  /// Sets the targets and returns the operands. Throws UsageError on the first mistake.
  std::vector<std::string> parse(std::span<const std::string> arguments);

  /// The options as --help lists them, at most 80 columns wide.
  [[nodiscard]] std::string help() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rlctl::cli
