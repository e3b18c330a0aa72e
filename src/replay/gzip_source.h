#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "replay/byte_source.h"

namespace rlctl::replay {

/// Whether a file that begins so is gzip.
[[nodiscard]] bool is_gzip(std::string_view head) noexcept;

/// What gzip packed: one member or several, one after the other, with zero bytes behind them or
/// not. read() throws InputError where the data is damaged, cut off, or followed by something else.
class GzipSource final : public ByteSource {
 public:
  /// `name` is the file's, for messages.
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name);
  ~GzipSource() override;

  std::size_t read(char* to, std::size_t size) override;
  std::int64_t file_bytes() const override { return packed_->file_bytes(); }

 private:
  struct Inflater;

  bool fill();
  bool begin_member();
  [[noreturn]] void damaged(const char* why) const;

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::unique_ptr<Inflater> inflater_;
  bool in_member_ = false;
};

}  // namespace rlctl::replay
