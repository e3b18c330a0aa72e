#include "cli/commands/debug/dap/client.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace rlctl::cli::debug::dap {

bool Client::read(bool waits) {
  out_.flush();
  if (waits) {
    wait_for(input_, POLLIN, &interrupt_, kNoDeadline);
  } else {
    pollfd ready{.fd = input_, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, 0) <= 0) return true;
  }
  std::array<char, std::size_t{1} << 16> bytes;  // NOLINT(*-member-init): read() sets it
  const auto size = ::read(input_, bytes.data(), bytes.size());
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (size <= 0) return false;
  messages_.add({bytes.data(), static_cast<std::size_t>(size)});
  return true;
}

void Client::event(const char* name, Json body) {
  send({{"type", "event"}, {"event", name}, {"body", std::move(body)}});
}

void Client::output(const char* category, std::string text) {
  if (text.empty()) return;
  if (!text.ends_with('\n')) text += '\n';
  event("output", {{"category", category}, {"output", std::move(text)}});
}

void Client::log(std::string text, Json source, int line) {
  add({{"type", "event"},
       {"event", "output"},
       {"body",
        {{"category", "console"},
         {"output", std::move(text) + '\n'},
         {"source", std::move(source)},
         {"line", line}}}});
  out_.flush_if_large();
}

void Client::respond(const Json& request, Json body) {
  Json message{{"type", "response"},
               {"request_seq", request["seq"]},
               {"command", request["command"]},
               {"success", true}};
  if (!body.is_null()) message["body"] = std::move(body);
  send(std::move(message));
}

void Client::refuse(const Json& request, const std::string& why) {
  const auto* seq = member(request, "seq");
  const auto* command = member(request, "command");
  // A format's {words} would be replaced.
  send({{"type", "response"},
        {"request_seq", seq != nullptr && seq->is_number_integer() ? *seq : Json(0)},
        {"command", command != nullptr && command->is_string() ? *command : Json("")},
        {"success", false},
        {"message", why},
        {"body",
         {{"error",
           {{"id", 1},
            {"format", "{what}"},
            {"variables", {{"what", why}}},
            {"showUser", true}}}}}});
}

void Client::send(Json message) {
  add(std::move(message));
  out_.flush();
}

void Client::add(Json message) {
  message["seq"] = ++sent_;
  // JSON in ASCII has nothing to escape, and another escape would change the announced length.
  out_.write_raw(framed(message.dump(-1, ' ', true, Json::error_handler_t::replace)));
}

}  // namespace rlctl::cli::debug::dap
