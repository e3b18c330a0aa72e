#include "cli/debug/trace_words.h"

#include <algorithm>
#include <cstddef>

#include "base/text.h"
#include "ldb/value.h"

namespace rlctl::cli {
namespace {

using ldb::Ending;
using redis::ReplyType;

bool is_plain(char c) {
  return c > ' ' && c < '\x7f' && c != '"' && c != '\'' && c != '\\';
}

/// UTF-8 stays where it may stand in one word.
bool needs_no_quotes(std::string_view word) {
  std::string escaped;
  escape_text(escaped, word);
  return !word.empty() && escaped == word && std::all_of(word.begin(), word.end(), [](char c) {
    return is_plain(c) || static_cast<unsigned char>(c) >= 0x80;
  });
}

}  // namespace

void append_reply_text(std::string& out, redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kNil:
      out += "nil";
      break;
    case ReplyType::kInteger:
      append_number(out, reply.integer());
      break;
    case ReplyType::kString:
      ldb::append_text(out, {.kind = ldb::Value::Kind::kString, .text = std::string(reply.text())});
      break;
    case ReplyType::kStatus:
    case ReplyType::kError:
      out += reply.is_error() ? '-' : '+';
      escape_message(out, reply.text());
      break;
    case ReplyType::kArray:
      out += '{';
      for (std::size_t i = 0; i < reply.size(); ++i) {
        if (i > 0) out += ", ";
        append_reply_text(out, reply[i]);
      }
      out += '}';
      break;
  }
}

void append_command_word(std::string& out, std::string_view word) {
  if (needs_no_quotes(word)) {
    out += word;
    return;
  }
  out += '"';
  std::size_t length = 1;
  for (; !word.empty(); word.remove_prefix(length)) {
    length = std::max(utf8_length(word), std::size_t{1});
    if (word[0] == '"' || word[0] == '\\') out += '\\';
    escape_message(out, word.substr(0, length));
  }
  out += '"';
}

std::string_view name_of(Ending ending) {
  switch (ending) {
    case Ending::kReturned:
      return "returned";
    case Ending::kRefused:
      return "refused";
    case Ending::kCompileError:
      return "compile_error";
    case Ending::kRunTimeError:
      return "run_time_error";
    case Ending::kAborted:
      return "aborted";
    case Ending::kCutOff:
      return "cut_off";
    case Ending::kLost:
      break;
  }
  return "lost";
}

}  // namespace rlctl::cli
