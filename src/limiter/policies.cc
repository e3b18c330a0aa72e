#include "limiter/policies.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "limiter/suggest.h"
#include "redis/error.h"
#include "redis/file_descriptor.h"
#include "redis/text.h"
#include "redis/url.h"

// Compiled here and nowhere else: a shared library would cost every process that starts.
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// It goes down one call for each level of nesting; a configuration has three.
#define TOML_MAX_NESTED_VALUES 16
// A table header such as "[=" breaks an assertion of toml++ up to 3.4.0: the process would abort,
// and with NDEBUG nobody knows what would happen. Here it is one more mistake in the file.
namespace rlctl::limiter {
namespace {
struct BrokenAssertion {};
[[noreturn]] void break_assertion() {
  throw BrokenAssertion();
}
}  // namespace
}  // namespace rlctl::limiter
#undef NDEBUG
#define TOML_ASSERT(expression) \
  ((expression) ? static_cast<void>(0) : rlctl::limiter::break_assertion())
#include <toml++/toml.h>

namespace rlctl::limiter {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20;
/// The parts of a dotted key are levels too, and toml++ counts none of these.
constexpr std::ptrdiff_t kMaxDots = 1000;

constexpr std::array<std::string_view, 3> kKeys{"url", "timeout", "policy"};
constexpr std::array<std::string_view, 4> kPolicyKeys{"key", "algorithm", "limit", "burst"};

// --- Templates -----------------------------------------------------------------------------------

/// The text around each %s: one more than there are arguments. Throws UsageError.
std::vector<std::string> literals_of(std::string_view key) {
  std::vector<std::string> literals(1);
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (key[i] != '%') {
      literals.back() += key[i];
      continue;
    }
    const char next = ++i < key.size() ? key[i] : '\0';
    if (next == 's') {
      literals.emplace_back();
    } else if (next == '%') {
      literals.back() += '%';
    } else {
      throw UsageError(
          fmt::format("'{}' has a % that is neither %s, an argument, nor %%, a percent sign", key));
    }
  }
  return literals;
}

bool fits(std::span<const std::string> literals, std::string_view key) {
  if (literals.size() == 1) return key == literals.front();
  const std::string_view first = literals.front();
  const std::string_view last = literals.back();
  if (!key.starts_with(first)) return false;
  // Where the argument begins that stands before the next literal. The nearest place for each
  // literal leaves the most to those behind it.
  std::size_t at = first.size();
  for (const auto& literal : literals.subspan(1, literals.size() - 2)) {
    const auto found = key.find(literal, at + 1);
    if (found == key.npos) return false;
    at = found + literal.size();
  }
  return key.size() > at + last.size() && key.ends_with(last);
}

std::size_t total_size(std::span<const std::string> texts) {
  std::size_t size = 0;
  for (const auto& text : texts) size += text.size();
  return size;
}

// --- Reading -------------------------------------------------------------------------------------

struct Mistake {
  toml::source_position at;
  std::string message;
};

bool comes_before(const toml::source_position& a, const toml::source_position& b) {
  return std::pair(a.line, a.column) < std::pair(b.line, b.column);
}

/// A value as it may stand in a message.
std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("the string '{}'", text->get());
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a table" : "a date or time";
}

/// As it stands in the file: [policy.login], [policy."a b"].
std::string table_name(std::string_view policy) {
  const bool bare = std::all_of(policy.begin(), policy.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare && !policy.empty() ? fmt::format("[policy.{}]", policy)
                                 : fmt::format("[policy.\"{}\"]", policy);
}

/// toml++'s sentences begin with "Error while parsing string: ".
std::string syntax_message(std::string_view description) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (!description.starts_with(kPrefix)) {
    return "bad TOML: " + redis::without_initial_capital(std::string(description));
  }
  return std::string("bad TOML in ").append(description.substr(kPrefix.size()));
}

std::string unknown_algorithm(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (counts_requests(algorithm)) names.push_back(algorithm.name);
  }
  const auto meant = did_you_mean(name, names);
  return fmt::format("unknown algorithm '{}'{}", name,
                     meant.empty() ? "; it is one of " + one_of(names) : meant);
}

bool breaks_assertion(std::string_view text) {
  try {
    (void)toml::parse(text);
  } catch (const BrokenAssertion&) {
    return true;
  } catch (const toml::parse_error&) {
    return false;  // what is cut off is often wrong
  }
  return false;
}

/// The line that breaks an assertion, which does not tell: the last one of the shortest beginning
/// of the text that does.
std::size_t broken_line(std::string_view text) {
  std::vector<std::size_t> ends;
  for (auto end = text.find('\n'); end != text.npos; end = text.find('\n', end + 1)) {
    ends.push_back(end + 1);
  }
  const auto found = std::partition_point(ends.begin(), ends.end(), [&](std::size_t end) {
    return !breaks_assertion(text.substr(0, end));
  });
  return static_cast<std::size_t>(found - ends.begin()) + 1;
}

/// Takes a file apart and collects the mistakes in it.
class Reader {
 public:
  explicit Reader(const std::string& file) { configuration_.file = file; }

  Configuration read(std::string_view text);

 private:
  using Position = toml::source_position;

  toml::table parse(std::string_view text);
  [[nodiscard]] std::string located(std::size_t line, std::string_view message) const {
    return fmt::format("{}:{}: {}", configuration_.file, line, message);
  }
  void mistake(const Position& at, std::string message) {
    mistakes_.push_back({at, std::move(message)});
  }
  template <typename Use>
  bool attempt(const Position& at, const std::string& name, Use use);
  void refuse_unknown(const toml::table& table, std::span<const std::string_view> known,
                      const std::string& where);
  const std::string* text_of(const toml::table& table, std::string_view key,
                             const std::string& name);
  void read_connection(const toml::table& table);
  void read_policies(const toml::node& node, const Position& at);
  void read_policy(const toml::key& name, const toml::node& node);
  bool read_key(const toml::table& table, const std::string& name, Policy& policy);
  bool read_algorithm(const toml::table& table, const std::string& name, Policy& policy);
  bool read_limits(const toml::table& table, const std::string& name, Policy& policy);
  bool read_limit(const toml::node& node, const std::string& name, Policy& policy);
  bool read_burst(const toml::table& table, const std::string& name, Policy& policy);
  bool fit_together(const toml::table& table, const std::string& name, const Policy& policy);
  void throw_mistakes();

  Configuration configuration_;
  std::vector<Mistake> mistakes_;
};

toml::table Reader::parse(std::string_view text) {
  std::size_t line = 1;
  for (auto rest = text; !rest.empty(); ++line) {
    const auto end = std::min(rest.find('\n'), rest.size());
    const auto whole = rest.substr(0, end);
    if (std::count(whole.begin(), whole.end(), '.') > kMaxDots) {
      throw ConfigurationError({located(line, fmt::format("more than {} dots", kMaxDots))});
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const auto at = std::max<std::size_t>(error.source().begin.line, 1);
    throw ConfigurationError({located(at, syntax_message(error.description()))});
  } catch (const BrokenAssertion&) {
    throw ConfigurationError({located(broken_line(text), "bad TOML: unexpected character")});
  }
}

Configuration Reader::read(std::string_view text) {
  const auto table = parse(text);
  refuse_unknown(table, kKeys, "");
  read_connection(table);
  for (const auto& [key, node] : table) {
    if (key.str() == "policy") read_policies(node, key.source().begin);
  }
  throw_mistakes();
  return std::move(configuration_);
}

void Reader::throw_mistakes() {
  if (mistakes_.empty()) return;
  std::stable_sort(mistakes_.begin(), mistakes_.end(),
                   [](const Mistake& a, const Mistake& b) { return comes_before(a.at, b.at); });
  std::vector<std::string> messages;
  for (const auto& [at, message] : mistakes_) messages.push_back(located(at.line, message));
  throw ConfigurationError(std::move(messages));
}

/// False, and a mistake, where `use` throws.
template <typename Use>
bool Reader::attempt(const Position& at, const std::string& name, Use use) {
  try {
    use();
    return true;
  } catch (const UsageError& error) {
    mistake(at, fmt::format("{}: {}", name, error.what()));
  } catch (const redis::Error& error) {
    mistake(at, fmt::format("{}: {}{}{}", name, error.what(), error.hint().empty() ? "" : "; ",
                            error.hint()));
  }
  return false;
}

void Reader::refuse_unknown(const toml::table& table, std::span<const std::string_view> known,
                            const std::string& where) {
  for (const auto& [key, node] : table) {
    if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
    const auto meant = did_you_mean(key.str(), known);
    mistake(key.source().begin,
            fmt::format("unknown {} '{}'{}{}", node.is_table() ? "table" : "key", key.str(), where,
                        meant.empty() ? "; it is one of " + one_of(known) : meant));
  }
}

/// Null where there is none, and where it is no string: that is a mistake.
const std::string* Reader::text_of(const toml::table& table, std::string_view key,
                                   const std::string& name) {
  const auto* node = table.get(key);
  if (node == nullptr) return nullptr;
  const auto* text = node->as_string();
  if (text != nullptr) return &text->get();
  mistake(node->source().begin, fmt::format("{} must be a string, not {}", name, shown(*node)));
  return nullptr;
}

void Reader::read_connection(const toml::table& table) {
  if (const auto* url = text_of(table, "url", "url")) {
    configuration_.url = *url;
    attempt(table.get("url")->source().begin, "url", [&] { (void)redis::parse_url(*url); });
  }
  if (const auto* timeout = text_of(table, "timeout", "timeout")) {
    configuration_.timeout = *timeout;
    attempt(table.get("timeout")->source().begin, "timeout", [&] {
      if (parse_duration(*timeout).count() > 0) return;
      throw UsageError(fmt::format("'{}' leaves no time to answer", *timeout));
    });
  }
}

void Reader::read_policies(const toml::node& node, const Position& at) {
  const auto* table = node.as_table();
  if (table == nullptr) {
    mistake(at, fmt::format("policy must be a table, [policy.NAME], not {}", shown(node)));
    return;
  }
  // toml++ keeps them by their names.
  std::vector<std::pair<const toml::key*, const toml::node*>> in_order;
  for (const auto& [name, policy] : *table) in_order.emplace_back(&name, &policy);
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return comes_before(a.first->source().begin, b.first->source().begin);
  });
  for (const auto& [name, policy] : in_order) read_policy(*name, *policy);
}

void Reader::read_policy(const toml::key& name, const toml::node& node) {
  const auto& at = name.source().begin;
  const auto* table = node.as_table();
  if (table == nullptr) {
    mistake(at, fmt::format("policy.{} must be a table, {}, not {}", name.str(),
                            table_name(name.str()), shown(node)));
    return;
  }
  if (name.str().empty()) mistake(at, "the name of a policy is empty");
  refuse_unknown(*table, kPolicyKeys, " in " + table_name(name.str()));
  Policy policy{.name = std::string(name.str()), .line = at.line};
  const auto sentence = fmt::format("policy '{}': ", name.str());
  for (const std::string_view key : {"key", "limit"}) {
    if (table->get(key) != nullptr) continue;
    mistake(at, fmt::format("{}{} is missing; write {} = \"{}\"", sentence, key, key,
                            key == "key" ? "login:%s" : "5/60s"));
  }
  const bool has_key = read_key(*table, sentence + "key", policy);
  const bool has_algorithm = read_algorithm(*table, sentence + "algorithm", policy);
  const bool has_limits = read_limits(*table, sentence + "limit", policy);
  const bool has_burst = read_burst(*table, sentence + "burst", policy);
  if (!has_key || !has_algorithm || !has_limits || !has_burst) return;
  if (!fit_together(*table, sentence, policy)) return;
  configuration_.policies.push_back(std::move(policy));
}

bool Reader::read_key(const toml::table& table, const std::string& name, Policy& policy) {
  const auto* key = text_of(table, "key", name);
  if (key == nullptr) return false;
  policy.key = *key;
  return attempt(table.get("key")->source().begin, name, [&] {
    if (key->empty()) throw UsageError("'' is empty");
    (void)literals_of(*key);
  });
}

bool Reader::read_algorithm(const toml::table& table, const std::string& name, Policy& policy) {
  policy.algorithm = find_algorithm(kDefaultAlgorithm);
  if (table.get("algorithm") == nullptr) return true;
  const auto* text = text_of(table, "algorithm", name);
  if (text == nullptr) return false;
  return attempt(table.get("algorithm")->source().begin, name, [&] {
    policy.algorithm = find_algorithm(*text);
    if (policy.algorithm == nullptr) throw UsageError(unknown_algorithm(*text));
    if (!counts_requests(*policy.algorithm)) require_usable(*policy.algorithm, {});
  });
}

bool Reader::read_limits(const toml::table& table, const std::string& name, Policy& policy) {
  const auto* node = table.get("limit");
  if (node == nullptr) return false;
  const auto* list = node->as_array();
  if (list == nullptr) return read_limit(*node, name, policy);
  if (list->empty()) mistake(node->source().begin, name + " is an empty list; write \"5/60s\"");
  bool good = !list->empty();
  for (const auto& element : *list) good = read_limit(element, name, policy) && good;
  if (!good) return false;
  // Two limits with the same window would be one key.
  return attempt(node->source().begin, name, [&] { (void)redis_keys("key", policy.limits); });
}

bool Reader::read_limit(const toml::node& node, const std::string& name, Policy& policy) {
  const auto* text = node.as_string();
  if (text == nullptr) {
    mistake(node.source().begin,
            fmt::format("{} must be a string such as \"5/60s\", or a list of them, not {}", name,
                        shown(node)));
    return false;
  }
  return attempt(node.source().begin, name,
                 [&] { policy.limits.push_back(parse_limit(text->get())); });
}

bool Reader::read_burst(const toml::table& table, const std::string& name, Policy& policy) {
  const auto* node = table.get("burst");
  if (node == nullptr) return true;
  const auto* number = node->as_integer();
  if (number == nullptr) {
    mistake(node->source().begin,
            fmt::format("{} must be a whole number, not {}", name, shown(*node)));
    return false;
  }
  for (auto& limit : policy.limits) limit.burst = number->get();
  return true;
}

/// `name` is that of the policy.
bool Reader::fit_together(const toml::table& table, const std::string& name, const Policy& policy) {
  const std::string word = table.get("burst") != nullptr ? "burst" : "limit";
  const bool usable = attempt(table.get(word)->source().begin, name + word, [&] {
    for (const auto& limit : policy.limits) require_usable(*policy.algorithm, limit);
  });
  // The template stands for the keys that are made of it.
  const bool keyed = attempt(table.get("key")->source().begin, name + "key",
                             [&] { (void)redis_keys(policy.key, policy.limits); });
  return usable && keyed;
}

// --- Files ---------------------------------------------------------------------------------------

[[noreturn]] void cannot_read(const std::string& file, int error) {
  if (error == EINTR) throw redis::Error(redis::Failure::kInterrupted, "interrupted");
  throw ConfigurationError({fmt::format("cannot read {}: {}", file, redis::errno_text(error))});
}

std::string read_all(int fd, const std::string& file) {
  std::string text;
  while (true) {
    constexpr std::size_t kPiece = 1 << 14;
    const auto size = text.size();
    text.resize(size + kPiece);
    const auto count = ::read(fd, text.data() + size, kPiece);
    if (count < 0) cannot_read(file, errno);
    text.resize(size + static_cast<std::size_t>(count));
    if (count == 0) return text;
    if (text.size() > kMaxSize) {
      throw ConfigurationError(
          {fmt::format("{} is too large: a configuration has at most {} bytes", file, kMaxSize)});
    }
  }
}

void require_private(const Configuration& configuration, int fd) {
  if (!configuration.url || redis::parse_url(*configuration.url).password.empty()) return;
  struct stat status {};
  if (::fstat(fd, &status) != 0) cannot_read(configuration.file, errno);
  const bool by_all = (status.st_mode & S_IROTH) != 0;
  const bool by_group = (status.st_mode & S_IRGRP) != 0;
  if (!by_all && (!by_group || status.st_uid == 0)) return;
  throw ConfigurationError(
      {fmt::format("{} holds a password, and {} can read it (mode {:04o})", configuration.file,
                   by_all ? "everybody" : "its group", status.st_mode & 07777U)},
      fmt::format("chmod 600 {}", configuration.file));
}

}  // namespace

Configuration parse_configuration(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

Configuration read_configuration(const std::string& file) {
  const redis::FileDescriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!fd) cannot_read(file, errno);
  auto configuration = parse_configuration(read_all(fd.get(), file), file);
  require_private(configuration, fd.get());
  return configuration;
}

const Policy* find_policy(const Configuration& configuration, std::string_view name) {
  const auto& policies = configuration.policies;
  const auto found = std::find_if(policies.begin(), policies.end(),
                                  [&](const Policy& policy) { return policy.name == name; });
  return found == policies.end() ? nullptr : &*found;
}

std::size_t argument_count(const Policy& policy) {
  return literals_of(policy.key).size() - 1;
}

std::string fill(const Policy& policy, std::span<const std::string> arguments) {
  const auto literals = literals_of(policy.key);
  std::string key = literals.front();
  for (std::size_t i = 0; i < arguments.size() && i + 1 < literals.size(); ++i) {
    key.append(arguments[i]).append(literals[i + 1]);
  }
  return key;
}

bool fits(const Policy& policy, std::string_view key) {
  return fits(literals_of(policy.key), key);
}

std::optional<PolicyMatch> match_policy(const Configuration& configuration, std::string_view key) {
  std::optional<PolicyMatch> best;
  std::size_t most = 0;  // bytes of the best policy's own
  for (const Policy& policy : configuration.policies) {
    const auto literals = literals_of(policy.key);
    const auto consider = [&](std::string_view asked, std::optional<std::size_t> limit) {
      if (!fits(literals, asked)) return;
      const auto own = total_size(literals) + key.size() - asked.size();
      if (best && own <= most) return;
      best = PolicyMatch{&policy, std::string(asked), limit};
      most = own;
    };
    if (policy.limits.size() == 1) {
      consider(key, 0);
      continue;
    }
    for (std::size_t i = 0; i < policy.limits.size(); ++i) {
      for (const auto asked : base_keys(key, policy.limits[i])) consider(asked, i);
    }
    consider(key, std::nullopt);
  }
  return best;
}

const Policy* policy_for(const Configuration& configuration, std::string_view key) {
  const auto match = match_policy(configuration, key);
  return match ? match->policy : nullptr;
}

}  // namespace rlctl::limiter
