#include "cli/burst/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/burst/server.h"
#include "cli/term/progress.h"
#include "cli/warning.h"
#include "limiter/algorithm.h"
#include "replay/byte_source.h"

namespace rlctl::cli {
namespace {

using replay::RecordedFile;
using replay::Recording;

/// More files than these are told together.
constexpr std::size_t kMostFiles = 8;
constexpr double kMegabyte = 1e6;

std::string reading_progress(std::int64_t bytes, std::int64_t total) {
  const auto done = static_cast<double>(bytes) / kMegabyte;
  if (total == 0) return fmt::format("{:.0f} MB read; Ctrl-C stops", done);
  return fmt::format("{:3.0f}%  of {:.0f} MB read; Ctrl-C stops",
                     100 * std::min(1.0, static_cast<double>(bytes) / static_cast<double>(total)),
                     static_cast<double>(total) / kMegabyte);
}

void require_costs(const BurstPlan& plan, const Recording& recording) {
  for (const auto& candidate : plan.candidates) {
    if (candidate.foreign) continue;
    try {
      for (const auto& limit : candidate.limits) {
        limiter::require_usable(*candidate.algorithm, limit, recording.max_cost());
      }
    } catch (const UsageError& error) {
      throw UsageError(std::string("--replay: ") + error.what(),
                       "--cost-field '' takes every request as 1");
    }
  }
}

std::string lines_text(const replay::LineCounts& counts) {
  auto text =
      fmt::format("{} in {}", counted(counts.requests, "request"), counted(counts.lines, "line"));
  if (counts.bad > 0) text += fmt::format(", {} cannot be read", counts.bad);
  if (counts.blank > 0) text += fmt::format(", {} blank", counts.blank);
  return text;
}

void append_file(TextBlock& block, const RecordedFile& file, std::string_view label) {
  std::string name;
  escape_message(name, replay::input_name(file.name));
  if (file.format == nullptr) {
    block.row(label, name, "empty");
  } else {
    block.row(label, name, fmt::format("{}, {}", file.format->name, lines_text(file.counts)));
  }
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  out.append("\"").append(name).append("\":");
  append_json_string(out, text);
}

void append_file_json(std::string& out, const RecordedFile& file) {
  const auto& counts = file.counts;
  append_text(out += '{', "name", file.name);
  out += ",\"format\":";
  if (file.format == nullptr) {
    out += "null";
  } else {
    append_json_string(out, file.format->name);
  }
  out += fmt::format(",\"lines\":{},\"requests\":{},\"bad\":{},\"blank\":{},\"other\":{}}}",
                     counts.lines, counts.requests, counts.bad, counts.blank, counts.other);
}

}  // namespace

std::shared_ptr<const Recording> read_recording(const BurstPlan& plan, const Invocation& invocation,
                                                bool shows_progress) {
  if (!plan.replay) return nullptr;
  Progress progress(shows_progress);
  const auto recording = std::make_shared<const Recording>(
      *plan.replay, invocation.interrupt, [&](std::int64_t bytes, std::int64_t total) {
        progress.update(reading_progress(bytes, total));
      });
  progress.clear();
  warn_of_bad_lines(*recording, invocation.command);
  require_costs(plan, *recording);
  return recording;
}

void append_replay_rows(TextBlock& block, const Recording& recording) {
  const auto& files = recording.files();
  const auto shown = files.size() > kMostFiles ? kMostFiles - 1 : files.size();
  for (std::size_t i = 0; i < shown; ++i) append_file(block, files[i], i == 0 ? "replay" : "");
  if (shown < files.size()) block.row("", fmt::format("and {} files", files.size() - shown));
  const auto keys = static_cast<std::int64_t>(recording.keys());
  block.row("requests", fmt::to_string(recording.counts().requests), counted(keys, "key"));
  block.row("from", instant_text(recording.first()), "to " + instant_text(recording.last()));
}

void append_replay_json(std::string& out, const Recording& recording) {
  out += "{\"files\":[";
  for (const auto& file : recording.files()) {
    if (&file != &recording.files().front()) out += ',';
    append_file_json(out, file);
  }
  out += fmt::format("],\"first_us\":{},\"last_us\":{},\"first_bad\":", recording.first().count(),
                     recording.last().count());
  if (const auto& bad = recording.first_bad()) {
    append_text(out += '{', "file", bad->file);
    append_text(out += fmt::format(",\"line\":{},", bad->line), "why", bad->why);
    out += '}';
  } else {
    out += "null";
  }
  out += '}';
}

}  // namespace rlctl::cli
