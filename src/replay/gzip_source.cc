#include "replay/gzip_source.h"

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

}  // namespace

struct GzipSource::Inflater {
  z_stream stream{};
  std::array<char, kChunk> packed{};

  Inflater() {
    if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

bool is_gzip(std::string_view head) noexcept {
  return head.starts_with("\x1f\x8b");
}

GzipSource::GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
    : packed_(std::move(packed)),
      name_(std::move(name)),
      inflater_(std::make_unique<Inflater>()),
      in_member_(true) {}

GzipSource::~GzipSource() = default;

void GzipSource::damaged(const char* why) const {
  throw InputError(fmt::format("{} is damaged: its gzip data is wrong ({})", name_, why),
                   "'gzip -t' tells the same");
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
      throw InputError(
          fmt::format("{} is cut off: its gzip data ends in the middle", name_),
          "what is there can be read all the same: gzip -dc FILE | rlctl burst --replay -");
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

}  // namespace rlctl::replay
