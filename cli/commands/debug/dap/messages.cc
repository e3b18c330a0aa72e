#include "cli/commands/debug/dap/messages.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::debug::dap {
namespace {

constexpr std::string_view kEndOfHeader = "\r\n\r\n";

/// The value of Content-Length, in any case, as of HTTP; std::nullopt if no line has it.
std::optional<std::string_view> length_in(std::string_view header) {
  constexpr std::string_view kName = "content-length:";
  while (!header.empty()) {
    auto line = header.substr(0, header.find("\r\n"));
    header.remove_prefix(std::min(line.size() + 2, header.size()));
    if (line.size() < kName.size() || !contains_in_any_case(line.substr(0, kName.size()), kName)) {
      continue;
    }
    line.remove_prefix(kName.size());
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    return line.substr(0, line.find_last_not_of(' ') + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Messages::next() {
  const auto end = std::string_view(bytes_).substr(0, kLargestHeader).find(kEndOfHeader);
  if (end == std::string_view::npos) {
    if (bytes_.size() < kLargestHeader) return std::nullopt;
    throw UsageError("no message of the Debug Adapter Protocol begins with " +
                     quoted_and_masked(escape(bytes_.substr(0, 40))));
  }
  const auto header = std::string_view(bytes_).substr(0, end);
  const auto text = length_in(header);
  const auto length = text ? to_number<std::size_t>(*text) : std::nullopt;
  if (!length) {
    throw UsageError("a message of the Debug Adapter Protocol has no Content-Length: " +
                     quoted_and_masked(escape(header.substr(0, 80))));
  }
  if (*length > kLargestBody) {
    throw UsageError(fmt::format("a message of {} bytes is too large: at most {} are read", *length,
                                 kLargestBody));
  }
  const auto begin = end + kEndOfHeader.size();
  if (bytes_.size() - begin < *length) return std::nullopt;
  auto body = bytes_.substr(begin, *length);
  bytes_.erase(0, begin + *length);
  return body;
}

std::string framed(std::string_view json) {
  return fmt::format("Content-Length: {}{}{}", json.size(), kEndOfHeader, json);
}

}  // namespace rlctl::cli::debug::dap
