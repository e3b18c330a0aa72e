#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "base/text.h"
#include "replay/field_reader.h"

namespace rlctl::replay {

std::string_view trimmed(std::string_view text) noexcept {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

bool lists(std::string_view list, std::string_view word) noexcept {
  while (!list.empty()) {
    const auto one = take_until(list, " ");
    if (one == word) return true;
    if (one.ends_with('*') && word.starts_with(one.substr(0, one.size() - 1))) return true;
  }
  return false;
}

std::string_view take_variable(std::string_view& text) {
  if (!text.starts_with('$')) return {};
  const bool braces = text.size() > 1 && text[1] == '{';
  const std::size_t begin = braces ? 2 : 1;
  auto end = begin;
  while (end < text.size() && (text[end] == '_' || is_alphanumeric(text[end]))) ++end;
  const auto name = text.substr(begin, end - begin);
  if (name.empty() || (braces && !text.substr(end).starts_with('}'))) return {};
  text.remove_prefix(end + (braces ? 1 : 0));
  return name;
}

namespace {

/// A format: names, and the texts before the first of them, between them and after the last one.
struct Layout {
  std::vector<std::string> names;
  std::vector<std::string> texts{{}};

  /// Fields that nothing separates are one, which has no role; but a time in several directives,
  /// "%{%d/%b/%Y %T}t.%{msec_frac}t", is a time.
  void add(std::string_view name) {
    if (!names.empty() && name == "time" && names.back() == name) return texts.back().clear();
    if (!names.empty() && texts.back().empty()) {
      names.back().append("+").append(name);
    } else {
      names.emplace_back(name);
      texts.emplace_back();
    }
  }
};

/// The fields that may contain blanks although nothing encloses them.
constexpr std::string_view kOfSeveralWords =
    "any message remote_user request request_uri request_body uri args query_string time "
    "time_local start_time date request_time_text http_* sent_http_* upstream_* cookie_* arg_* "
    "env_* note_* ssl_*";

/// The fields in whose places the formats of others may have an address.
constexpr std::string_view kNoAddresses = "remote_user auth_user request_time";

Layout nginx_layout(std::string_view format) {
  Layout layout;
  while (!format.empty()) {
    if (const auto name = take_variable(format); !name.empty()) {
      layout.add(name);
    } else {
      layout.texts.back() += format.front();
      format.remove_prefix(1);
    }
  }
  return layout;
}

/// Apache's directives, each followed by the name that nginx has for the same; %h and %{c}h are the
/// address of a client and of a proxy.
constexpr std::string_view kDirectives =
    "a remote_addr h remote_host l remote_logname u remote_user r request s status "
    "b body_bytes_sent v server_name V host m request_method U uri q query_string "
    "t time_local {}t time i http_";

/// The name after this directive in the list; empty if it is not there.
std::string_view name_of(std::string_view directive) {
  for (auto rest = kDirectives; !rest.empty();) {
    const auto one = take_until(rest, " ");
    const auto name = take_until(rest, " ");
    if (one == directive) return name;
  }
  return {};
}

/// Takes the directive after a % from the front of a format.
void take_directive(std::string_view& format, Layout& layout) {
  const auto whole = format;
  // Conditions on the status, and which of the requests after an internal redirection.
  format.remove_prefix(std::min(format.find_first_not_of("0123456789,!<>"), format.size()));
  const bool has_argument = format.starts_with('{');
  const auto argument = has_argument ? take_until(format, "}").substr(1) : std::string_view();
  const auto directive = format.substr(0, format.starts_with('^') ? 3 : 1);
  format.remove_prefix(directive.size());
  if (directive == "%") return static_cast<void>(layout.texts.back() += '%');
  std::string name(name_of(has_argument && directive == "t" ? "{}t" : directive));
  if (name == "http_") {
    for (const char c : argument) name += c == '-' ? '_' : lower_case(c);
  } else if (name.empty() || (has_argument && directive != "t")) {
    name = whole.substr(0, whole.size() - format.size());  // "D", "{X-Id}o"
  }
  const bool is_enclosed = name == "time_local";
  if (is_enclosed) layout.texts.back() += '[';
  layout.add(name);
  if (is_enclosed) layout.texts.back() += ']';
}

Layout apache_layout(std::string_view format) {
  Layout layout;
  while (!format.empty()) {
    const auto text = format.substr(0, format.find('%'));
    layout.texts.back() += text;
    format.remove_prefix(text.size());
    if (format.empty()) break;
    format.remove_prefix(1);
    take_directive(format, layout);
  }
  return layout;
}

/// A part of a field.
enum class Part { kAll, kMethod, kPath };

enum class End {
  kLine,
  kBlank,  ///< a blank or a tab, but none of a list: "10.0.0.5:80, 10.0.0.6:80"
  kQuote,  ///< a quote that no backslash escapes, and the text after it
  kText,   ///< the text after it
  kColon,  ///< of host:port, the last colon
};

struct Step {
  std::string after = {};  ///< the text after the field
  End end = End::kLine;
  std::optional<Role> role = {};
  Part part = Part::kAll;
  bool is_word = false;       ///< it has no blanks, except after commas
  bool is_host = false;       ///< it is the name of a server
  bool is_other = false;      ///< it is not an address, which might be the client's
  bool skips_blanks = false;  ///< columns may be aligned by several blanks
  bool is_optional = false;   ///< it and the text before it may be absent
};

/// As text.substr(at).starts_with(wanted), but faster for a few characters.
bool has_at(std::string_view text, std::size_t at, std::string_view wanted) {
  if (text.size() - at < wanted.size()) return false;
  for (const char c : wanted) {
    if (text[at++] != c) return false;
  }
  return true;
}

std::size_t find_text(std::string_view text, std::string_view wanted) {
  auto at = text.find(wanted.front());
  while (at != text.npos && !has_at(text, at, wanted)) at = text.find(wanted.front(), at + 1);
  return at;
}

std::size_t closing_quote(std::string_view text) {
  for (auto at = text.find('"');; at = text.find('"', at + 1)) {
    if (at == 0 || at == text.npos || text[at - 1] != '\\') return at;
    // The quote is escaped if the number of backslashes before it is odd.
    const auto other = text.substr(0, at).find_last_not_of('\\');
    const auto backslashes = at - (other == text.npos ? 0 : other + 1);
    if (backslashes % 2 == 0) return at;
  }
}

/// Whether something other than blanks shows where a field with this text before it ends.
bool is_enclosed(std::string_view before) {
  constexpr std::string_view kOpening = "\"[({\t,;";
  return !before.empty() && kOpening.find(before.back()) != kOpening.npos;
}

/// A name, but not an address, which might be the client's; that of a server is in brackets.
bool is_host(std::string_view text) {
  if (client_network(text, kIpv6Bits)) return text.starts_with('[');
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_alphanumeric(c) || c == '.' || c == '-' || c == '_'; });
}

bool is_other(std::string_view text) {
  return text == "-" || !client_network(text.substr(0, text.find(' ')), kIpv6Bits);
}

bool is_word(std::string_view text) {
  if (text.starts_with('"')) return false;
  text = trimmed(text);
  for (auto at = text.find(' '); at != text.npos; at = text.find(' ', at + 1)) {
    if (at == 0 || text[at - 1] != ',') return false;
  }
  return true;
}

std::optional<std::string_view> part_of(std::string_view text, Part part) {
  if (part == Part::kAll) return text;
  const auto blank = text.find(' ');
  if (part == Part::kMethod) return text.substr(0, blank);
  if (blank != text.npos) {
    // A path may contain unescaped blanks: it ends where the protocol begins.
    text.remove_prefix(blank + 1);
    text = text.substr(0, text.rfind(" HTTP/"));
  } else if (!text.starts_with('/')) {
    return std::nullopt;
  }
  return text.substr(0, text.find('?'));
}

class TextReader final : public FieldReader {
 public:
  TextReader(Layout layout, const FieldOptions& options) {
    if (layout.names.empty()) throw UsageError("it has no variables");
    names_ = std::move(layout.names);
    start_ = layout.texts.front();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      Step step{.after = layout.texts[i + 1]};
      const std::string_view before = layout.texts[i];
      step.end = end_of(before, step.after, i + 1 == names_.size());
      step.is_word = step.end != End::kQuote && step.end != End::kBlank && !is_enclosed(before) &&
                     !lists(kOfSeveralWords, names_[i]);
      step.is_host = names_[i] == "host";
      step.is_other = lists(kNoAddresses, names_[i]);
      step.skips_blanks =
          step.end != End::kQuote && (before.ends_with(' ') || (i == 0 && step.end == End::kBlank));
      steps_.push_back(std::move(step));
    }
    choose(options);
  }

  LineKind read(std::string_view line, Values& values) override {
    if (line.starts_with('#')) return LineKind::kOther;
    while (!line.empty() && (is_blank(line.back()) || line.ends_with('\n'))) line.remove_suffix(1);
    if (!line.starts_with(start_)) return bad(fmt::format("it does not begin with '{}'", start_));
    auto rest = line.substr(start_.size());
    for (const auto& step : steps_) {
      std::string_view text;
      if (!take(step, rest, text)) return lacks(step);
      if (step.role) values[*step.role].emplace(text.data(), text.size());
      if (step.part != Part::kAll) {
        values[*step.role] = part_of(text, step.part);
        if (!values[*step.role]) return bad(fmt::format("it has no {}", key_name_));
      }
      if (rest.data() == nullptr) break;
    }
    if (!rest.empty()) return bad(fmt::format("it goes on after {}", names_.back()));
    return LineKind::kRequest;
  }

  std::string_view name(Role role) const override {
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i].role == role) return role == kKey ? std::string_view(key_name_) : names_[i];
    }
    return {};
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  static End end_of(std::string_view before, std::string_view after, bool is_last) {
    if (before.ends_with('"') && after.starts_with('"')) return End::kQuote;
    if (after.empty()) return End::kLine;
    if (after == ":" && !is_last) return End::kColon;
    return after == " " ? End::kBlank : End::kText;
  }

  /// The fields with roles. A role that was chosen must be there.
  void choose(const FieldOptions& options) {
    const RoleNames roles(options);
    for (const auto role : {kTime, kDate, kKey, kCost, kMessage}) {
      if (role == kDate && !may_be_of_a_day(name(kTime))) continue;
      const auto* best = best_of(role, roles);
      if (best == nullptr && role == kKey && options.key) best = other_name(*options.key);
      if (best != nullptr) {
        auto& step = steps_[static_cast<std::size_t>(best - names_.data())];
        if (step.role) throw UsageError(fmt::format("{} cannot be time, key and cost", *best));
        step.role = role;
        if (role == kKey) key_name_ = options.key.value_or(*best);
      } else if (roles.is_chosen(role)) {
        throw UsageError(fmt::format("no field {}: the format has {}", roles.describe(role),
                                     fmt::join(names_, ", ")));
      }
    }
    if (name(kKey).empty() && name(kMessage).empty()) {
      throw UsageError(
          fmt::format("no field for the key: the format has {}", fmt::join(names_, ", ")),
          "--fields key=NAME names it");
    }
    const auto* address = best_of(kKey, RoleNames({}));
    if (address == nullptr) return;
    auto& step = steps_[static_cast<std::size_t>(address - names_.data())];
    if (!step.role) step.role = kAddress;
    // "1795608000 login:ann 2": without a cost, a request costs 1.
    auto& last = steps_.back();
    last.is_optional = steps_.size() > 1 && names_.back() == "cost" && last.after.empty();
  }

  const std::string* best_of(Role role, const RoleNames& roles) const {
    const std::string* best = nullptr;
    for (const auto& name : names_) {
      if (const auto rank = roles.rank(role, name)) {
        if (best == nullptr || *rank < *roles.rank(role, *best)) best = &name;
      }
    }
    return best;
  }

  /// The field that has a short name, perhaps a part of it.
  const std::string* other_name(std::string_view key) {
    constexpr std::string_view kShort =
        "address remote_addr address remote_host user remote_user user auth_user referer "
        "http_referer "
        "useragent http_user_agent method request_method method request path request_uri path uri "
        "path request";
    for (auto rest = kShort; !rest.empty();) {
      const auto name = take_until(rest, " ");
      const auto found = std::find(names_.begin(), names_.end(), take_until(rest, " "));
      if (name != key || found == names_.end()) continue;
      auto& part = steps_[static_cast<std::size_t>(found - names_.begin())].part;
      if (key == "path") part = Part::kPath;
      if (key == "method" && *found == "request") part = Part::kMethod;
      return &*found;
    }
    return nullptr;
  }

  static std::size_t end_of(const Step& step, std::string_view rest) {
    switch (step.end) {
      case End::kLine:
        return rest.size();
      case End::kBlank: {
        std::size_t at = 0;
        while (at < rest.size() && (!is_blank(rest[at]) || (at > 0 && rest[at - 1] == ','))) ++at;
        return at < rest.size() ? at : rest.npos;
      }
      case End::kQuote: {
        const auto end = closing_quote(rest);
        return end != rest.npos && has_at(rest, end, step.after) ? end : rest.npos;
      }
      case End::kText:
        return find_text(rest, step.after);
      case End::kColon:
        break;
    }
    const auto& next = (&step + 1)->after;
    return rest.substr(0, next.empty() ? rest.npos : find_text(rest, next)).rfind(':');
  }

  /// Takes a field and the text after it. If the line ends before an optional one, the rest is
  /// null.
  bool take(const Step& step, std::string_view& rest, std::string_view& text) const {
    while (step.skips_blanks && !rest.empty() && is_blank(rest.front())) rest.remove_prefix(1);
    const auto end = end_of(step, rest);
    if (end == rest.npos) {
      if (&step == &steps_.back() || !(&step + 1)->is_optional) return false;
      text = std::exchange(rest, {});
      return !text.empty();
    }
    text = rest.substr(0, end);
    rest.remove_prefix(end + step.after.size());
    return (!step.is_word || is_word(text)) && (!step.is_host || is_host(text)) &&
           (!step.is_other || is_other(text));
  }

  LineKind lacks(const Step& step) {
    const auto& name = names_[static_cast<std::size_t>(&step - steps_.data())];
    if (step.after.empty()) return bad(fmt::format("it goes on after {}", name));
    return bad(fmt::format("it has no '{}' after {}", step.after, name));
  }

  std::string start_, key_name_;
  std::vector<std::string> names_;
  std::vector<Step> steps_;  ///< as many
};

}  // namespace

std::unique_ptr<FieldReader> make_text_reader(std::string_view format, const FieldOptions& fields) {
  const bool is_apache = format.find('$') == format.npos;
  return std::make_unique<TextReader>(is_apache ? apache_layout(format) : nginx_layout(format),
                                      fields);
}

}  // namespace rlctl::replay
