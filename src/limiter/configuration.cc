#include "limiter/configuration.h"

#include "base/address.h"
#include "base/file.h"
#include "base/table.h"
#include "base/text.h"
#include "limiter/toml.h"
#include "redis/error.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <unordered_map>

namespace rlctl::limiter {

namespace {

/// The text around each %s: one more element than there are arguments. Throws UsageError.
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

/// The number of bytes in the policy's template that are not part of an argument.
std::size_t own_size(const Policy& policy) {
  std::size_t size = 0;
  for (const auto& literal : literals_of(policy.key)) size += literal.size();
  return size;
}

/// The arguments that make the key; std::nullopt if it does not fit.
std::optional<std::vector<std::string>> arguments_in(const Policy& policy, std::string_view key) {
  // Fast path: most keys of a server fit no policy and differ in their first bytes.
  if (!key.starts_with(std::string_view(policy.key).substr(0, policy.key.find('%'))))
    return std::nullopt;
  const auto literals = literals_of(policy.key);
  std::vector<std::string> arguments;
  if (literals.size() == 1) {
    return key == literals.front() ? std::optional(arguments) : std::nullopt;
  }
  const std::string_view first = literals.front();
  const std::string_view last = literals.back();
  if (!key.starts_with(first)) return std::nullopt;
  // Where the argument before the next literal begins. The earliest match of each literal leaves
  // the most text for the following ones.
  std::size_t at = first.size();
  for (const auto& literal : std::span(literals).subspan(1, literals.size() - 2)) {
    const auto found = key.find(literal, at + 1);
    if (found == key.npos) return std::nullopt;
    arguments.emplace_back(key.substr(at, found - at));
    at = found + literal.size();
  }
  if (key.size() <= at + last.size() || !key.ends_with(last)) return std::nullopt;
  arguments.emplace_back(key.substr(at, key.size() - last.size() - at));
  return arguments;
}

}  // namespace

bool fits(const Policy& policy, std::string_view key) {
  return arguments_in(policy, key).has_value();
}

std::string with_networks(const Policy& policy, std::string_view key) {
  const auto arguments = arguments_in(policy, key);
  return arguments ? fill(policy, *arguments) : std::string(key);
}

std::size_t argument_count(const Policy& policy) {
  return literals_of(policy.key).size() - 1;
}

std::string fill(const Policy& policy, std::span<const std::string> arguments) {
  const auto literals = literals_of(policy.key);
  std::string key = literals.front();
  for (std::size_t i = 0; i + 1 < literals.size(); ++i) {
    const auto network =
        policy.ipv6_prefix ? client_network(arguments[i], *policy.ipv6_prefix) : std::nullopt;
    key.append(network.value_or(arguments[i])).append(literals[i + 1]);
  }
  return key;
}

namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20;
constexpr std::string_view kUrl = "url", kPolicy = "policy", kScript = "script",
                           kLibrary = "library";
/// Keys with which people try to name the server.
constexpr std::array<std::string_view, 5> kServerKeys{"redis", "valkey", "server", "host", "port"};

// ---- Reading ----

/// Whether the byte continues a UTF-8 character.
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// The first `head` and the last `tail` bytes of a longer text, with "..." between. If an "@"
/// follows the first bytes, they may contain the beginning of a password, and are dropped too.
std::string cut(std::string_view text, std::size_t head = 40, std::size_t tail = 0) {
  if (text.size() <= head + tail + 3) return std::string(text);
  auto begin = text.size() - tail;
  while (head > 0 && continues(text[head])) --head;
  while (begin < text.size() && continues(text[begin])) ++begin;
  if (text.find('@', head) != text.npos) head = 0;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(begin));
}

/// A value as messages show it.
std::string shown(const toml::node& node) {
  if (const auto* text = node.as_string()) return fmt::format("the string '{}'", cut(text->get()));
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* truth = node.as_boolean()) return truth->get() ? "true" : "false";
  if (node.is_array()) return "a list";
  return node.is_table() ? "a table" : "a date or time";
}

/// A table's name as the file spells it: [policy.login], [policy."a b"].
std::string table_name(std::string_view name, std::string_view of = kPolicy) {
  const bool bare =
      std::ranges::all_of(name, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
  return bare && !name.empty() ? fmt::format("[{}.{}]", of, cut(name))
                               : fmt::format("[{}.\"{}\"]", of, cut(name));
}

/// See ConfigurationMistake::part.
std::string part_named(std::string_view of, std::string_view name) {
  return std::string(of).append(".").append(name);
}

ConfigurationError whole_file(std::string message, std::string hint = {}) {
  return ConfigurationError(
      {ConfigurationMistake{.message = std::move(message), .hint = std::move(hint)}});
}

std::string unknown_algorithm(std::string_view name) {
  const auto names = list_names(counts_requests);
  return fmt::format("unknown algorithm '{}'{}", cut(name), did_you_mean_or_all(name, names));
}

/// A value of the wrong type: "must be a string, not 5".
struct WrongType {
  WrongType(std::string_view expected, const toml::node& node)
      : message(fmt::format("must be {}, not {}", expected, shown(node))) {}
  std::string message;
};

const std::string& text_in(const toml::node& node, std::string_view expected = "a string") {
  const auto* text = node.as_string();
  if (text == nullptr) throw WrongType(expected, node);
  return text->get();
}

bool truth_in(const toml::node& node) {
  const auto* truth = node.as_boolean();
  if (truth == nullptr) throw WrongType("true or false", node);
  return truth->get();
}

/// The path of a file, relative to the configuration's folder.
std::string path_in(const toml::node& node, const Configuration& configuration) {
  const auto& path = text_in(node);
  if (path.empty()) throw UsageError("the name of the file is empty");
  return std::filesystem::path(configuration.file).parent_path() / path;
}

// ---- The settings ----

/// A key, and what its value sets. A value that is wrong throws WrongType, UsageError or
/// redis::Error.
template <typename Target>
struct Setting {
  std::string_view name;
  void (*read)(const toml::node& value, Target& target);
  std::string_view part = {};     ///< see ConfigurationMistake::part
  std::string_view example = {};  ///< if it must be set
  bool takes_list = false;        ///< the value may be a list of such values
};

void read_url(const toml::node& value, Configuration& file) {
  const auto& url = text_in(value);
  (void)redis::parse_url(url);
  file.url = url;
}

void read_password_file(const toml::node& value, Configuration& file) {
  file.password_file = path_in(value, file);
  if (file.url && !redis::parse_url(*file.url).password.empty()) {
    throw UsageError("the url has a password too");
  }
}

void read_use_tls(const toml::node& value, Configuration& file) {
  file.use_tls = truth_in(value);
  if (!file.use_tls || !file.url) return;
  const auto url = redis::parse_url(*file.url);
  if (!redis::has_tcp(url)) throw UsageError(redis::display(url) + " is not reached by TCP");
}

template <std::string redis::Tls::*path>
void read_tls_file(const toml::node& value, Configuration& file) {
  file.tls.*path = path_in(value, file);
}

void read_timeout(const toml::node& value, Configuration& file) {
  const auto& timeout = text_in(value);
  if (parse_duration(timeout).count() == 0) {
    throw UsageError(fmt::format("must be greater than 0, not '{}'", timeout));
  }
  file.timeout = timeout;
}

/// The settings of the file, in the order in which they are read.
constexpr Setting<Configuration> kSettings[] = {
    {kUrl, read_url, kUrl},
    {"password_file", read_password_file, kUrl},
    {"tls", read_use_tls, kUrl},
    {"cacert", read_tls_file<&redis::Tls::cacert>, "cacert"},
    {"cert", read_tls_file<&redis::Tls::cert>, "cert"},
    {"key", read_tls_file<&redis::Tls::key>, "cert"},
    {"sni", [](const auto& value, auto& file) { file.tls.sni = text_in(value); }, kUrl},
    {"insecure", [](const auto& value, auto& file) { file.tls.insecure = truth_in(value); }, kUrl},
    {"timeout", read_timeout, "timeout"},
    // Tables, which the Reader reads.
    {kPolicy, nullptr, kPolicy},
    {kScript, nullptr, kScript},
    {kLibrary, nullptr, kLibrary},
};

void read_key(const toml::node& value, Policy& policy) {
  policy.key = text_in(value);
  if (policy.key.empty()) throw UsageError("'' is empty");
  (void)literals_of(policy.key);
}

void read_algorithm(const toml::node& value, Policy& policy) {
  const auto& name = text_in(value);
  policy.algorithm = find_algorithm(name);
  if (policy.algorithm == nullptr) throw UsageError(unknown_algorithm(name));
  if (!counts_requests(*policy.algorithm)) require_usable(*policy.algorithm, {});
}

void read_limit(const toml::node& value, Policy& policy) {
  const auto& limit = text_in(value, "a string such as \"5/60s\", or a list of them");
  policy.limits.push_back(parse_limit(limit));
}

void read_burst(const toml::node& value, Policy& policy) {
  const auto* number = value.as_integer();
  if (number == nullptr) throw WrongType("a whole number", value);
  for (auto& limit : policy.limits) limit.burst = number->get();
}

void read_ipv6_prefix(const toml::node& value, Policy& policy) {
  const auto* number = value.as_integer();
  if (number == nullptr || number->get() < 1 || number->get() > kIpv6Bits) {
    throw WrongType(fmt::format("a whole number from 1 to {}", kIpv6Bits), value);
  }
  policy.ipv6_prefix = static_cast<int>(number->get());
}

/// The settings of a policy, in the order in which they are read.
constexpr Setting<Policy> kPolicySettings[] = {
    {.name = "key", .read = read_key, .example = "login:%s"},
    {.name = "algorithm", .read = read_algorithm},
    {.name = "limit", .read = read_limit, .example = "5/60s", .takes_list = true},
    {.name = "burst", .read = read_burst},
    {.name = "ipv6_prefix", .read = read_ipv6_prefix},
};

using Texts = std::vector<std::string>;

void read_text(const toml::node& value, Texts& texts) {
  texts.push_back(text_in(value));
}

void read_text_of_list(const toml::node& value, Texts& texts) {
  texts.push_back(text_in(value, "a string, or a list of them"));
}

/// Parses a file and collects the mistakes in it.
class Reader {
 public:
  explicit Reader(const std::string& file) { configuration_.file = file; }

  Configuration read(std::string_view text) {
    const auto table = parse(text);
    report_unknown(table);
    for (const auto& setting : kSettings) {
      const auto* value = table.get(setting.name);
      if (value == nullptr || setting.read == nullptr) continue;
      part_ = setting.part;
      read_setting(setting, *value, std::string(setting.name), configuration_);
    }
    require_whole_certificate(table);
    for (const auto& [key, node] : table) {
      if (key.str() == kPolicy) read_each(node, key.source().begin, kPolicy, &Reader::read_policy);
      if (key.str() == kScript) read_each(node, key.source().begin, kScript, &Reader::read_script);
      if (key.str() == kLibrary)
        read_each(node, key.source().begin, kLibrary, &Reader::read_library);
    }
    merge_mistakes(configuration_.mistakes, {});
    return std::move(configuration_);
  }

 private:
  using Position = toml::source_position;
  using ReadTable = void (Reader::*)(const toml::key& name, const toml::table& table);

  void mistake(const Position& at, std::string_view message) {
    configuration_.mistakes.push_back(mistake_at(configuration_.file, at.line, message, part_));
  }

  toml::table parse(std::string_view text) const {
    try {
      return parse_toml(text);
    } catch (const TomlError& error) {
      throw whole_file(
          error.line() == 0
              ? fmt::format("{}: {}", configuration_.file, error.what())
              : mistake_at(configuration_.file, error.line(), error.what(), {}).message);
    }
  }

  /// Records a mistake and returns false if `use` throws.
  template <typename Use>
  bool attempt(const Position& at, const std::string& name, Use use) {
    try {
      use();
      return true;
    } catch (const WrongType& error) {
      mistake(at, name + " " + error.message);
    } catch (const UsageError& error) {
      mistake(at, fmt::format("{}: {}", name, error.what()));
    } catch (const redis::Error& error) {
      mistake(at, fmt::format("{}: {}{}{}", name, error.what(), error.hint().empty() ? "" : "; ",
                              error.hint()));
    }
    return false;
  }

  /// Returns false after a mistake. `name` is the setting's name in messages.
  template <typename Target>
  bool read_setting(const Setting<Target>& setting, const toml::node& value,
                    const std::string& name, Target& target) {
    const auto read = [&](const toml::node& each) {
      return attempt(each.source().begin, name, [&] { setting.read(each, target); });
    };
    const auto* list = setting.takes_list ? value.as_array() : nullptr;
    if (list == nullptr) return read(value);
    bool good = !list->empty() || setting.example.empty();
    if (!good) {
      mistake(value.source().begin,
              fmt::format("{} is an empty list; write \"{}\"", name, setting.example));
    }
    for (const auto& each : *list) good = read(each) && good;
    return good;
  }

  void unknown_key(const toml::key& key, const toml::node& node, const std::string& where,
                   const std::string& advice) {
    mistake(key.source().begin,
            fmt::format("unknown {} '{}'{}{}", node.is_table() ? "table" : "key", cut(key.str()),
                        where, advice));
  }

  /// A misspelt setting concerns the one that it resembles.
  void report_unknown(const toml::table& table) {
    const auto names = names_of(kSettings);
    for (const auto& [key, node] : table) {
      if (find_by_name(kSettings, key.str()) != nullptr) continue;
      const auto* meant = find_by_name(kSettings, closest(key.str(), names));
      part_ = meant == nullptr ? "" : meant->part;
      if (std::ranges::count(kServerKeys, key.str()) > 0) {
        part_ = kUrl;  // otherwise requests would go to another
        unknown_key(key, node, "", "; the server is url = \"redis://HOST:PORT\"");
      } else if (find_by_name(kPolicySettings, key.str()) != nullptr && !node.is_table()) {
        unknown_key(key, node, "", "; it belongs below a line " + table_name("NAME"));
      } else if (meant != nullptr) {
        unknown_key(key, node, "", did_you_mean(key.str(), names));
      } else if (node.is_table()) {
        part_ = part_named(kPolicy, key.str());
        const bool is_plural =
            key.str() == "policies" || key.str() == "scripts" || key.str() == "libraries";
        unknown_key(key, node, "",
                    is_plural ? "; write [policy.NAME], [script.NAME] or [library.NAME]"
                              : "; write " + table_name(cut(key.str())));
      } else {
        unknown_key(key, node, "", "; expected one of: " + one_of(names));
      }
    }
  }

  void report_unknown_in_policy(const toml::table& table, std::string_view policy) {
    const auto names = names_of(kPolicySettings);
    for (const auto& [key, node] : table) {
      if (find_by_name(kPolicySettings, key.str()) != nullptr) continue;
      unknown_key(key, node, " in " + table_name(policy), did_you_mean_or_all(key.str(), names));
    }
  }

  void require_whole_certificate(const toml::table& table) {
    auto& tls = configuration_.tls;
    if (tls.cert.empty() == tls.key.empty()) return;
    const std::string_view given = tls.cert.empty() ? "key" : "cert";
    part_ = "cert";
    mistake(table.get(given)->source().begin,
            fmt::format("{}: a client certificate needs both cert and key", given));
    tls.cert.clear();
    tls.key.clear();
  }

  /// Reads the tables [policy.NAME], [script.NAME] or [library.NAME].
  void read_each(const toml::node& node, const Position& at, std::string_view of,
                 ReadTable read_table) {
    part_ = of;
    const auto* all = node.as_table();
    if (all == nullptr) {
      mistake(at, fmt::format("{} must be a table, [{}.NAME], not {}", of, of, shown(node)));
      return;
    }
    // toml++ sorts them by name.
    std::vector<std::pair<const toml::key*, const toml::node*>> in_order;
    for (const auto& [name, element] : *all) in_order.emplace_back(&name, &element);
    const auto place = [](const auto& each) {
      const auto& begin = each.first->source().begin;
      return std::pair(begin.line, begin.column);
    };
    std::ranges::sort(in_order, {}, place);
    for (const auto& [name, element] : in_order) {
      part_ = part_named(of, name->str());
      const auto& begin = name->source().begin;
      const auto* table = element->as_table();
      if (table == nullptr) {
        mistake(begin, fmt::format("{}.{} must be a table, {}, not {}", of, cut(name->str()),
                                   table_name(name->str(), of), shown(*element)));
        continue;
      }
      if (name->str().empty()) {
        mistake(begin, fmt::format("the name of a {} is empty", of));
        continue;
      }
      (this->*read_table)(*name, *table);
    }
  }

  void read_script(const toml::key& name, const toml::table& table) {
    const auto mistakes_before = configuration_.mistakes.size();
    ScriptSection script{.name = std::string(name.str()), .line = name.source().begin.line};
    if (find_algorithm(script.name) != nullptr) {
      mistake(name.source().begin,
              fmt::format("script '{}': a bundled script has this name", cut(script.name)));
    }
    if (script.name.starts_with('-') || script.name.find('/') != script.name.npos ||
        script.name.ends_with(".lua")) {
      mistake(name.source().begin,
              fmt::format("script '{}': rlctl takes this name for a file", cut(script.name)));
    }
    for (const auto& [key, node] : table) {
      ScriptSection::Setting setting{.name = std::string(key.str()),
                                     .is_list = node.is_array(),
                                     .line = key.source().begin.line};
      const auto sentence = fmt::format("script '{}': {}", cut(script.name), cut(key.str()));
      // The code that uses the section knows the other keys, and refuses a list where none belongs.
      const Setting<Texts> texts{
          .name = key.str(),
          .read = ScriptSection::takes_list(key.str()) ? read_text_of_list : read_text,
          .takes_list = true};
      if (read_setting(texts, node, sentence, setting.values)) {
        script.settings.push_back(std::move(setting));
      }
    }
    if (configuration_.mistakes.size() == mistakes_before)
      configuration_.scripts.push_back(std::move(script));
  }

  /// What the keys and texts mean is known to whoever reads keys.
  void read_library(const toml::key& name, const toml::table& table) {
    LibrarySection library{.name = std::string(name.str()), .line = name.source().begin.line};
    const auto add = [&](const std::string& key, const toml::node& value) {
      LibrarySection::Setting setting{.name = key, .line = value.source().begin.line};
      const auto add_text = [&](const toml::node& each) {
        if (const auto* text = each.as_string()) {
          setting.values.push_back(text->get());
        } else if (const auto* number = each.as_integer()) {
          setting.values.push_back(std::to_string(number->get()));
        } else if (const auto* truth = each.as_boolean()) {
          setting.values.emplace_back(truth->get() ? "true" : "false");
        } else {
          mistake(each.source().begin, fmt::format("library '{}': {} must be a text, not {}",
                                                   cut(library.name), cut(key), shown(each)));
        }
      };
      if (const auto* list = value.as_array()) {
        for (const auto& each : *list) add_text(each);
      } else {
        add_text(value);
      }
      if (!setting.values.empty()) library.settings.push_back(std::move(setting));
    };
    for (const auto& [key, node] : table) {
      const auto* place = node.as_table();
      if (place == nullptr) add(std::string(key.str()), node);
      for (const auto& [part, value] : place != nullptr ? *place : toml::table{}) {
        add(std::string(key.str()).append(".").append(part.str()), value);
      }
    }
    configuration_.libraries.push_back(std::move(library));
  }

  void read_policy(const toml::key& name, const toml::table& table) {
    const auto& at = name.source().begin;
    const auto mistakes_before = configuration_.mistakes.size();
    report_unknown_in_policy(table, name.str());
    Policy policy{.name = std::string(name.str()), .line = at.line};
    const auto sentence = fmt::format("policy '{}': ", cut(name.str()));
    bool good = true;
    for (const auto& setting : kPolicySettings) {
      const auto* value = table.get(setting.name);
      const auto words = sentence + std::string(setting.name);
      if (value != nullptr) {
        good = read_setting(setting, *value, words, policy) && good;
      } else if (!setting.example.empty()) {
        good = false;
        mistake(at, fmt::format("{} is missing; write {} = \"{}\"", words, setting.name,
                                setting.example));
      }
    }
    if (policy.algorithm == nullptr) policy.algorithm = &default_algorithm(policy.limits);
    if (good) require_fitting(table, sentence, policy);
    if (configuration_.mistakes.size() > mistakes_before) return;
    configuration_.policies.push_back(std::move(policy));
  }

  /// `name` is the name of the policy in messages.
  void require_fitting(const toml::table& table, const std::string& name, const Policy& policy) {
    const auto check = [&](const std::string& setting, auto use) {
      return attempt(table.get(setting)->source().begin, name + setting, use);
    };
    if (!check("limit", [&] { require_different_windows(policy.limits); })) return;
    check(table.get("burst") != nullptr ? "burst" : "limit", [&] {
      for (const auto& limit : policy.limits) require_usable(*policy.algorithm, limit);
    });
    // The template stands for all keys that are made from it.
    check("key", [&] { (void)redis_keys(policy.key, policy.limits); });
    if (!policy.ipv6_prefix || argument_count(policy) > 0) return;
    check("ipv6_prefix", [&] {
      throw UsageError(
          fmt::format("the key '{}' has no argument that could be an address", cut(policy.key)));
    });
  }

  Configuration configuration_;
  std::string part_;  ///< the ConfigurationMistake::part of a mistake that is found now
};

// ---- Files ----

/// A configuration names servers, files with passwords, and programs to run, so it is as good as
/// those who can write it.
void require_safe(const FileDescriptor& opened, const std::string& file) {
  const auto refusal = unsafe_file(opened, file, "is a configuration", FileContent::kConfiguration);
  if (refusal) throw whole_file(refusal->what(), refusal->hint());
}

void require_private(Configuration& configuration, const FileDescriptor& opened) {
  if (!configuration.url || redis::parse_url(*configuration.url).password.empty()) return;
  const auto refusal =
      unsafe_file(opened, configuration.file, "holds a password", FileContent::kSecret);
  if (!refusal) return;
  configuration.url.reset();
  configuration.mistakes.push_back(
      {.message = refusal->what(), .part = "url", .hint = refusal->hint()});
}

}  // namespace

ConfigurationMistake mistake_at(const std::string& file, std::size_t line, std::string_view message,
                                std::string part) {
  constexpr std::size_t kHead = 200, kTail = 200;  // it may contain a value of any length
  return {.message = fmt::format("{}:{}: {}", file, line, cut(message, kHead, kTail)),
          .part = std::move(part),
          .line = line};
}

void merge_mistakes(std::vector<ConfigurationMistake>& mistakes,
                    std::vector<ConfigurationMistake> others) {
  std::move(others.begin(), others.end(), std::back_inserter(mistakes));
  std::stable_sort(mistakes.begin(), mistakes.end(), [](const auto& a, const auto& b) {
    return a.line != 0 && (b.line == 0 || a.line < b.line);
  });
}

const ScriptSection::Setting* ScriptSection::find(std::string_view key) const {
  return find_by_name(settings, key);
}

void require_correct(const Configuration& configuration) {
  if (!configuration.mistakes.empty()) throw ConfigurationError(configuration.mistakes);
}

Configuration parse_configuration(std::string_view text, const std::string& file) {
  return Reader(file).read(text);
}

Configuration read_configuration(const std::string& file) {
  try {
    const auto opened = open_file(file);
    require_safe(opened, file);
    const auto text = read_all(opened, kMaxSize + 1);
    if (text.size() > kMaxSize) {
      throw whole_file(
          fmt::format("{} is too large: a configuration has at most {} bytes", file, kMaxSize));
    }
    auto configuration = parse_configuration(text, file);
    require_private(configuration, opened);
    return configuration;
  } catch (const std::system_error& error) {
    throw whole_file(fmt::format("cannot read {}: {}", file, errno_text(error.code().value())));
  }
}

const Policy* find_policy(const Configuration& configuration, std::string_view name) {
  return find_by_name(configuration.policies, name);
}

const ScriptSection* find_script(const Configuration& configuration, std::string_view name) {
  return find_by_name(configuration.scripts, name);
}

std::optional<PolicyMatch> match_policy(const Configuration& configuration, std::string_view key) {
  std::optional<PolicyMatch> best;
  std::size_t most = 0;  // the own_size() of the best policy
  for (const Policy& policy : configuration.policies) {
    const auto consider = [&](std::string_view asked, std::optional<std::size_t> limit) {
      if (!fits(policy, asked)) return;
      const auto own = own_size(policy) + key.size() - asked.size();
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
    if (can_carry_several_limits(key)) consider(key, std::nullopt);
  }
  return best;
}

std::string stored_key(const PolicyMatch& match, std::string_view key) {
  std::string stored(key);
  // The key of one of several limits is made of the key that a user passes.
  const auto at = stored.find(match.key);
  if (!match.policy->ipv6_prefix || at == stored.npos) return stored;
  return stored.replace(at, match.key.size(), with_networks(*match.policy, match.key));
}

std::vector<PolicyClash> policy_clashes(const Configuration& configuration) {
  std::vector<PolicyClash> clashes;
  // The first policy for each template of a key in Redis.
  std::unordered_map<std::string, const Policy*> firsts;
  for (const Policy& policy : configuration.policies) {
    const Policy* first = nullptr;
    for (auto& key : redis_keys(policy.key, policy.limits)) {
      const auto* owner = firsts.emplace(std::move(key), &policy).first->second;
      if (first == nullptr && owner->algorithm != policy.algorithm) first = owner;
    }
    if (first != nullptr) clashes.push_back({first, &policy});
  }
  return clashes;
}

const Policy* policy_for(const Configuration& configuration, std::string_view key) {
  const auto match = match_policy(configuration, key);
  return match ? match->policy : nullptr;
}

}  // namespace rlctl::limiter
