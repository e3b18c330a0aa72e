#include "replay/log_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "replay/field_names.h"
#include "replay/time_text.h"

namespace rlctl::replay {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kShownFields = 12;

/// A value that was found, by the name that fits best.
struct Found {
  std::optional<std::size_t> rank = {};
  std::string name = {}, text = {};

  void offer(const FieldNames& names, const std::string& path, std::string_view value) {
    const auto fits = names.rank(path);
    if (!fits || (rank && *rank < *fits)) return;
    rank = fits;
    name = path;
    text = value;
  }
};

/// What a line holds of what is looked for. Only texts and numbers are looked at, and nothing in
/// lists.
class Finder final : public nlohmann::json_sax<Json> {
 public:
  explicit Finder(const LogFields& fields) : fields_(fields) {}

  void reset() {
    for (auto* found : {&time, &key_found, &cost}) found->rank.reset();
    algorithm.reset();
    path_.clear();
    ends_.clear();
    objects_ = lists_ = 0;
    is_object = false;
  }

  /// Also collect what fields there are.
  void list_in(std::vector<std::string>& names) { names_ = &names; }

  Found time, key_found, cost;
  std::optional<std::string> algorithm;
  bool is_object = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t value) override { return found(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return found(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return found(text); }
  bool string(string_t& text) override {
    if (lists_ == 0 && path_ == "algorithm") algorithm = text;
    return found(text);
  }
  bool binary(binary_t&) override { return true; }

  bool start_object(std::size_t) override {
    if (objects_++ == 0 && lists_ == 0) is_object = true;
    ends_.push_back(path_.size());
    return true;
  }
  /// Of the name before it nothing stays but what the object around it began with.
  bool key(string_t& name) override {
    path_.resize(ends_.back());
    if (!path_.empty()) path_ += '.';
    path_ += name;
    return true;
  }
  bool end_object() override {
    path_.resize(ends_.back());
    ends_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override {
    ++lists_;
    return true;
  }
  bool end_array() override {
    --lists_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const Json::exception&) override {
    return false;
  }

 private:
  bool found(const std::string& text) {
    if (lists_ > 0 || objects_ == 0) return true;
    if (names_ != nullptr) names_->push_back(path_);
    time.offer(fields_.time, path_, text);
    key_found.offer(fields_.key, path_, text);
    cost.offer(fields_.cost, path_, text);
    return true;
  }

  const LogFields& fields_;
  std::string path_;               ///< of the field that is read, with dots
  std::vector<std::size_t> ends_;  ///< of the path of each object around it
  int objects_ = 0, lists_ = 0;
  std::vector<std::string>* names_ = nullptr;
};

class JsonLinesParser final : public LineParser {
 public:
  explicit JsonLinesParser(const FieldOptions& options)
      : fields_(options), cost_is_asked_for_(options.has_cost()) {}

  [[nodiscard]] std::string never_found() const override {
    return cost_is_asked_for_ && !has_cost_ ? fields_.cost.describe("") : std::string();
  }

 private:
  LineKind parse(LineReader& lines, LineReader::Line& line, Entry& entry) override;
  void repair(std::string_view line);
  bool find(std::string_view line);
  bool is_of_another_algorithm();
  void settle();
  LineKind lacks(const FieldNames& wanted, std::string_view what, std::string_view line);

  LogFields fields_;
  Finder finder_{fields_};
  TimeReader times_;
  bool settled_ = false;
  bool cost_is_asked_for_, has_cost_ = false;
  std::optional<std::string> algorithm_;  ///< whose decisions count
  std::string repaired_;
};

/// Replaces bytes that are not UTF-8 by \\xNN, which in a JSON string is the text \xNN.
void JsonLinesParser::repair(std::string_view line) {
  repaired_.clear();
  while (!line.empty()) {
    const auto length = utf8_length(line);
    if (length > 0) {
      repaired_ += line.substr(0, length);
    } else {
      fmt::format_to(std::back_inserter(repaired_), "\\\\x{:02x}",
                     static_cast<unsigned char>(line[0]));
    }
    line.remove_prefix(std::max(length, std::size_t{1}));
  }
}

/// Whether the line is one object.
bool JsonLinesParser::find(std::string_view line) {
  const auto parses = [&](std::string_view text) {
    finder_.reset();
    return Json::sax_parse(text.data(), text.data() + text.size(), &finder_) && finder_.is_object;
  };
  if (parses(line)) return true;
  if (is_utf8(line)) return false;
  repair(line);
  return parses(repaired_);
}

bool JsonLinesParser::is_of_another_algorithm() {
  if (!finder_.algorithm || finder_.time.name != "at_us") return false;
  if (!algorithm_) algorithm_ = finder_.algorithm;
  return *algorithm_ != *finder_.algorithm;
}

/// A field that is missing in one line is not replaced by another one, which means something else.
void JsonLinesParser::settle() {
  fields_.time.settle(finder_.time.name);
  fields_.key.settle(finder_.key_found.name);
  settled_ = true;
}

LineKind JsonLinesParser::lacks(const FieldNames& wanted, std::string_view what,
                                std::string_view line) {
  std::vector<std::string> names;
  Finder finder(fields_);
  finder.list_in(names);
  (void)Json::sax_parse(line.data(), line.data() + line.size(), &finder, Json::input_format_t::json,
                        false);
  if (names.empty()) return bad(fmt::format("it has no field {}", wanted.describe(what)));
  const bool all = names.size() <= kShownFields;
  if (!all) names.resize(kShownFields);
  return bad(fmt::format("it has no field {}, but {}{}", wanted.describe(what),
                         fmt::join(names, ", "), all ? "" : ", ..."));
}

LineKind JsonLinesParser::parse(LineReader&, LineReader::Line& line, Entry& entry) {
  if (!find(line.text)) return bad("it is not a JSON object");
  const auto& key = finder_.key_found;
  if (!finder_.time.rank) return lacks(fields_.time, "for the time", line.text);
  if (!key.rank) return lacks(fields_.key, "for the key", line.text);
  if (is_of_another_algorithm()) return LineKind::kOther;
  if (!settled_) times_ = TimeReader(epoch_unit_of(finder_.time.name));
  const auto at = times_.read(finder_.time.text);
  if (!at) return bad("the time", finder_.time.text, "cannot be read");
  entry.at = *at;
  entry.key = key.text;
  if (finder_.cost.rank) {
    has_cost_ = true;
    const auto cost = read_cost(finder_.cost.text);
    if (!cost) return bad("the cost", finder_.cost.text, "is not a whole number above 0");
    entry.cost = *cost;
  }
  if (!settled_) settle();
  return LineKind::kRequest;
}

}  // namespace

std::unique_ptr<LineParser> make_json_lines_parser(const FieldOptions& fields) {
  return std::make_unique<JsonLinesParser>(fields);
}

}  // namespace rlctl::replay
