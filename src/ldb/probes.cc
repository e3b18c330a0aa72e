#include "ldb/probes.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "embedded_ldb.h"
#include "lua/lexer.h"
#include "lua/scopes.h"
#include "lua/substitute.h"

namespace rlctl::ldb {
namespace {

/// Lua that loads a text. It is on one line, as the debugger checks each new one, also in a chunk
/// of another name, and that would take most of the time.
std::string loaded(std::string_view one_line) {
  std::string quoted;
  for (const char c : one_line) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return fmt::format("loadstring(\"{}\",\"@rl_shim\")", quoted);
}

/// [n] is n for each line of the source, [0] is 0. The lexer counts one more line after a final
/// line end; the source does not have that line, so its number is 0.
std::vector<int> line_numbers(std::string_view source, const lua::Scopes& scopes) {
  std::vector<int> numbers(lua::source_lines(source).size() + 1);
  std::iota(numbers.begin(), numbers.end(), 0);
  numbers.resize(scopes.line_offsets.size() + 1);
  return numbers;
}

/// Text to insert into the source.
struct Insertion {
  std::size_t offset = 0;
  std::string text = {};  ///< if it contains a line end, it ends with one
};

class ProbeWriter {
 public:
  ProbeWriter(std::string_view source, const lua::Scopes& scopes, const ProbeOptions& options)
      : source_(source),
        scopes_(scopes),
        options_(options),
        name_(lua::unused_name(scopes)),
        plans_(scopes.functions.size()) {}

  /// Returns false if probes cannot be added.
  bool run() {
    // In a function that takes "...", `arg` is a local.
    if (options_.wrapped && scopes_.functions[0].uses_varargs && mentions(0, "arg")) return false;
    if (!choose_functions()) return false;
    if (options_.probes) {
      choose_markers();
      insert_probes();
    }
    insert_prefix();
    insert_aliases();
    insertions_.insert(insertions_.end(), following_.begin(), following_.end());
    // Make the main function return at its original line, not at that of our `end`.
    if (options_.wrapped && !scopes_.ends_in_return && scopes_.code_end > 0) {
      insertions_.push_back({scopes_.code_end, " return"});
    }
    write();
    return true;
  }

  ProbedScript script;

 private:
  struct Plan {
    bool probed = true;     ///< it may have probes
    bool can_mark = false;  ///< there is room for the number of its activation
    bool has_marker = false;
  };

  bool choose_functions() {
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      auto& plan = plans_[i];
      const auto& function = scopes_.functions[i];
      plan.can_mark = i > 0 && function.most_locals < lua::kMaxLocals;
      plan.probed = plans_[function.parent].probed && upvalues_of(i) <= lua::kMaxUpvalues;
      plan.can_mark = plan.can_mark && plan.probed;
      const std::size_t ours = (mentions(i, "redis") ? 1U : 0U) + (mentions(i, "server") ? 1U : 0U);
      if (i > 0 && ours > 0 && function.outer.size() + ours > lua::kMaxUpvalues) return false;
    }
    return true;
  }

  // Chooses the functions with a variable that a probe reports.
  void choose_markers() {
    for (const auto& statement : scopes_.statements) {
      if (!begins_probe(statement)) continue;
      for (const auto local : told_at(statement)) {
        auto& plan = plans_[scopes_.locals[local].function];
        plan.has_marker = plan.can_mark;
      }
    }
  }

  // All upvalues: its own, the probe, `redis`, and the markers of enclosing functions.
  [[nodiscard]] std::size_t upvalues_of(std::size_t function) const {
    const auto& outer = scopes_.functions[function].outer;
    std::set<std::size_t> owners;
    for (const auto local : outer) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].can_mark) owners.insert(owner);
    }
    return outer.size() + owners.size() + 1 + (mentions(function, "redis") ? 1 : 0);
  }

  [[nodiscard]] bool mentions(std::size_t function, std::string_view global) const {
    return scopes_.functions[function].globals.contains(global);
  }
  [[nodiscard]] std::vector<std::size_t> told_at(const lua::ScopedStatement& statement) const {
    std::vector<std::size_t> told;
    std::set<std::string_view> own;
    for (const auto local : statement.locals) own.insert(scopes_.locals[local].name);
    for (const auto local : scopes_.functions[statement.function].outer) {
      if (!own.contains(scopes_.locals[local].name)) told.push_back(local);
    }
    std::sort(told.begin(), told.end());
    told.insert(told.end(), statement.locals.begin(), statement.locals.end());
    std::erase_if(told, [&](std::size_t local) {
      return scopes_.locals[local].is_hidden || scopes_.locals[local].name == lua::kLibraryLocal;
    });
    return told;
  }

  [[nodiscard]] bool begins_probe(const lua::ScopedStatement& statement) const {
    return options_.probes && statement.begins_line && plans_[statement.function].probed;
  }
  [[nodiscard]] std::string marker(std::size_t function) const {
    return fmt::format("{}{}", name_, function);
  }

  void insert_prefix() {
    const bool has_shebang = source_.substr(0, 2) == "#!";
    Insertion prefix{has_shebang ? scopes_.line_offsets[1] : 0, {}};
    const bool names_probe = options_.probes || mentions(0, "server");
    static const auto kShim = fmt::format("{}({}", loaded(lua::one_line(embedded::k_probe.text)),
                                          loaded(lua::one_line(embedded::k_encode.text)));
    prefix.text =
        fmt::format("local redis{}{}={},{}", names_probe ? "," : "", names_probe ? name_ : "",
                    kShim, options_.probes ? fmt::to_string(parts_) : "nil");
    if (options_.now) {
      const auto now = options_.now->count();
      prefix.text += fmt::format(",\"{}\",\"{}\",{}", now / 1'000'000, now % 1'000'000,
                                 redis_at(*options_.now));
    }
    prefix.text += ");";
    if (options_.wrapped) {
      prefix.text +=
          scopes_.functions[0].uses_varargs ? "return (function(...)" : "return (function()";
    }
    // A CR after the LF would be part of that line end.
    const bool cr_follows = source_.substr(prefix.offset, 1) == "\r";
    prefix.text += !options_.probes ? " " : cr_follows ? "\n " : "\n";
    insertions_.insert(insertions_.begin(), std::move(prefix));
  }

  void insert_probes() {
    for (const auto& statement : scopes_.statements) {
      std::string text;
      if (statement.begins_function && plans_[statement.function].has_marker) {
        text = fmt::format("local {}={}.new();", marker(statement.function), name_);
      }
      if (begins_probe(statement)) {
        const auto calls = probe_before(statement);
        if (statement.follows > 0) {
          following_.push_back({statement.follows, " " + calls});
        } else {
          text += calls + '\n';
        }
      }
      if (!text.empty()) insertions_.push_back({statement.offset, std::move(text)});
    }
  }

  // Wraps each read of `server`, Valkey's other name for `redis`, since it may not exist.
  void insert_aliases() {
    for (const auto& read : scopes_.global_reads) {
      if (read.name != "server") continue;
      insertions_.push_back({read.offset, name_ + ".script("});
      insertions_.push_back({read.offset + read.name.size(), ")"});
    }
  }

  [[nodiscard]] std::string probe_before(const lua::ScopedStatement& statement) {
    Probe probe{statement.line, told_at(statement), {}, statement.function};
    for (const auto local : probe.locals) {
      const auto owner = scopes_.locals[local].function;
      if (plans_[owner].has_marker && std::find(probe.functions.begin(), probe.functions.end(),
                                                owner) == probe.functions.end()) {
        probe.functions.push_back(owner);
      }
    }
    auto calls = calls_of(probe);
    script.probes.push_back(std::move(probe));
    return calls;
  }

  // A part with a negative number is reported with the next one. If the last part is off, all are.
  std::string calls_of(Probe& probe) {
    std::vector<std::string> values;
    for (const auto owner : probe.functions) values.push_back(marker(owner));
    for (const auto local : probe.locals) values.emplace_back(scopes_.locals[local].name);
    std::string calls;
    std::size_t next = 0;
    probe.part = parts_ + 1;
    do {
      const auto end = std::min(next + ProbePart::kMaxValues, values.size());
      const char* more = end < values.size() ? "-" : "";
      // Not 0: Lua 5.1 stores 0 and -0 as one constant, the first to appear.
      const auto place = ProbePart::place_of(probe.function, next);
      ++parts_;
      calls += fmt::format("{}[{}]({}{},{}", name_, parts_, more, parts_,
                           place == 0 ? "false" : fmt::to_string(place));
      for (; next < end; ++next) calls += ',' + values[next];
      calls += ")";
      if (next < values.size()) calls += ';';
    } while (next < values.size());
    return fmt::format("if {}[{}]then {}end", name_, parts_, calls);
  }

  void write() {
    std::stable_sort(insertions_.begin(), insertions_.end(),
                     [](const auto& a, const auto& b) { return a.offset < b.offset; });
    script.lines = {0};
    const auto numbers = line_numbers(source_, scopes_);
    std::size_t position = 0;
    auto insertion = insertions_.begin();
    const auto count = scopes_.line_offsets.size();
    for (std::size_t line = 0; line < count; ++line) {
      const bool is_last = line + 1 == count;
      const auto end = is_last ? source_.size() : scopes_.line_offsets[line + 1];
      for (; insertion != insertions_.end() && (insertion->offset < end || is_last); ++insertion) {
        script.text += source_.substr(position, insertion->offset - position);
        script.text += insertion->text;
        position = insertion->offset;
        if (insertion->text.find('\n') != std::string::npos) script.lines.push_back(0);
      }
      script.text += source_.substr(position, end - position);
      position = end;
      script.lines.push_back(numbers[line + 1]);
    }
    if (options_.wrapped) {
      script.text += scopes_.functions[0].uses_varargs ? " \nend)(...)" : " \nend)()";
      script.lines.push_back(0);
    }
  }

  std::string_view source_;
  const lua::Scopes& scopes_;
  const ProbeOptions& options_;
  std::string name_;  ///< the probe's name, and the prefix of the markers' names
  std::vector<Plan> plans_;
  std::vector<Insertion> insertions_;
  std::vector<Insertion> following_;  ///< after an insertion at the same offset
  std::size_t parts_ = 0;
};

}  // namespace

std::string redis_at(std::chrono::microseconds now) {
  std::string redis = "redis";
  for (const auto& chunk : lua::virtual_clock_chunks()) {
    redis = fmt::format("{}({},\"{}\",\"{}\")", loaded(chunk), redis, now.count() / 1'000'000,
                        now.count() % 1'000'000);
  }
  return redis;
}

int ProbedScript::line_of(int line) const noexcept {
  const auto index = static_cast<std::size_t>(line);
  return line > 0 && index < lines.size() ? lines[index] : 0;
}

const Probe* ProbedScript::probe_at(int line) const noexcept {
  const auto found = std::find_if(probes.begin(), probes.end(),
                                  [line](const Probe& probe) { return probe.line == line; });
  return found == probes.end() ? nullptr : &*found;
}

std::size_t ProbedScript::function_around(int line) const noexcept {
  std::size_t innermost = 0;
  // Each function comes after those that enclose it.
  for (std::size_t i = 1; i < functions.size(); ++i) {
    if (functions[i].first < line && line < functions[i].last) innermost = i;
  }
  return innermost;
}

std::optional<ProbedScript> add_probes(std::string_view source, const ProbeOptions& options) {
  const auto scopes = lua::find_scopes(source);
  if (!scopes) return std::nullopt;
  ProbeWriter writer(source, *scopes, options);
  if (!options.probes && !options.now) {
    writer.script.text = source;
    writer.script.lines = line_numbers(source, *scopes);
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
