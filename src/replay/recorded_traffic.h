#pragma once

#include <memory>
#include <string_view>
#include <utility>

#include "replay/key_table.h"
#include "replay/spool.h"
#include "traffic/traffic.h"

namespace rlctl::replay {

/// Traffic that was spooled.
class RecordedTraffic final : public traffic::Traffic {
 public:
  RecordedTraffic(std::shared_ptr<const Spool> spool, std::shared_ptr<const KeyTable> keys)
      : spool_(std::move(spool)), keys_(std::move(keys)), reader_(*spool_) {}

  [[nodiscard]] bool next(traffic::Arrival& arrival) override {
    Record record;
    if (!reader_.next(record)) return false;
    arrival = {.at = microseconds{record.at_us}, .key = record.key, .cost = record.cost};
    return true;
  }
  [[nodiscard]] std::string_view key_name(std::uint32_t key) const override {
    return keys_->name(key);
  }
  [[nodiscard]] std::int64_t size() const override { return spool_->size(); }

 private:
  std::shared_ptr<const Spool> spool_;
  std::shared_ptr<const KeyTable> keys_;
  SpoolReader reader_;
};

}  // namespace rlctl::replay
