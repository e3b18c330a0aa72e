// Replies, which hiredis's redisReader parses; a Link feeds it. redisContext, hiredis's own
// connection, is not used: its timeout is for each recv() and not for a whole reply; it does not
// tell which commands left the process, and may have been executed, if the connection breaks; it
// waits on in spite of Ctrl-C; its TLS links libssl into every start (6 ms; a check takes 1) and is
// missing in Debian 12.
#include "redis/reply.h"

#include <fmt/format.h>
#include <hiredis/hiredis.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

#include "base/text.h"

namespace rlctl::redis {

/// What has come of the reply that is being parsed.
struct ReplyProgress {
  std::size_t bytes = 0;
  std::size_t objects = 0;
  std::size_t most_objects = 0;
  bool is_refused = false;   ///< an object is not RESP2, or too deep
  bool is_too_deep = false;  ///< it has more than kDeepest levels of arrays
};

struct ReplyRoot : ReplyNode {
  std::shared_ptr<const Endpoint> server;
  std::string command;
  std::unique_ptr<const Error> failure;  ///< for failure_of(); null almost always
};

namespace {

// Not MOVED: the next attempt would fail, too.
constexpr std::array<std::string_view, 6> kNotNowCodes{"LOADING",     "BUSY",     "MASTERDOWN",
                                                       "CLUSTERDOWN", "TRYAGAIN", "ASK"};
// Protected mode: a server without a password is called from another machine.
constexpr std::string_view kProtectedMode = "DENIED";
constexpr std::array<std::string_view, 4> kRefusedCodes{"NOAUTH", "WRONGPASS", "NOPERM",
                                                        kProtectedMode};
// Errors without a code of their own, by the start of their message.
constexpr std::array<std::string_view, 1> kNotNowSentences{"max number of clients"};
constexpr std::array<std::string_view, 3> kRefusedSentences{
    "The user executing the script can't",  // in a script, up to Redis 7.0
    "ACL failure in script",                // in a script, since Redis 7.2
    "AUTH <password> called without any password"};

template <std::size_t N>
bool contains(const std::array<std::string_view, N>& list, std::string_view word) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

struct ErrorParts {
  std::string_view code;
  std::string_view sentence;
};

bool is_code(std::string_view word) {
  constexpr std::size_t kShortest = 3;  // OOM; "A" and "I" begin sentences
  return word.size() >= kShortest && std::all_of(word.begin(), word.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

// Removes "@user_script:12: " or "@user_script: 12: ", which Redis 6 puts before a script's errors.
bool remove_script_position(std::string_view& text) {
  if (!text.starts_with('@')) return false;
  auto at = text.find(':');
  if (at == std::string_view::npos || text.substr(0, at).find(' ') != std::string_view::npos) {
    return false;
  }
  ++at;
  if (at < text.size() && text[at] == ' ') ++at;
  const auto digits_end = std::min(text.find_first_not_of("0123456789", at), text.size());
  if (digits_end == at || !text.substr(digits_end).starts_with(": ")) return false;
  text.remove_prefix(digits_end + 2);
  return true;
}

// Removes "user_script:12: " before the error of a command that a coroutine calls.
bool remove_coroutine_position(std::string_view& text) {
  const auto end = text.find(": ");
  if (end == text.npos || !text.starts_with("user_script:")) return false;
  const auto rest = text.substr(end + 2);
  if (!rest.starts_with('@') && !is_code(rest.substr(0, rest.find(' ')))) return false;
  text = rest;
  return true;
}

// Unwraps Redis 6's "ERR Error running script (call to f_SHA1): @user_script:1: -OOM ..."; returns
// true if the error was wrapped.
bool unwrap_script_error(std::string_view& text) {
  bool positioned = false;
  const bool wrapped = text.starts_with("ERR Error running script (call to f_");
  if (wrapped) {
    constexpr std::string_view kEnd = "): ";
    const auto end = text.find(kEnd);
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + kEnd.size());
  }
  while (remove_script_position(text) || (positioned && remove_coroutine_position(text))) {
    positioned = true;
  }
  if (positioned && text.starts_with('-')) text.remove_prefix(1);
  return wrapped;
}

// Since Redis 7 a script's errors end in " script: SHA1, on @user_script:1."; Valkey 9 omits the
// SHA1.
std::string_view without_script_suffix(std::string_view text) {
  constexpr std::string_view kSuffix = " script: ";
  const auto at = text.rfind(kSuffix);
  if (at == std::string_view::npos) return text;
  auto tail = text.substr(at + kSuffix.size());
  const auto sha1_end = std::min(tail.find_first_not_of("0123456789abcdef"), tail.size());
  if (sha1_end == 40 && tail.substr(sha1_end).starts_with(", ")) tail.remove_prefix(42);
  return tail.starts_with("on @") ? text.substr(0, at) : text;
}

ErrorParts split_error(std::string_view text) {
  // The reason for which EXEC was refused follows; after a queued command that was refused it is
  // "previous errors".
  constexpr std::string_view kExec = "EXECABORT Transaction discarded because of: ";
  if (text.starts_with(kExec)) text.remove_prefix(kExec.size());
  // Without a password, a server that has one does not even read a command of more than ten words.
  constexpr std::string_view kGeneric = "ERR ";
  if (text.starts_with("ERR Protocol error: unauthenticated ")) {
    return {"NOAUTH", text.substr(kGeneric.size())};
  }
  const bool wrapped = unwrap_script_error(text);
  const auto space = std::min(text.find(' '), text.size());
  if (is_code(text.substr(0, space))) {
    return {text.substr(0, space), text.substr(std::min(space + 1, text.size()))};
  }
  return {wrapped ? "ERR" : "", text};
}

Failure classify(const ErrorParts& parts) {
  if (contains(kNotNowCodes, parts.code)) return Failure::kNotNow;
  if (contains(kRefusedCodes, parts.code)) return Failure::kRefused;
  if (!parts.code.empty() && parts.code != "ERR") return Failure::kRejected;
  const auto begins = [&](auto start) { return parts.sentence.starts_with(start); };
  if (std::ranges::any_of(kNotNowSentences, begins)) return Failure::kNotNow;
  if (std::ranges::any_of(kRefusedSentences, begins)) return Failure::kRefused;
  return Failure::kRejected;
}

// ---- What hiredis calls for each object that it has parsed ----
//
// Versions of hiredis differ in what they read: 1.0 and later also know the types of RESP3 and
// longer arrays, and only they refuse a line with a CR or an LF in it. No version looks at the two
// bytes after a string. The functions here accept the same replies with each of them.

// hiredis reports a null object as an error.
constexpr void* kNoObject = nullptr;
// The most levels of arrays: one fewer than hiredis 0.14 reads. 1.0 has no limit, later ones allow
// 1024 levels, and a reply is freed recursively.
constexpr int kDeepest = 7;
// The most elements that an array may claim to have: as many as hiredis 0.14 reads.
constexpr std::size_t kLongestArray = std::numeric_limits<int>::max();
// An array has room for its elements as they come, since its length may be a lie.
constexpr std::size_t kFirstRoom = 16;

ReplyProgress& progress_of(const redisReadTask* task) noexcept {
  return *static_cast<ReplyProgress*>(task->privdata);
}

void* refuse(const redisReadTask* task) noexcept {
  progress_of(task).is_refused = true;
  return kNoObject;
}

std::optional<ReplyType> type_of(const redisReadTask& task) {
  switch (task.type) {
    case REDIS_REPLY_STRING:
      return ReplyType::kString;
    case REDIS_REPLY_STATUS:
      return ReplyType::kStatus;
    case REDIS_REPLY_INTEGER:
      return ReplyType::kInteger;
    case REDIS_REPLY_ERROR:
      return ReplyType::kError;
    case REDIS_REPLY_ARRAY:
      return ReplyType::kArray;
    default:
      return std::nullopt;  // RESP3, whose null has a type of its own
  }
}

// Adds an object to its array, or makes it the root, and calls fill(node).
template <typename Fill>
void* add_object(const redisReadTask* task, Fill fill) noexcept {
  const auto type = type_of(*task);
  if (!type || ++progress_of(task).objects > progress_of(task).most_objects) return refuse(task);
  try {
    ReplyNode* node = nullptr;
    std::unique_ptr<ReplyRoot> root;
    if (task->parent == nullptr) {
      root = std::make_unique<ReplyRoot>();
      node = root.get();
    } else {
      auto& siblings = static_cast<ReplyNode*>(task->parent->obj)->elements;
      node = &siblings.emplace_back();
    }
    node->type = *type;
    fill(*node);
    static_cast<void>(root.release());
    return node;
  } catch (const std::bad_alloc&) {
    return kNoObject;
  }
}

// Whether a CR and an LF follow the text, and a text that is a line has no other. hiredis has both
// bytes in its buffer.
bool is_ended(const redisReadTask& task, std::string_view text) {
  if (std::string_view(text.data() + text.size(), 2) != "\r\n") return false;
  return task.type == REDIS_REPLY_STRING ||
         (text.find('\r') == text.npos && text.find('\n') == text.npos);
}

bool is_too_deep(const redisReadTask* task) {
  int depth = 0;
  for (; task != nullptr && depth <= kDeepest; task = task->parent) ++depth;
  return depth > kDeepest;
}

template <typename Functions>
Functions make_object_functions() {
  Functions functions{};
  functions.createString = [](const redisReadTask* task, char* text, std::size_t size) {
    if (!is_ended(*task, {text, size})) return refuse(task);
    return add_object(task, [&](ReplyNode& node) { node.text.assign(text, size); });
  };
  functions.createArray = [](const redisReadTask* task, auto size) {
    if (is_too_deep(task)) {
      progress_of(task).is_too_deep = true;
      return refuse(task);
    }
    if (static_cast<std::size_t>(size) > kLongestArray) return refuse(task);
    return add_object(task, [&](ReplyNode& node) {
      node.elements.reserve(std::min(static_cast<std::size_t>(size), kFirstRoom));
    });
  };
  functions.createInteger = [](const redisReadTask* task, long long integer) {
    return add_object(task, [&](ReplyNode& node) { node.integer = integer; });
  };
  functions.createNil = [](const redisReadTask* task) {
    return add_object(task, [](ReplyNode& node) { node.type = ReplyType::kNil; });
  };
  functions.freeObject = [](void* root) {
    delete static_cast<ReplyRoot*>(static_cast<ReplyNode*>(root));
  };
  // hiredis 1.0 and later; without them, it would invent objects of RESP3's types.
  if constexpr (requires { functions.createDouble; }) {
    functions.createDouble = [](const redisReadTask* task, auto...) { return refuse(task); };
    functions.createBool = [](const redisReadTask* task, auto...) { return refuse(task); };
  }
  return functions;
}

}  // namespace

ReplyView ReplyView::operator[](std::size_t index) const {
  if (index >= size()) {
    throw error_about(*this, {Failure::kProtocol, "the answer has fewer elements than expected"});
  }
  return {&node_->elements[index], root_};
}

Reply::Reply(ReplyRoot* root) : ReplyView(root, root), owned_(root) {}

Reply Reply::failed(const Error& error) {
  auto root = std::make_unique<ReplyRoot>();
  root->type = ReplyType::kError;
  root->text = error.what();
  root->failure = std::make_unique<const Error>(error);
  return Reply(root.release());
}

Reply Reply::copy_of(ReplyView reply) {
  auto root = std::make_unique<ReplyRoot>();
  static_cast<ReplyNode&>(*root) = *reply.node_;
  return Reply(root.release());
}

void Reply::set_origin(std::shared_ptr<const Endpoint> server, std::string command) {
  owned_->server = std::move(server);
  owned_->command = std::move(command);
}

void Reply::Free::operator()(ReplyRoot* root) const noexcept {
  delete root;
}

ReplyBounds bounds_of(ReplyKind kind) {
  constexpr std::size_t kDecided = std::size_t{64} << 10, kPrinted = std::size_t{64} << 20;
  if (kind == ReplyKind::kDecision) return {.bytes = kDecided, .line = kDecided};
  if (kind == ReplyKind::kDebugger) return {.bytes = kPrinted, .line = kPrinted};
  return {};
}

ReplyReader::ReplyReader() : progress_(std::make_unique<ReplyProgress>()) {
  static redisReplyObjectFunctions functions = make_object_functions<redisReplyObjectFunctions>();
  reader_.reset(redisReaderCreateWithFunctions(&functions));
  if (!reader_) throw std::bad_alloc();
  reader_->privdata = progress_.get();
}

ReplyReader::~ReplyReader() = default;

void ReplyReader::Free::operator()(redisReader* reader) const noexcept {
  redisReaderFree(reader);
}

std::size_t ReplyReader::unparsed() const noexcept {
  return reader_->len - reader_->pos;
}

void ReplyReader::feed(std::string_view bytes) {
  progress_->bytes += bytes.size();
  if (redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) != REDIS_OK)
    throw std::bad_alloc();
}

namespace {

std::string size_text(std::size_t bytes) {
  constexpr std::size_t kMebibyte = std::size_t{1} << 20;
  return bytes % kMebibyte == 0 ? fmt::format("{} MiB", bytes / kMebibyte)
                                : fmt::format("{} KiB", bytes >> 10U);
}

}  // namespace

std::optional<Reply> ReplyReader::next(const ReplyBounds& bounds) {
  void* root = nullptr;
  progress_->most_objects = bounds.elements;
  const int status = redisReaderGetReply(reader_.get(), &root);
  std::optional<Reply> reply;
  if (root != nullptr) reply.emplace(static_cast<ReplyRoot*>(static_cast<ReplyNode*>(root)));
  if (progress_->objects > bounds.elements) {
    throw ReplyTooLarge(fmt::format("has more than {} elements", bounds.elements));
  }
  if (progress_->is_too_deep) {
    throw ReplyTooLarge(fmt::format("has more than {} levels of arrays", kDeepest));
  }
  if (status != REDIS_OK) {
    // hiredis calls an object that was refused an error of memory.
    if (progress_->is_refused) throw Error(Failure::kProtocol, "RESP2 has no such object");
    if (reader_->err == REDIS_ERR_OOM) throw std::bad_alloc();
    throw Error(Failure::kProtocol, reader_->errstr);
  }
  // Bytes that follow a whole reply belong to the next one.
  const auto bytes = progress_->bytes - (reply ? unparsed() : 0);
  if (bytes > bounds.bytes) {
    throw ReplyTooLarge("is larger than " + size_text(bounds.bytes));
  }
  if (reply) {
    *progress_ = {.bytes = unparsed()};
    return reply;
  }
  // A string's line is its length: the bytes that follow are bounded as a whole.
  const std::string_view begun(reader_->buf + reader_->pos, std::min(unparsed(), bounds.line + 1));
  if (begun.size() > bounds.line && begun.find('\r') == begun.npos) {
    throw ReplyTooLarge("has a line of more than " + size_text(bounds.line));
  }
  return std::nullopt;
}

std::string_view error_code(std::string_view error_text) {
  return split_error(error_text).code;
}

void require_type(ReplyView reply, ReplyType type) {
  if (reply.type() == type) return;
  if (reply.is_error()) throw to_error(reply);
  throw error_about(reply,
                    {Failure::kProtocol, "the answer is of another type than the command's"});
}

std::int64_t number_in(ReplyView reply) {
  require_type(reply, ReplyType::kInteger);
  return reply.integer();
}

bool is_unknown_script(ReplyView reply) {
  return reply.is_error() && reply.text().starts_with("NOSCRIPT No matching script");
}

std::optional<int> script_line(std::string_view error_text) {
  constexpr std::string_view kScript = "user_script:", kPosition = "@user_script:";
  // The error's own text, which may contain anything, precedes the position or follows all of it.
  auto at = error_text.rfind(kPosition);
  at = at == error_text.npos ? error_text.find(kScript) : at + 1;
  if (at == error_text.npos) return std::nullopt;
  auto digits = error_text.substr(at + kScript.size());
  if (digits.starts_with(' ')) digits.remove_prefix(1);
  int line = 0;
  const auto* end = digits.data() + digits.size();
  if (std::from_chars(digits.data(), end, line).ec != std::errc{}) return std::nullopt;
  return line;
}

const Error* failure_of(ReplyView reply) {
  return reply.root_->failure.get();
}

void throw_failure_of(ReplyView reply) {
  if (const auto* failure = failure_of(reply)) throw Error(*failure);
}

std::string_view hello_field(ReplyView hello, std::string_view name) {
  for (std::size_t i = 0; i + 1 < hello.size(); i += 2) {
    if (hello[i].text() == name) return hello[i + 1].text();
  }
  return {};
}

bool refuses_connection(ReplyView first_reply) {
  if (!first_reply.is_error()) return false;
  const auto parts = split_error(first_reply.text());
  // Too many clients is the only reason not to be ready that has no code of its own.
  const bool too_many = parts.code == "ERR" && classify(parts) == Failure::kNotNow;
  return too_many || parts.code == kProtectedMode;
}

Error error_about(ReplyView reply, const Error& error) {
  return error.from(reply.root_->server, reply.root_->command);
}

Error to_error(ReplyView error_reply) {
  if (const auto* failure = failure_of(error_reply)) return *failure;
  const auto parts = split_error(error_reply.text());
  const auto sentence = escape(without_script_suffix(parts.sentence));
  const bool bare = parts.code.empty() || parts.code == "ERR";
  std::string message = bare ? sentence : std::string(parts.code);
  if (!bare && !sentence.empty()) message += " " + sentence;
  return error_about(error_reply, {classify(parts), message, std::string(parts.code)});
}

namespace {

std::string_view line_of(std::string_view text, int number) {
  for (; number > 1 && !text.empty(); --number) take_until(text, "\n");
  return take_until(text, "\n");
}

// The name in the first "call('NAME'", in which `call` may also be the end of a longer word.
std::string_view called_command(std::string_view text, std::string_view call) {
  const auto at = text.find(call);
  if (at == text.npos) return {};
  text.remove_prefix(at + call.size());
  return text.substr(0, std::min(text.find_first_of("'\""), text.size()));
}

}  // namespace

Error to_error(ReplyView error_reply, std::string_view script) {
  constexpr std::string_view kUnnamed =
      "The user executing the script can't run this command or subcommand";
  const auto error = to_error(error_reply);
  if (error.what() != kUnnamed) return error;
  const auto line = script_line(error_reply.text());
  const bool is_raised = line && !line_of(script, *line).empty();
  const std::string command(is_raised ? called_command(line_of(script, *line), "call('")
                                      : called_command(script, "pcall('"));
  if (command.empty()) return error;
  const std::string message = fmt::format("{}: '{}'", kUnnamed, lower_case(command));
  return Error(error.failure(), message, "NOPERM").from(error.server(), command);
}

}  // namespace rlctl::redis
