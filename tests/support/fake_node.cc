#include "support/fake_node.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "redis/reply.h"
#include "support/scripted_server.h"

namespace support {

FakeNode::FakeNode() {
  url_.port = 0;
  listener_ = listen_at(url_, 64);
  acceptor_ = std::thread([this] { accept_clients(); });
}

FakeNode::~FakeNode() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& client : clients_) ::shutdown(client.get(), SHUT_RDWR);
  }
  for (auto& talk : talks_) talk.join();
}

void FakeNode::set_script(Script script) {
  const std::lock_guard lock(mutex_);
  script_ = std::move(script);
}

std::vector<std::string> FakeNode::seen() {
  const std::lock_guard lock(mutex_);
  return seen_;
}

int FakeNode::count(const std::string& beginning) {
  const auto all = seen();
  return static_cast<int>(std::ranges::count_if(
      all, [&](const std::string& command) { return command.starts_with(beginning); }));
}

int FakeNode::clients() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(clients_.size());
}

void FakeNode::accept_clients() {
  for (;;) {
    rlctl::FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    const std::lock_guard lock(mutex_);
    const int socket = clients_.emplace_back(std::move(client)).get();
    talks_.emplace_back([this, socket] { talk_to(socket); });
  }
}

// The socket stays open until the end, so that its number is not given to another client.
void FakeNode::talk_to(int client) {
  rlctl::redis::ReplyReader reader;
  std::array<char, 4096> piece;
  for (;;) {
    const auto count = ::recv(client, piece.data(), piece.size(), 0);
    if (count <= 0) return;
    std::string_view bytes(piece.data(), static_cast<std::size_t>(count));
    while (const auto command = reader.next(bytes)) {
      std::vector<std::string> words;
      for (std::size_t i = 0; i < command->size(); ++i) words.emplace_back((*command)[i].text());
      if (!answer(client, words)) {
        ::shutdown(client, SHUT_RDWR);
        return;
      }
    }
  }
}

bool FakeNode::answer(int client, const std::vector<std::string>& words) {
  const std::lock_guard lock(mutex_);
  const auto join = [](std::string all, const std::string& word) { return all + ' ' + word; };
  seen_.push_back(std::accumulate(words.begin() + 1, words.end(), words.front(), join));
  if (!script_) return true;
  const auto [bytes, hangs_up] = script_(words);
  Peer(client).write(bytes);
  return !hangs_up;
}

}  // namespace support
