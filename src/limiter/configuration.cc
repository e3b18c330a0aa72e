#include "limiter/configuration.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <span>
#include <system_error>
#include <utility>

#include "base/address.h"
#include "base/file.h"
#include "base/text.h"
#include "limiter/toml.h"
#include "redis/error.h"
#include "redis/url.h"

namespace rlctl::limiter {
namespace {

constexpr std::size_t kMaxSize = std::size_t{1} << 20;
constexpr std::array<std::string_view, 11> kKeys{"url",     "password_file", "tls",   "cacert",
                                                 "cert",    "key",           "sni",   "insecure",
                                                 "timeout", "policy",        "script"};
constexpr std::string_view kPolicy = "policy", kScript = "script";
/// What people try to name the server with.
constexpr std::array<std::string_view, 5> kServerKeys{"redis", "valkey", "server", "host", "port"};
constexpr std::array<std::string_view, 5> kPolicyKeys{"key", "algorithm", "limit", "burst",
                                                      "ipv6_prefix"};

// --- Reading -------------------------------------------------------------------------------------

struct Mistake {
  toml::source_position at;
  std::string message, part;
};

bool comes_before(const toml::source_position& a, const toml::source_position& b) {
  return std::pair(a.line, a.column) < std::pair(b.line, b.column);
}

/// Whether the byte continues a UTF-8 character.
bool continues(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U;
}

/// The first `head` and the last `tail` bytes of a longer text, with "..." between. If this cuts
/// off the "@" that marks a password, the text before it is dropped too.
std::string cut(std::string_view text, std::size_t head = 40, std::size_t tail = 0) {
  if (text.size() <= head + tail + 3) return std::string(text);
  auto begin = text.size() - tail;
  while (head > 0 && continues(text[head])) --head;
  while (begin < text.size() && continues(text[begin])) ++begin;
  if (text.substr(head, begin - head).find('@') != text.npos) head = 0;
  return fmt::format("{}...{}", text.substr(0, head), text.substr(begin));
}

/// Shortens a message that may contain a value of any length.
std::string cut_sentence(std::string_view sentence) {
  constexpr std::size_t kHead = 200, kTail = 200;
  return cut(sentence, kHead, kTail);
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

bool is_one_of(std::string_view key, std::span<const std::string_view> keys) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// A table's name as the file spells it: [policy.login], [policy."a b"].
std::string table_name(std::string_view name, std::string_view of = kPolicy) {
  const bool bare = std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
  return bare && !name.empty() ? fmt::format("[{}.{}]", of, cut(name))
                               : fmt::format("[{}.\"{}\"]", of, cut(name));
}

/// See ConfigurationMistake::part.
std::string part_named(std::string_view of, std::string_view name) {
  return std::string(of).append(".").append(name);
}

/// See ConfigurationMistake::part. `key` is one of kKeys, or empty.
std::string_view part_of(std::string_view key) {
  if (key == "key") return "cert";
  constexpr std::string_view kOwn[] = {"", "cacert", "cert", "timeout", kPolicy, kScript};
  const bool is_own = std::ranges::find(kOwn, key) != std::end(kOwn);
  return is_own ? key : "url";
}

ConfigurationError whole_file(std::string message) {
  return ConfigurationError({ConfigurationMistake{.message = std::move(message)}});
}

std::string unknown_algorithm(std::string_view name) {
  const auto names = list_names(counts_requests);
  return fmt::format("unknown algorithm '{}'{}", cut(name), did_you_mean_or_all(name, names));
}

/// Parses a file and collects the mistakes in it.
class Reader {
 public:
  explicit Reader(const std::string& file) { configuration_.file = file; }

  Configuration read(std::string_view text);

 private:
  using Position = toml::source_position;

  toml::table parse(std::string_view text) const;
  void mistake(const Position& at, std::string message) {
    mistakes_.push_back({at, std::move(message), part_});
  }
  template <typename Use>
  bool attempt(const Position& at, const std::string& name, Use use);
  void refuse_unknown(const toml::table& table);
  void refuse_unknown_of_policy(const toml::table& table, std::string_view policy);
  void refuse_key(const toml::key& key, const toml::node& node, const std::string& where,
                  const std::string& advice);
  const std::string* text_of(const toml::table& table, std::string_view key,
                             const std::string& name);
  bool truth_of(const toml::table& table, std::string_view key);
  std::string file_of(const toml::table& table, std::string_view key);
  void read_connection(const toml::table& table);
  void read_tls(const toml::table& table);
  using ReadTable = void (Reader::*)(const toml::key& name, const toml::table& table);
  void read_each(const toml::node& node, const Position& at, std::string_view of,
                 ReadTable read_table);
  void refuse_empty_name(const toml::key& name, std::string_view of);
  void read_script(const toml::key& name, const toml::table& table);
  bool read_texts(const toml::node& node, const std::string& name, bool takes_list,
                  std::vector<std::string>& texts);
  void read_policy(const toml::key& name, const toml::table& table);
  bool read_key(const toml::table& table, const std::string& name, Policy& policy);
  bool read_algorithm(const toml::table& table, const std::string& name, Policy& policy);
  bool read_limits(const toml::table& table, const std::string& name, Policy& policy);
  bool read_limit(const toml::node& node, const std::string& name, Policy& policy);
  bool read_burst(const toml::table& table, const std::string& name, Policy& policy);
  bool read_ipv6_prefix(const toml::table& table, const std::string& name, Policy& policy);
  bool fit_together(const toml::table& table, const std::string& name, const Policy& policy);
  void keep_mistakes();

  Configuration configuration_;
  std::vector<Mistake> mistakes_;
  std::string part_;  ///< that a mistake found now concerns: see ConfigurationMistake
};

toml::table Reader::parse(std::string_view text) const {
  try {
    return parse_toml(text);
  } catch (const TomlError& error) {
    throw whole_file(mistake_at(configuration_.file, error.line(), error.what(), {}).message);
  }
}

Configuration Reader::read(std::string_view text) {
  const auto table = parse(text);
  refuse_unknown(table);
  read_connection(table);
  for (const auto& [key, node] : table) {
    if (key.str() == kPolicy) read_each(node, key.source().begin, kPolicy, &Reader::read_policy);
    if (key.str() == kScript) read_each(node, key.source().begin, kScript, &Reader::read_script);
  }
  keep_mistakes();
  return std::move(configuration_);
}

void Reader::keep_mistakes() {
  std::stable_sort(mistakes_.begin(), mistakes_.end(),
                   [](const Mistake& a, const Mistake& b) { return comes_before(a.at, b.at); });
  for (const auto& [at, message, part] : mistakes_) {
    configuration_.mistakes.push_back(mistake_at(configuration_.file, at.line, message, part));
  }
}

/// Records a mistake and returns false if `use` throws.
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

void Reader::refuse_key(const toml::key& key, const toml::node& node, const std::string& where,
                        const std::string& advice) {
  mistake(key.source().begin, fmt::format("unknown {} '{}'{}{}", node.is_table() ? "table" : "key",
                                          cut(key.str()), where, advice));
}

/// A misspelt setting concerns the one that it resembles.
void Reader::refuse_unknown(const toml::table& table) {
  for (const auto& [key, node] : table) {
    if (is_one_of(key.str(), kKeys)) continue;
    part_ = part_of(closest(key.str(), kKeys));
    if (is_one_of(key.str(), kServerKeys)) {
      part_ = part_of("url");  // otherwise requests would go to another
      refuse_key(key, node, "", "; the server is url = \"redis://HOST:PORT\"");
    } else if (is_one_of(key.str(), kPolicyKeys) && !node.is_table()) {
      refuse_key(key, node, "", "; it belongs below a line " + table_name("NAME"));
    } else if (!part_.empty()) {
      refuse_key(key, node, "", did_you_mean(key.str(), kKeys));
    } else if (node.is_table()) {
      part_ = part_named(kPolicy, key.str());
      const bool is_plural = key.str() == "policies" || key.str() == "scripts";
      refuse_key(key, node, "",
                 is_plural ? "; write [policy.NAME] or [script.NAME]"
                           : "; write " + table_name(cut(key.str())));
    } else {
      refuse_key(key, node, "", "; expected one of: " + one_of(kKeys));
    }
  }
}

void Reader::refuse_unknown_of_policy(const toml::table& table, std::string_view policy) {
  for (const auto& [key, node] : table) {
    if (is_one_of(key.str(), kPolicyKeys)) continue;
    refuse_key(key, node, " in " + table_name(policy), did_you_mean_or_all(key.str(), kPolicyKeys));
  }
}

/// Null if the key is missing or is not a string; the latter is a mistake.
const std::string* Reader::text_of(const toml::table& table, std::string_view key,
                                   const std::string& name) {
  const auto* node = table.get(key);
  if (node == nullptr) return nullptr;
  const auto* text = node->as_string();
  if (text != nullptr) return &text->get();
  mistake(node->source().begin, fmt::format("{} must be a string, not {}", name, shown(*node)));
  return nullptr;
}

/// False if the key is missing or is not a boolean; the latter is a mistake.
bool Reader::truth_of(const toml::table& table, std::string_view key) {
  const auto* node = table.get(key);
  if (node == nullptr) return false;
  if (const auto* truth = node->as_boolean()) return truth->get();
  mistake(node->source().begin, fmt::format("{} must be true or false, not {}", key, shown(*node)));
  return false;
}

/// The path of the file that the key names, relative to the configuration's folder; empty if the
/// key is missing, or wrong, which is a mistake.
std::string Reader::file_of(const toml::table& table, std::string_view key) {
  part_ = part_of(key);
  const auto* text = text_of(table, key, std::string(key));
  if (text == nullptr) return {};
  if (text->empty()) {
    mistake(table.get(key)->source().begin, fmt::format("{}: the name of the file is empty", key));
    return {};
  }
  return std::filesystem::path(configuration_.file).parent_path() / *text;
}

void Reader::read_tls(const toml::table& table) {
  auto& tls = configuration_.tls;
  tls.cacert = file_of(table, "cacert");
  tls.cert = file_of(table, "cert");
  tls.key = file_of(table, "key");
  if (tls.cert.empty() != tls.key.empty()) {
    const std::string_view given = tls.cert.empty() ? "key" : "cert";
    mistake(table.get(given)->source().begin,
            fmt::format("{}: a client certificate needs both cert and key", given));
    tls.cert.clear();
    tls.key.clear();
  }
  part_ = "url";
  configuration_.use_tls = truth_of(table, "tls");
  tls.insecure = truth_of(table, "insecure");
  if (const auto* name = text_of(table, "sni", "sni")) tls.sni = *name;
  const auto& url = configuration_.url;
  if (configuration_.use_tls && url && !redis::has_tcp(redis::parse_url(*url))) {
    mistake(table.get("tls")->source().begin,
            fmt::format("tls: {} is not reached by TCP", redis::display(redis::parse_url(*url))));
  }
}

void Reader::read_connection(const toml::table& table) {
  part_ = "url";
  if (const auto* url = text_of(table, "url", "url")) {
    attempt(table.get("url")->source().begin, "url", [&] {
      (void)redis::parse_url(*url);
      configuration_.url = *url;
    });
  }
  if (auto file = file_of(table, "password_file"); !file.empty()) {
    if (configuration_.url && !redis::parse_url(*configuration_.url).password.empty()) {
      mistake(table.get("password_file")->source().begin,
              "password_file: the url has a password too");
    }
    configuration_.password_file = std::move(file);
  }
  read_tls(table);
  part_ = "timeout";
  if (const auto* timeout = text_of(table, "timeout", "timeout")) {
    attempt(table.get("timeout")->source().begin, "timeout", [&] {
      if (parse_duration(*timeout).count() == 0) {
        throw UsageError(fmt::format("must be greater than 0, not '{}'", *timeout));
      }
      configuration_.timeout = *timeout;
    });
  }
}

/// Reads the tables [policy.NAME] or [script.NAME].
void Reader::read_each(const toml::node& node, const Position& at, std::string_view of,
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
  std::stable_sort(in_order.begin(), in_order.end(), [](const auto& a, const auto& b) {
    return comes_before(a.first->source().begin, b.first->source().begin);
  });
  for (const auto& [name, element] : in_order) {
    part_ = part_named(of, name->str());
    const auto& begin = name->source().begin;
    const auto* table = element->as_table();
    if (table == nullptr) {
      mistake(begin, fmt::format("{}.{} must be a table, {}, not {}", of, cut(name->str()),
                                 table_name(name->str(), of), shown(*element)));
      continue;
    }
    (this->*read_table)(*name, *table);
  }
}

/// Reads a string or a list of strings; returns false after a mistake. Messages mention a list only
/// if `takes_list`: whoever uses the section refuses other lists.
bool Reader::read_texts(const toml::node& node, const std::string& name, bool takes_list,
                        std::vector<std::string>& texts) {
  const auto take = [&](const toml::node& element) {
    const auto* text = element.as_string();
    if (text != nullptr) {
      texts.push_back(text->get());
    } else {
      mistake(element.source().begin,
              fmt::format("{} must be a string{}, not {}", name,
                          takes_list ? ", or a list of them" : "", shown(element)));
    }
    return text != nullptr;
  };
  const auto* list = node.as_array();
  if (list == nullptr) return take(node);
  bool good = true;
  for (const auto& element : *list) good = take(element) && good;
  return good;
}

void Reader::refuse_empty_name(const toml::key& name, std::string_view of) {
  if (!name.str().empty()) return;
  mistake(name.source().begin, fmt::format("the name of a {} is empty", of));
}

void Reader::read_script(const toml::key& name, const toml::table& table) {
  const auto mistakes_before = mistakes_.size();
  refuse_empty_name(name, kScript);
  ScriptSection script{.name = std::string(name.str()), .line = name.source().begin.line};
  if (find_algorithm(script.name) != nullptr) {
    mistake(name.source().begin,
            fmt::format("script '{}': a bundled script has this name", cut(script.name)));
  }
  if (script.name == "-" || script.name.find('/') != script.name.npos ||
      script.name.ends_with(".lua")) {
    mistake(name.source().begin,
            fmt::format("script '{}': --script takes this name for a file", cut(script.name)));
  }
  for (const auto& [key, node] : table) {
    ScriptSection::Setting setting{
        .key = std::string(key.str()), .is_list = node.is_array(), .line = key.source().begin.line};
    const auto sentence = fmt::format("script '{}': {}", cut(script.name), cut(key.str()));
    const bool takes_list = setting.key == "keys" || setting.key == "args";
    if (read_texts(node, sentence, takes_list, setting.values)) {
      script.settings.push_back(std::move(setting));
    }
  }
  if (mistakes_.size() == mistakes_before) configuration_.scripts.push_back(std::move(script));
}

void Reader::read_policy(const toml::key& name, const toml::table& table) {
  const auto& at = name.source().begin;
  const auto mistakes_before = mistakes_.size();
  refuse_empty_name(name, kPolicy);
  refuse_unknown_of_policy(table, name.str());
  Policy policy{.name = std::string(name.str()), .line = at.line};
  const auto sentence = fmt::format("policy '{}': ", cut(name.str()));
  for (const std::string_view key : {"key", "limit"}) {
    if (table.get(key) != nullptr) continue;
    mistake(at, fmt::format("{}{} is missing; write {} = \"{}\"", sentence, key, key,
                            key == "key" ? "login:%s" : "5/60s"));
  }
  const bool has_key = read_key(table, sentence + "key", policy);
  const bool has_algorithm = read_algorithm(table, sentence + "algorithm", policy);
  const bool has_limits = read_limits(table, sentence + "limit", policy);
  const bool has_burst = read_burst(table, sentence + "burst", policy);
  const bool has_prefix = read_ipv6_prefix(table, sentence + "ipv6_prefix", policy);
  if (!has_key || !has_algorithm || !has_limits || !has_burst || !has_prefix) return;
  if (!fit_together(table, sentence, policy)) return;
  if (mistakes_.size() > mistakes_before) return;
  configuration_.policies.push_back(std::move(policy));
}

bool Reader::read_key(const toml::table& table, const std::string& name, Policy& policy) {
  const auto* key = text_of(table, "key", name);
  if (key == nullptr) return false;
  policy.key = *key;
  return attempt(table.get("key")->source().begin, name, [&] {
    if (key->empty()) throw UsageError("'' is empty");
    require_template(*key);
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
  return attempt(node->source().begin, name, [&] { require_different_windows(policy.limits); });
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

bool Reader::read_ipv6_prefix(const toml::table& table, const std::string& name, Policy& policy) {
  const auto* node = table.get("ipv6_prefix");
  if (node == nullptr) return true;
  const auto* number = node->as_integer();
  if (number == nullptr || number->get() < 1 || number->get() > kIpv6Bits) {
    mistake(node->source().begin, fmt::format("{} must be a whole number from 1 to {}, not {}",
                                              name, kIpv6Bits, shown(*node)));
    return false;
  }
  policy.ipv6_prefix = static_cast<int>(number->get());
  return true;
}

/// `name` is the name of the policy in messages.
bool Reader::fit_together(const toml::table& table, const std::string& name, const Policy& policy) {
  const std::string word = table.get("burst") != nullptr ? "burst" : "limit";
  const bool usable = attempt(table.get(word)->source().begin, name + word, [&] {
    for (const auto& limit : policy.limits) require_usable(*policy.algorithm, limit);
  });
  // The template stands for all keys that are made from it.
  const bool keyed = attempt(table.get("key")->source().begin, name + "key",
                             [&] { (void)redis_keys(policy.key, policy.limits); });
  const auto* prefix = table.get("ipv6_prefix");
  const bool has_address = prefix == nullptr || argument_count(policy) > 0;
  if (!has_address) {
    mistake(prefix->source().begin,
            fmt::format("{}ipv6_prefix: the key '{}' has no argument that could be an address",
                        name, cut(policy.key)));
  }
  return usable && keyed && has_address;
}

// --- Files ---------------------------------------------------------------------------------------

void require_private(Configuration& configuration, const FileDescriptor& file) {
  if (!configuration.url || redis::parse_url(*configuration.url).password.empty()) return;
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw std::system_error(errno, std::generic_category());
  const bool by_all = (status.st_mode & S_IROTH) != 0;
  const bool by_group = (status.st_mode & S_IRGRP) != 0;
  if (!by_all && (!by_group || status.st_uid == 0)) return;
  configuration.url.reset();
  configuration.mistakes.push_back(
      {.message =
           fmt::format("{} holds a password, and {} can read it (mode {:04o})", configuration.file,
                       by_all ? "everybody" : "its group", status.st_mode & 07777U),
       .part = "url",
       .hint = fmt::format("chmod 600 {}", configuration.file)});
}

}  // namespace

ConfigurationMistake mistake_at(const std::string& file, std::size_t line, std::string_view message,
                                std::string part) {
  return {.message = fmt::format("{}:{}: {}", file, line, cut_sentence(message)),
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
  const auto found = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& setting) { return setting.key == key; });
  return found == settings.end() ? nullptr : &*found;
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

}  // namespace rlctl::limiter
