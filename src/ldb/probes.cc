#include "ldb/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "embedded_probe.h"
#include "ldb/lua_scopes.h"

namespace rlctl::ldb {
namespace {

constexpr std::size_t kMostUpvalues = 60;
constexpr std::size_t kMostLocals = 200;

/// The shim as a Lua string on one line, without its comments. So it is one line for Lua, too:
/// the debugger looks at each line that is begun, also of the shim, and that is most of its time.
std::string quoted_shim() {
  std::string quoted = "\"";
  std::string_view rest = embedded::k_probe.text;
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\n'), rest.size());
    auto line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line = line.substr(0, line.find("--"));
    if (line.empty()) continue;
    for (const char c : line) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    quoted += ' ';
  }
  return quoted + '"';
}

std::vector<int> same_lines(std::size_t count) {
  std::vector<int> lines{0};
  for (std::size_t i = 1; i <= count; ++i) lines.push_back(static_cast<int>(i));
  return lines;
}

/// What is to be put into the source.
struct Insertion {
  std::size_t offset = 0;
  std::string text = {};  ///< ends its line where it holds a line's end
};

class ProbeWriter {
 public:
  ProbeWriter(std::string_view source, const LuaScopes& scopes, const ProbeOptions& options)
      : source_(source), scopes_(scopes), options_(options), plans_(scopes.functions.size()) {}

  /// False where it cannot be done.
  bool run();
  ProbedScript script;

 private:
  struct Plan {
    bool probed = true;     ///< it may have probes
    bool can_mark = false;  ///< there is room for the number of its activation
    bool has_marker = false;
  };

  void choose_name();
  bool choose_functions();
  void choose_markers();
  [[nodiscard]] std::size_t upvalues_of(std::size_t function) const;
  [[nodiscard]] bool mentions(std::size_t function, std::string_view global) const {
    return scopes_.functions[function].globals.contains(global);
  }
  [[nodiscard]] std::vector<std::size_t> told_at(const ScopedStatement& statement) const;
  [[nodiscard]] bool begins_probe(const ScopedStatement& statement) const {
    return options_.probes && statement.begins_line && plans_[statement.function].probed;
  }
  [[nodiscard]] std::string marker(std::size_t function) const {
    return fmt::format("{}{}", name_, function);
  }

  void insert_prefix();
  void insert_probes();
  void insert_aliases();
  [[nodiscard]] std::string probe_before(const ScopedStatement& statement);
  void append_calls(std::string& out, const Probe& probe, std::size_t function);
  void write();

  std::string_view source_;
  const LuaScopes& scopes_;
  const ProbeOptions& options_;
  std::string name_;  ///< of the probe, and what the names of markers begin with
  std::vector<Plan> plans_;
  std::vector<Insertion> insertions_;
  int parts_ = 0;
};

// One with which no name of the source begins.
void ProbeWriter::choose_name() {
  name_ = "__rl";
  const auto is_taken = [&] {
    const auto name = scopes_.names.lower_bound(name_);
    return name != scopes_.names.end() && name->substr(0, name_.size()) == name_;
  };
  while (is_taken()) name_ += '_';
}

// What it will have: its own, the probe, `redis`, and the markers of functions around it.
std::size_t ProbeWriter::upvalues_of(std::size_t function) const {
  const auto& outer = scopes_.functions[function].outer;
  std::set<std::size_t> owners;
  for (const auto local : outer) {
    const auto owner = scopes_.locals[local].function;
    if (plans_[owner].can_mark) owners.insert(owner);
  }
  return outer.size() + owners.size() + 1 + (mentions(function, "redis") ? 1 : 0);
}

bool ProbeWriter::choose_functions() {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    auto& plan = plans_[i];
    const auto& function = scopes_.functions[i];
    plan.can_mark = i > 0 && function.most_locals < kMostLocals;
    plan.probed = plans_[function.parent].probed && upvalues_of(i) <= kMostUpvalues;
    plan.can_mark = plan.can_mark && plan.probed;
    const std::size_t ours = (mentions(i, "redis") ? 1U : 0U) + (mentions(i, "server") ? 1U : 0U);
    if (i > 0 && ours > 0 && function.outer.size() + ours > kMostUpvalues) return false;
  }
  return true;
}

// Those of which a probe tells something.
void ProbeWriter::choose_markers() {
  for (const auto& statement : scopes_.statements) {
    if (!begins_probe(statement)) continue;
    for (const auto local : told_at(statement)) {
      auto& plan = plans_[scopes_.locals[local].function];
      plan.has_marker = plan.can_mark;
    }
  }
}

std::vector<std::size_t> ProbeWriter::told_at(const ScopedStatement& statement) const {
  std::vector<std::size_t> told;
  std::set<std::string_view> own;
  for (const auto local : statement.locals) own.insert(scopes_.locals[local].name);
  for (const auto local : scopes_.functions[statement.function].outer) {
    if (!own.contains(scopes_.locals[local].name)) told.push_back(local);
  }
  std::sort(told.begin(), told.end());
  told.insert(told.end(), statement.locals.begin(), statement.locals.end());
  std::erase_if(told, [&](std::size_t local) { return scopes_.locals[local].is_hidden; });
  return told;
}

// A part below 0 is told with the next.
void ProbeWriter::append_calls(std::string& out, const Probe& probe, std::size_t function) {
  std::vector<std::string> values;
  for (const auto owner : probe.functions) values.push_back(marker(owner));
  for (const auto local : probe.locals) values.emplace_back(scopes_.locals[local].name);
  std::size_t next = 0;
  do {
    const auto end = std::min(next + ProbePart::kMostValues, values.size());
    const char* more = end < values.size() ? "-" : "";
    // Not 0: Lua 5.1 keeps one constant for 0 and -0, the one that comes first.
    const auto place = ProbePart::place_of(function, next);
    out += fmt::format("{}({}{},{}", name_, more, ++parts_,
                       place == 0 ? "false" : fmt::to_string(place));
    for (; next < end; ++next) out += ',' + values[next];
    out += ");";
  } while (next < values.size());
}

std::string ProbeWriter::probe_before(const ScopedStatement& statement) {
  Probe probe{statement.line, told_at(statement), {}, statement.function};
  for (const auto local : probe.locals) {
    const auto owner = scopes_.locals[local].function;
    if (plans_[owner].has_marker &&
        std::find(probe.functions.begin(), probe.functions.end(), owner) == probe.functions.end()) {
      probe.functions.push_back(owner);
    }
  }
  std::string text;
  append_calls(text, probe, statement.function);
  script.probes.push_back(std::move(probe));
  return text + '\n';
}

void ProbeWriter::insert_probes() {
  for (const auto& statement : scopes_.statements) {
    std::string text;
    if (statement.begins_function && plans_[statement.function].has_marker) {
      text = fmt::format("local {}={}();", marker(statement.function), name_);
    }
    if (begins_probe(statement)) text += probe_before(statement);
    if (!text.empty()) insertions_.push_back({statement.offset, std::move(text)});
  }
}

// Valkey's other name for `redis`: read where it is read, since it need not be there.
void ProbeWriter::insert_aliases() {
  for (const auto& read : scopes_.global_reads) {
    if (read.name != "server") continue;
    insertions_.push_back({read.offset, name_ + "("});
    insertions_.push_back({read.offset + read.name.size(), ")"});
  }
}

void ProbeWriter::insert_prefix() {
  const bool has_shebang = source_.substr(0, 2) == "#!";
  Insertion prefix{has_shebang ? scopes_.line_offsets[1] : 0, {}};
  const bool names_probe = options_.probes || mentions(0, "server");
  prefix.text =
      fmt::format("local redis{}{}=loadstring({},\"@rl_shim\")({}", names_probe ? "," : "",
                  names_probe ? name_ : "", quoted_shim(), options_.probes ? "true" : "false");
  if (options_.now) {
    const auto now = options_.now->count();
    prefix.text += fmt::format(",\"{}\",\"{}\"", now / 1'000'000, now % 1'000'000);
  }
  prefix.text += ");";
  if (options_.wrapped) {
    prefix.text +=
        scopes_.functions[0].uses_varargs ? "return (function(...)" : "return (function()";
  }
  // A CR behind the LF would belong to it.
  const bool cr_follows = source_.substr(prefix.offset, 1) == "\r";
  prefix.text += !options_.probes ? " " : cr_follows ? "\n " : "\n";
  insertions_.push_back(std::move(prefix));
}

void ProbeWriter::write() {
  std::stable_sort(insertions_.begin(), insertions_.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  script.lines = {0};
  std::size_t position = 0;
  auto insertion = insertions_.begin();
  for (std::size_t line = 0; line < scopes_.line_offsets.size(); ++line) {
    const bool is_last = line + 1 == scopes_.line_offsets.size();
    const auto end = is_last ? source_.size() : scopes_.line_offsets[line + 1];
    for (; insertion != insertions_.end() && (insertion->offset < end || is_last); ++insertion) {
      script.text += source_.substr(position, insertion->offset - position);
      script.text += insertion->text;
      position = insertion->offset;
      if (insertion->text.find('\n') != std::string::npos) script.lines.push_back(0);
    }
    script.text += source_.substr(position, end - position);
    position = end;
    script.lines.push_back(static_cast<int>(line + 1));
  }
  if (options_.wrapped) {
    script.text += scopes_.functions[0].uses_varargs ? " \nend)(...)" : " \nend)()";
    script.lines.push_back(0);
  }
}

bool ProbeWriter::run() {
  // In a function that takes "..." `arg` is a local.
  if (options_.wrapped && scopes_.functions[0].uses_varargs && mentions(0, "arg")) return false;
  choose_name();
  if (!choose_functions()) return false;
  insert_prefix();
  if (options_.probes) {
    choose_markers();
    insert_probes();
  }
  insert_aliases();
  // The main function returns at the line at which it did, not at that of our `end`.
  if (options_.wrapped && !scopes_.ends_in_return && scopes_.code_end > 0) {
    insertions_.push_back({scopes_.code_end, " return"});
  }
  write();
  return true;
}

}  // namespace

int ProbedScript::line_of(int line) const noexcept {
  const auto index = static_cast<std::size_t>(line);
  return line > 0 && index < lines.size() ? lines[index] : 0;
}

std::size_t ProbedScript::function_around(int line) const noexcept {
  std::size_t innermost = 0;
  // Each stands behind those around it.
  for (std::size_t i = 1; i < functions.size(); ++i) {
    if (functions[i].first < line && line < functions[i].last) innermost = i;
  }
  return innermost;
}

std::optional<ProbedScript> add_probes(std::string_view source, const ProbeOptions& options) {
  const auto scopes = find_scopes(source);
  if (!scopes) return std::nullopt;
  ProbeWriter writer(source, *scopes, options);
  if (!options.probes && !options.now) {
    writer.script.text = source;
    writer.script.lines = same_lines(scopes->line_offsets.size());
  } else if (!writer.run()) {
    return std::nullopt;
  }
  auto& script = writer.script;
  for (const auto& local : scopes->locals) {
    script.locals.push_back({std::string(local.name), local.line, local.function});
  }
  for (const auto& function : scopes->functions) {
    script.functions.push_back({function.first_line, function.last_line});
  }
  return std::move(script);
}

}  // namespace rlctl::ldb
