// A reply to CLUSTER SLOTS that is accepted has slots and ports that exist; so has where MOVED and
// ASK refer to; and a command's keys are among its words.
#include <vector>

#include "night/fuzz/replies.h"
#include "redis/cluster.h"
#include "redis/url.h"

namespace fuzz::cluster_slots {

using namespace rlctl::redis;

const HostPort kAsked{.host = "192.0.2.1", .port = 7000};

/// As the specification of Redis Cluster has it.
int plain_slot(std::string_view key) {
  if (const auto open = key.find('{'); open != key.npos) {
    const auto close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = ((crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U) & 0xffffU;
    }
  }
  return static_cast<int>(crc % 16384);
}

void require_shown(const HostPort& address) {
  require(is_port(address.port), "a port is one");
  require(!address.host.empty(), "there is a host");
  const auto shown = display(address);
  require(!has_control(shown) && shown.find('\n') == shown.npos,
          "an address is shown without control bytes", shown);
}

void test_keys(std::string_view input) {
  Parts parts(input);
  std::vector<std::string_view> words;
  while (!parts.done()) words.push_back(parts.until('\n'));
  if (words.empty()) return;
  const auto keys = accepted<Error>([&] { return keys_of(words); }, 1000);
  if (!keys) return;
  require(keys->empty() || (keys->data() > words.data() &&
                            keys->data() + keys->size() <= words.data() + words.size()),
          "keys are among the words");
  const auto slot = accepted<Error>([&] { return common_slot(*keys); }, 1000);
  for (const auto key : *keys) {
    require(slot_of(key) == plain_slot(key), "a slot is the specification's", key);
    require(!slot || slot_of(key) == *slot, "a common slot is each key's", key);
  }
}

void test(std::string_view input) {
  test_keys(input);
  if (const auto referral = parse_referral(input, kAsked)) {
    require(referral->slot >= 0 && referral->slot < kSlots, "a slot is one");
    require_shown(referral->server);
  }
  const auto reply = first_reply(input);
  if (!reply) return;
  if (const auto referral = parse_referral(reply->text(), kAsked)) require_shown(referral->server);
  const auto ranges = accepted<Error>([&] { return parse_slots(*reply, kAsked); }, 1000);
  if (!ranges) return;
  require(!ranges->empty() && ranges->size() <= reply->size(), "each range is an element");
  for (const auto& range : *ranges) {
    require(range.first >= 0 && range.first <= range.last && range.last < kSlots,
            "slots are slots");
    require_shown(range.master);
    const auto url = url_of(Url{}, range.master);
    require(!has_control(display(url)), "so is a URL", display(url));
  }
}

const Target kTarget("cluster_slots", test);

}  // namespace fuzz::cluster_slots
