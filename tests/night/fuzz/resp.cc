// A stream of replies reads the same whole, byte by byte, and through a connection in pieces; its
// memory is bounded by its bytes; the texts of errors become messages without control bytes.
#include <string>

#include "ldb/session.h"
#include "night/fuzz/replies.h"
#include "redis/cluster.h"
#include "redis/connection.h"
#include "script/reply.h"

namespace fuzz::resp {

using namespace rlctl::redis;

constexpr std::size_t kMaxReplies = 1000;

struct Outcome {
  std::string content = {};
  std::size_t elements = 0, replies = 0;
  bool is_refused = false;
};

void add(Outcome& outcome, ReplyView reply) {
  append_content(outcome.content, reply);
  outcome.content += '\n';
  outcome.elements += elements_of(reply);
  ++outcome.replies;
}

Outcome read_pieces(std::string_view input, std::size_t piece) {
  ReplyReader reader;
  Outcome outcome;
  while (!input.empty()) {
    const auto bytes = input.substr(0, piece);
    input.remove_prefix(bytes.size());
    reader.feed(bytes);
    for (;;) {
      auto reply = accepted<Error>([&] { return reader.next(); }, 1000);
      if (!reply) {
        outcome.is_refused = true;
        return outcome;
      }
      if (!*reply) break;
      add(outcome, **reply);
    }
  }
  return outcome;
}

Outcome read_connection(std::string_view input, std::size_t piece) {
  Connection connection(std::make_unique<FixedServer>(input, piece), std::chrono::hours{1});
  for (std::size_t i = 0; i < kMaxReplies; ++i) connection.append({"ECHO", "x"});
  Outcome outcome;
  try {
    for (std::size_t i = 0; i < kMaxReplies; ++i) add(outcome, connection.read());
  } catch (const Error& error) {
    require(!has_control(error.what()), "a message has no control bytes", error.what());
    outcome.is_refused = error.failure() == Failure::kProtocol;
  }
  return outcome;
}

void test_messages(ReplyView reply) {
  const auto shown = rlctl::script::reply_text(reply);
  require(shown.size() <= 300, "a reply is shown in short", shown);
  (void)error_code(reply.text());
  (void)script_line(reply.text());
  (void)is_cluster_refusal(reply, "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n");
  (void)refuses_connection(reply);
  if (!reply.is_error()) return;
  constexpr std::string_view kScript = "local x = redis.call('GET', KEYS[1])\nreturn x";
  for (const Error& error : {to_error(reply), to_error(reply, kScript)}) {
    const std::string_view what = error.what();
    require(!has_control(what) && what.find('\n') == what.npos,
            "an error is one line without control bytes", what);
    require(what.size() <= 4 * reply.text().size() + 200, "its length is bounded", what);
  }
  const auto explained = rlctl::ldb::explain_error(reply, kScript, 1);
  require(!has_control(explained.message), "so is a script's", explained.message);
}

void test(std::string_view input) {
  const auto whole = read_pieces(input, input.size()), bytewise = read_pieces(input, 1);
  require(whole.content == bytewise.content, "the replies are the same", bytewise.content);
  require(whole.is_refused == bytewise.is_refused, "what is refused is the same");
  require(whole.elements <= input.size(), "each element takes a byte at least");
  if (whole.replies < kMaxReplies && input.find("MOVED") == input.npos &&
      input.find("ASK") == input.npos && input.find("CLUSTER") == input.npos &&
      input.find("TRYAGAIN") == input.npos && input.find("SENTINEL") == input.npos) {
    const auto connection = read_connection(input, 1 + input.size() % 7);
    const auto rest = std::string_view(whole.content).substr(connection.content.size());
    // A first reply may refuse the connection as a whole.
    require(rest.empty() || connection.content.empty(), "a connection reads the same", rest);
  }
  ReplyReader reader;
  reader.feed(input);
  try {
    while (const auto reply = reader.next()) test_messages(*reply);
  } catch (const Error&) {
    return;
  }
}

const Target kTarget("resp", test);

}  // namespace fuzz::resp
