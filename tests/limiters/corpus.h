#pragma once

// Runs the commands in the comments of the limiters here and in examples/pitfalls, and compares
// what they find with what the comments say; README.md describes them.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"
#include "support/in_process.h"
#include "support/random.h"
#include "support/temp_folder.h"

namespace rlctl::limiters_test {
namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

inline Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline std::string joined(const Lines& lines) {
  std::string text;
  for (const auto& line : lines) text += line + '\n';
  return text;
}

/// Without blanks at its ends, and with one in place of several.
inline std::string squeezed(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  for (std::string word; words >> word;) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// What is behind the mark in a text, or nothing.
inline std::string behind(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  return at == text.npos ? "" : text.substr(at + mark.size());
}

/// "NAME SEVERITY", and the lints that find it, or none for all.
struct Want {
  std::size_t line = 0;  ///< of the file, from 1
  std::string finding = {}, at = {};
  std::set<int> lints = {};
};

struct Command {
  std::string text = {};
  int status = -1;
  Lines out = {}, err = {};
};

/// The file with another line in place of one of its own.
struct Variant {
  std::size_t line = 0;
  std::string code = {};
  std::vector<Want> wants = {};
  Lines out = {}, err = {};

  bool has_output() const { return !out.empty() || !err.empty(); }
  /// Whether this lint is asked about it.
  bool is_of(int lint) const {
    return lint == 1 || std::any_of(wants.begin(), wants.end(),
                                    [&](const Want& want) { return want.lints.contains(lint); });
  }
};

struct Limiter {
  Lines lines = {};
  std::vector<Command> commands = {};
  std::vector<Want> wants = {};
  std::vector<Variant> variants = {};
};

inline std::vector<Want> wants_in(const std::string& line, std::size_t number) {
  std::vector<Want> wants;
  std::istringstream text(behind(line, "want: "));
  for (std::string each; std::getline(text, each, ',');) {
    Want want{.line = number, .finding = squeezed(each.substr(0, each.find('(')))};
    want.at = behind(want.finding, " at ");
    want.finding.resize(std::min(want.finding.size(), want.finding.find(" at ")));
    std::istringstream lints(behind(each, "("));
    for (int lint = 0; lints >> lint;) want.lints.insert(lint);
    wants.push_back(want);
  }
  return wants;
}

/// The findings about answers, besides `wrong-…`.
inline const std::set<std::string> kOfAnswers{"future-clock", "ignored-cost", "lost-refill",
                                              "shared-limit"};

inline Limiter read_limiter(const fs::path& file) {
  const std::string mark = file.extension() == ".lua" ? "--" : "#";
  Limiter limiter{.lines = lines_of(support::contents(file))};
  std::size_t number = 0, code = 0;
  bool goes_on = false;
  for (const auto& line : limiter.lines) {
    ++number;
    const auto text = squeezed(line);
    if (!text.starts_with(mark)) {
      if (!text.empty()) code = number;
      for (auto& want : wants_in(line, number)) limiter.wants.push_back(std::move(want));
      continue;
    }
    const auto said = squeezed(text.substr(mark.size()));
    auto& commands = limiter.commands;
    auto& variants = limiter.variants;
    if (goes_on) {
      commands.back().text += said;
    } else if (said.starts_with("$ ")) {
      commands.push_back({.text = said.substr(2)});
    } else if (said.starts_with("> ")) {
      (variants.empty() ? commands.back().out : variants.back().out).push_back(said.substr(2));
    } else if (said.starts_with("! ")) {
      (variants.empty() ? commands.back().err : variants.back().err).push_back(said.substr(2));
    } else if (said.starts_with("[")) {
      commands.back().status = std::stoi(said.substr(1));
    } else if (said.starts_with("want: ")) {
      auto& wants = variants.empty() ? limiter.wants : variants.back().wants;
      for (auto& want : wants_in(said, variants.empty() ? 0 : code)) wants.push_back(want);
    } else if (said.starts_with("or:")) {
      variants.push_back(
          {.line = code, .code = behind(line, "or:"), .wants = wants_in(said, code)});
    }
    goes_on = (goes_on || said.starts_with("$ ")) && said.ends_with('\\');
    if (goes_on) commands.back().text.pop_back();
  }
  return limiter;
}

/// What lint reports: "LINE NAME SEVERITY", where LINE is 0 if it names none, and the severity of
/// what a comment excuses is "excused".
inline Lines findings_in(const std::string& output) {
  Lines found;
  for (const auto& line : lines_of(output)) {
    std::istringstream words(line);  // FILE:LINE: SEVERITY: NAME: TEXT, or without a line
    std::string place, severity, name;
    words >> place >> severity >> name;
    if (line.starts_with(' ') || !severity.ends_with(':') || !name.ends_with(':')) continue;
    const auto colon = place.find(':');
    const bool has_line = colon + 1 < place.size();
    found.push_back((has_line ? place.substr(colon + 1, place.size() - colon - 2) : "0") + ' ' +
                    name.substr(0, name.size() - 1) + ' ' +
                    severity.substr(0, severity.size() - 1));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The first line of code with the text.
inline std::size_t line_with(const std::string& text, const Lines& lines) {
  const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
    return !squeezed(line).starts_with("--") &&
           line.substr(0, line.find("want: ")).find(text) != line.npos;
  });
  return static_cast<std::size_t>(found - lines.begin()) + 1;
}

/// Each of the texts is in a line of the output.
inline void check_has(const std::string& output, const Lines& texts) {
  for (const auto& text : texts) {
    CAPTURE(text);
    bool has = false;
    for (const auto& line : lines_of(output)) has = has || squeezed(line).find(text) != line.npos;
    CHECK(has);
  }
}

inline support::Result ask(const std::string& command) {
  auto words = shell_words(command);
  words.erase(words.begin());  // rlctl
  return support::run_rlctl(words);
}

/// Asks the limiter as it is, or with this variant; its file is written already.
inline void check(const Limiter& limiter, const Lines& lines, const Variant* variant) {
  int lints = 0;
  std::string all_output;
  for (const auto& command : limiter.commands) {
    const bool is_lint = command.text.starts_with("rlctl lint ");
    if (is_lint) ++lints;
    if (variant != nullptr && !(is_lint ? variant->is_of(lints) : variant->has_output())) continue;
    CAPTURE(command.text);
    const auto result = ask(command.text);
    CAPTURE(result.out);
    CAPTURE(result.err);
    all_output += result.out;
    if (variant == nullptr) check_has(result.out, command.out);
    const auto& errors = variant == nullptr ? command.err : variant->err;
    check_has(result.err, errors);
    for (const auto& line : lines_of(result.err)) {
      CAPTURE(line);
      CHECK(std::any_of(errors.begin(), errors.end(), [&](const std::string& text) {
        return squeezed(line).find(text) != line.npos;
      }));
    }

    int status = 0;
    if (is_lint) {
      Lines wanted;
      const auto add = [&](const Want& want) {
        if (!want.lints.empty() && !want.lints.contains(lints)) return;
        // Of what is known by answers alone, there is no line.
        const bool has_line = command.text.find(" --exec ") == std::string::npos &&
                              command.text.find(" --concurrency ") == std::string::npos &&
                              command.text.find(" --reserve ") == std::string::npos &&
                              !want.finding.starts_with("wrong-") &&
                              !kOfAnswers.contains(want.finding.substr(0, want.finding.find(' ')));
        const auto line = want.at.empty() ? want.line : line_with(want.at, lines);
        const auto finding = std::to_string(has_line ? line : 0) + ' ' + want.finding;
        wanted.push_back(finding);
        status = std::max(status, finding.ends_with("critical")  ? 2
                                  : finding.ends_with("warning") ? 1
                                                                 : 0);
      };
      for (const auto& want : limiter.wants) {
        if (variant == nullptr || (want.line != 0 && want.line != variant->line)) add(want);
      }
      if (variant != nullptr) std::for_each(variant->wants.begin(), variant->wants.end(), add);
      std::sort(wanted.begin(), wanted.end());
      CHECK(joined(findings_in(result.out)) == joined(wanted));
    }
    if (command.status >= 0 && variant == nullptr) status = command.status;
    CHECK(result.status == status);
  }
  if (variant != nullptr) check_has(all_output, variant->out);
}

/// The limiter whose commands say with --head what its file says in its head, which is removed from
/// `lines`; nothing else may change. Its other options are left: they win over both.
inline Limiter with_head_as_options(Limiter limiter, Lines& lines) {
  std::string options;
  for (auto& line : lines) {
    const auto said = squeezed(line).starts_with("-- rlctl: ") ? behind(line, "rlctl: ") : "";
    if (said.empty() || said.starts_with("allow ")) continue;
    options += " --head " + joined_words({said});
    line = "--";
  }
  for (auto& command : limiter.commands) {
    command.text += options;
    // The suggested command repeats the options.
    std::erase_if(command.out, [](const std::string& text) { return text.starts_with("rlctl "); });
  }
  if (options.empty()) limiter.commands.clear();
  return limiter;
}

/// What a burst or a search reports in JSON, but for its command, and what only a server knows: the
/// memory of a key, and how many requests an exhaustive search sent again.
inline std::string report_of(const std::string& command) {
  static const std::regex kOther(
      R"re("(command|replay_command|confirmation|bytes_per_key|asked)":("([^"\\]|\\.)*"|\{[^}]*\}|[^,}\]]*))re");
  return std::regex_replace(ask(command).out, kOther, "");
}

/// Scripts on a private server are reported as those in this process.
inline void check_on_server(const Limiter& limiter) {
  for (const auto& command : limiter.commands) {
    const bool is_report =
        command.text.starts_with("rlctl burst ") || command.text.starts_with("rlctl adversary ");
    if (!is_report || command.text.find(" --clock real") != std::string::npos) continue;
    CAPTURE(command.text);
    CHECK(report_of(command.text + " --json -u private:") == report_of(command.text + " --json"));
  }
}

/// The limiters of a folder, which the test changes in a copy. `percent` % of them are asked, and
/// fewer under a sanitizer; of the variants, and of the limiters with options in place of a head, a
/// tenth. At night all are.
inline void check_folder(const fs::path& folder, std::int64_t percent) {
  const support::TempFolder copy;
  const auto home = copy.path().string();
  std::ofstream(copy.path() / "config.toml") << "timeout = '120s'\n";
  const support::ScopedVariable home_variable("HOME", home),
      config_variable("RLCTL_CONFIG", home + "/config.toml");
  const auto before = fs::current_path();
  fs::current_path(copy.path());
  std::map<std::string, Limiter> limiters;
  std::string all_commands;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    fs::copy(entry.path(), copy.path());
    const auto name = entry.path().filename().string();
    if (!name.ends_with(".lua") && !name.ends_with(".pl") && name != "bundled.txt") continue;
    auto limiter = read_limiter(entry.path());
    for (const auto& command : limiter.commands) all_commands += command.text + ' ';
    for (const auto& line : limiter.lines) all_commands += behind(line, "-- rlctl: ") + ' ';
    limiters.emplace(name, std::move(limiter));
  }
  CHECK(limiters.size() > 10);
  const auto files = test::scaled(percent, 100), variants = test::scaled(10, 100);
  std::size_t number = 0;
  for (const auto& [name, limiter] : limiters) {
    const auto file = name;
    ++number;
    SUBCASE(file.c_str()) {
      CAPTURE(file);
      if (limiter.commands.empty()) CHECK(all_commands.find(file) != all_commands.npos);
      if (test::is_tried(number, files)) check(limiter, limiter.lines, nullptr);
      if (test::is_tried(number + 50, variants)) {
        auto lines = limiter.lines;
        const auto by_options = with_head_as_options(limiter, lines);
        std::ofstream(file) << joined(lines);
        check(by_options, lines, nullptr);
        std::ofstream(file) << joined(limiter.lines);
      }
      if (test::is_tried(number + 25, variants)) check_on_server(limiter);
      std::size_t line = number;
      for (const auto& variant : limiter.variants) {
        if (!test::is_tried(++line, variants)) continue;
        CAPTURE(variant.code);
        auto lines = limiter.lines;
        lines.at(variant.line - 1) = variant.code;
        std::ofstream(file) << joined(lines);
        check(limiter, lines, &variant);
      }
      if (!limiter.variants.empty()) std::ofstream(file) << joined(limiter.lines);
    }
  }
  fs::current_path(before);
}

}  // namespace rlctl::limiters_test
