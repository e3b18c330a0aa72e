#include "replay/byte_source.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <new>
#include <utility>

#include "base/error.h"

namespace rlctl::replay {
namespace {

constexpr int kGzipOnly = 16;  // added to the window's bits
constexpr std::size_t kChunk = std::size_t{1} << 17;

struct Inflater {
  z_stream stream{};
  std::array<char, kChunk> packed{};

  Inflater() {
    if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

class GzipSource final : public ByteSource {
 public:
  /// `name` is the file's, for messages.
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t size) override;
  std::int64_t file_bytes() const override { return packed_->file_bytes(); }

 private:
  bool fill();
  bool begin_member();
  [[noreturn]] void damaged(const char* why) const;

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::unique_ptr<Inflater> inflater_ = std::make_unique<Inflater>();
  bool in_member_ = true;
};

void GzipSource::damaged(const char* why) const {
  throw InputError(fmt::format("{} is damaged: its gzip data is wrong ({})", name_, why),
                   "'gzip -t' reports the same");
}

/// False at the end of the file.
bool GzipSource::fill() {
  auto& stream = inflater_->stream;
  auto& packed = inflater_->packed;
  const auto count = packed_->read(packed.data(), packed.size());
  stream.next_in = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_in = static_cast<uInt>(count);
  return count > 0;
}

/// What follows a member: another one, or zeros to the end, which tapes and block devices add.
bool GzipSource::begin_member() {
  auto& stream = inflater_->stream;
  for (;;) {
    if (stream.avail_in == 0 && !fill()) return false;
    if (*stream.next_in != 0) break;
    ++stream.next_in;
    --stream.avail_in;
  }
  if (*stream.next_in != 0x1f) damaged("something else follows it");
  return in_member_ = inflateReset(&stream) == Z_OK;
}

std::size_t GzipSource::read(char* to, std::size_t size) {
  auto& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(size);
  while (stream.avail_out == size) {
    if (!in_member_ && !begin_member()) return 0;
    if (stream.avail_in == 0 && !fill()) {
      throw InputError(fmt::format("{} is cut off: its gzip data ends in the middle", name_),
                       "to read the part that is there: gzip -dc FILE | rlctl burst --replay -");
    }
    const int status = inflate(&stream, Z_NO_FLUSH);
    if (status == Z_STREAM_END) {
      in_member_ = false;
    } else if (status == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      damaged(stream.msg == nullptr ? "not gzip" : stream.msg);
    }
  }
  return size - stream.avail_out;
}

}  // namespace

bool is_gzip(std::string_view head) noexcept {
  return head.starts_with("\x1f\x8b");
}

std::unique_ptr<ByteSource> unpack_gzip(std::unique_ptr<ByteSource> packed, std::string name) {
  return std::make_unique<GzipSource>(std::move(packed), std::move(name));
}

}  // namespace rlctl::replay
