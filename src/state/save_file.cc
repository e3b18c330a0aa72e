#include "state/save_file.h"

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"

namespace rlctl::state {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kFormat = "rlctl saved keys";
constexpr int kVersion = 1;
/// A dump of kLongestDump bytes may be compressed: its contents, in base64, may be much longer.
constexpr std::size_t kLongestLine = std::size_t{1} << 31;

/// A line that is not one of a file of saved keys. what() is the end of a sentence.
class BadLine : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

const Json& field_of(const Json& line, const char* name) {
  const auto found = line.find(name);
  if (found == line.end()) throw BadLine(std::string("has no field '") + name + "'");
  return *found;
}

const std::string& text_of(const Json& value, const char* name) {
  if (!value.is_string()) throw BadLine(std::string("'") + name + "' is not a string");
  return value.get_ref<const std::string&>();
}

std::string decoded(const Json& value, const char* name) {
  auto bytes = from_base64(text_of(value, name));
  if (!bytes) throw BadLine(std::string("'") + name + "' is not base64");
  return std::move(*bytes);
}

/// The value that JsonWriter::bytes_field() wrote.
std::string bytes_of(const Json& line, const char* name) {
  const auto in_base64 = std::string(name) + "_base64";
  if (line.contains(in_base64)) return decoded(line[in_base64], in_base64.c_str());
  return text_of(field_of(line, name), name);
}

Json parse_line(std::string_view text) {
  auto line = Json::parse(text, nullptr, false);
  if (!line.is_object()) throw BadLine("is not a JSON object");
  return line;
}

SavedKey parse_key(const Json& line) {
  SavedKey key{.key = bytes_of(line, "key"), .type = text_of(field_of(line, "type"), "type")};
  const auto& library = field_of(line, "library");
  if (!library.is_null()) key.library = text_of(library, "library");
  const auto& algorithm = field_of(line, "algorithm");
  if (!algorithm.is_null()) key.algorithm = text_of(algorithm, "algorithm");
  const auto& expires_at = field_of(line, "expires_at_ms");
  if (!expires_at.is_null()) {
    const bool is_time = expires_at.is_number_integer() && expires_at.get<std::int64_t>() > 0;
    if (!is_time) throw BadLine("'expires_at_ms' is not a time");
    key.expires_at = std::chrono::milliseconds{expires_at.get<std::int64_t>()};
  }
  key.dump = decoded(field_of(line, "dump_base64"), "dump_base64");
  if (key.dump.empty()) throw BadLine("'dump_base64' is empty");
  const auto& contents = field_of(line, "contents_base64");
  if (contents.is_null()) return key;
  if (!contents.is_array()) throw BadLine("'contents_base64' is not an array");
  auto& elements = key.contents.emplace();
  elements.reserve(contents.size());
  for (const auto& element : contents) elements.push_back(decoded(element, "contents_base64"));
  return key;
}

/// Throws InputError if this is not the first line of a file that can be restored.
void require_header(const std::string& path, std::string_view text) {
  const auto line = Json::parse(text, nullptr, false);
  if (!line.is_object() || !line.contains("format") || line["format"] != kFormat) {
    throw InputError(
        "--restore: " + in_quotes(path) + " does not begin like a file that reset --save writes",
        "nothing was restored");
  }
  if (line.value("version", Json()) != kVersion) {
    throw InputError(
        "--restore: " + in_quotes(path) + " has a format that this version of rlctl does not know",
        "nothing was restored; use the version that saved it, or a newer one");
  }
}

[[noreturn]] void throw_damaged(const std::string& path, std::size_t line,
                                const std::string& what) {
  throw InputError("--restore: " + in_quotes(path) + ", line " + std::to_string(line) + " " + what,
                   "nothing was restored; delete the line from a copy of the file to restore the "
                   "other keys");
}

}  // namespace

// ---- Writing ----

void SaveFile::begin(const std::optional<redis::ServerVersion>& server) {
  std::string line;
  JsonWriter(line)
      .begin_object()
      .field("format", kFormat)
      .field("version", kVersion)
      .field("server", server ? std::optional(redis::display(*server)) : std::nullopt)
      .field("saved_at", format_instant(system_time()))
      .end_object();
  file_.add(line += '\n');
}

void SaveFile::add(const SavedKey& key) {
  std::string line;
  JsonWriter json(line);
  json.begin_object()
      .bytes_field("key", key.key)
      .field("type", key.type)
      .known_field("library", key.library)
      .known_field("algorithm", key.algorithm)
      .field("expires_at_ms",
             key.expires_at ? std::optional(key.expires_at->count()) : std::nullopt)
      .field("dump_base64", to_base64(key.dump))
      .name("contents_base64");
  if (key.contents) {
    json.begin_array();
    for (const auto& element : *key.contents) json.value(to_base64(element));
    json.end_array();
  } else {
    json.null();
  }
  json.end_object();
  file_.add(line += '\n');
  ++added_;
}

void SaveFile::add_not_removed(std::string_view key) {
  std::string line;
  JsonWriter(line).begin_object().bytes_field("not_removed", key).end_object();
  file_.add(line += '\n');
  --(added_ > 0 ? added_ : keys_);
}

void SaveFile::sync() {
  file_.sync();
  keys_ += std::exchange(added_, 0);
}

SaveFile::~SaveFile() {
  if (keys_ > 0) file_.keep();
}

// ---- Reading ----

SaveFileReader::SaveFileReader(const std::string& path) : path_(path) {
  lines_.emplace(path, kLongestLine);
  if (lines_->total_bytes() == 0) {
    throw InputError("--restore: " + in_quotes(path) + " is empty or not a regular file");
  }
  while (const auto line = read_line()) {
    try {
      if (line->number == 1) {
        require_header(path_, line->text);
        continue;
      }
      const auto parsed = parse_line(line->text);
      if (parsed.contains("not_removed")) {
        not_removed_[bytes_of(parsed, "not_removed")] = line->number;
      } else {
        static_cast<void>(parse_key(parsed));
      }
    } catch (const BadLine& error) {
      is_cut_ = !line->has_newline && !line->too_long && line->number > 1;
      if (!is_cut_) throw_damaged(path_, line->number, error.what());
    }
    keys_until_ = line->number - (is_cut_ ? 1 : 0);
  }
  lines_.emplace(path, kLongestLine);
}

std::optional<LineReader::Line> SaveFileReader::read_line() {
  for (;;) {
    if (auto line = lines_->next()) return line;
    if (lines_->ended()) return std::nullopt;
    lines_->fill();
  }
}

std::optional<SavedKey> SaveFileReader::next() {
  while (const auto line = read_line()) {
    if (line->number > keys_until_) return std::nullopt;
    if (line->number == 1) continue;
    try {
      const auto parsed = parse_line(line->text);
      if (parsed.contains("not_removed")) continue;
      auto key = parse_key(parsed);
      const auto removal = not_removed_.find(key.key);
      if (removal == not_removed_.end() || removal->second < line->number) return key;
    } catch (const BadLine& error) {
      throw_damaged(path_, line->number, error.what());  // it was changed meanwhile
    }
  }
  return std::nullopt;
}

double SaveFileReader::share() const noexcept {
  return static_cast<double>(lines_->taken_bytes()) / static_cast<double>(lines_->total_bytes());
}

}  // namespace rlctl::state
