#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "keyspace/call.h"

// The bits of a string: bit 0 is the highest of the first byte.

namespace rlctl::keyspace {
namespace {

constexpr std::int64_t kMostBits = std::int64_t{512} << 23;

constexpr const char* kNotOffset = "ERR bit offset is not an integer or out of range";

std::size_t bit_offset(const Call& call, std::size_t word) {
  const auto offset = call.integer(word, kNotOffset);
  if (offset < 0 || offset >= kMostBits) throw ErrorReply{kNotOffset};
  return static_cast<std::size_t>(offset);
}

bool bit_at(const Text& text, std::size_t offset) {
  const auto byte = offset / 8;
  return byte < text.size() &&
         (static_cast<unsigned char>(text[byte]) >> (7 - offset % 8) & 1) != 0;
}

void set_bit(Text& text, std::size_t offset, bool value) {
  const auto mask = 1U << (7 - offset % 8);
  const auto byte = static_cast<unsigned char>(text[offset / 8]);
  text[offset / 8] = static_cast<char>(value ? byte | mask : byte & ~mask);
}

/// The string of the key, to be changed, with at least `bits` bits.
Text& edit_bits(Call& call, std::size_t bits) {
  return call.edit_text(call.words[1], (bits + 7) / 8);
}

void setbit(Call& call) {
  const auto offset = bit_offset(call, 2);
  const char* const error = "ERR bit is not an integer or out of range";
  const auto value = call.integer(3, error);
  if (value != 0 && value != 1) throw ErrorReply{error};
  auto& text = edit_bits(call, offset + 1);
  call.reply_integer(bit_at(text, offset) ? 1 : 0);
  set_bit(text, offset, value == 1);
}

void getbit(Call& call) {
  const auto offset = bit_offset(call, 2);
  const auto* const text = call.find<Text>(call.words[1]);
  call.reply_integer(text != nullptr && bit_at(*text, offset) ? 1 : 0);
}

void bitcount(Call& call) {
  const auto* const text = call.find<Text>(call.words[1]);
  if (text == nullptr) return call.reply_integer(0);
  const auto size = call.words.size();
  if (size == 3 || size > 5) throw ErrorReply{kSyntax};
  Slice bits{0, text->size() * 8};
  if (size > 3) {
    const auto first = call.integer(2), last = call.integer(3);
    const bool by_bit = size == 5 && call.is(4, "BIT");
    if (size == 5 && !by_bit && !call.is(4, "BYTE")) throw ErrorReply{kSyntax};
    bits = Slice::of_text(first, last, by_bit ? bits.end : text->size());
    if (!by_bit) bits = {bits.begin * 8, bits.end * 8};
  }
  std::int64_t count = 0;
  for (auto i = bits.begin; i < bits.end; ++i) count += bit_at(*text, i) ? 1 : 0;
  call.reply_integer(count);
}

// ---- BITFIELD ----

enum class Overflow { kWrap, kSaturate, kFail };

struct BitOperation {
  enum class Kind { kGet, kSet, kIncrement } kind = Kind::kGet;
  bool is_signed = false;
  std::size_t bits = 0, offset = 0;
  std::int64_t value = 0;
  Overflow overflow = Overflow::kWrap;
};

void read_bit_type(const Call& call, std::size_t word, BitOperation& operation) {
  const auto text = call.words[word];
  const auto bits = text.empty() ? std::nullopt : to_integer(text.substr(1));
  operation.is_signed = text.starts_with('i');
  if (!bits || *bits < 1 || *bits > (operation.is_signed ? 64 : 63) ||
      !(operation.is_signed || text.starts_with('u'))) {
    throw ErrorReply{
        "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but "
        "i64 is."};
  }
  operation.bits = static_cast<std::size_t>(*bits);
}

/// "#3" counts in fields.
std::size_t field_offset(const Call& call, std::size_t word, std::size_t bits) {
  const auto text = call.words[word];
  const bool in_fields = text.starts_with('#');
  const auto offset = to_integer(text.substr(in_fields ? 1 : 0));
  const auto scale = in_fields ? static_cast<std::int64_t>(bits) : 1;
  std::int64_t scaled = 0;
  if (!offset || __builtin_mul_overflow(*offset, scale, &scaled) || scaled < 0 ||
      scaled >= kMostBits) {
    throw ErrorReply{kNotOffset};
  }
  return static_cast<std::size_t>(scaled);
}

Overflow read_overflow(const Call& call, std::size_t word) {
  if (call.is(word, "WRAP")) return Overflow::kWrap;
  if (call.is(word, "SAT")) return Overflow::kSaturate;
  if (call.is(word, "FAIL")) return Overflow::kFail;
  throw ErrorReply{"ERR Invalid OVERFLOW type specified"};
}

std::vector<BitOperation> read_bit_operations(const Call& call) {
  std::vector<BitOperation> operations;
  auto overflow = Overflow::kWrap;
  for (std::size_t i = 2; i < call.words.size();) {
    const auto left = call.words.size() - i - 1;
    using Kind = BitOperation::Kind;
    BitOperation operation;
    if (call.is(i, "OVERFLOW") && left >= 1) {
      overflow = read_overflow(call, i + 1);
      i += 2;
      continue;
    }
    if (call.is(i, "GET") && left >= 2) {
      operation.kind = Kind::kGet;
    } else if (call.is(i, "SET") && left >= 3) {
      operation.kind = Kind::kSet;
    } else if (call.is(i, "INCRBY") && left >= 3) {
      operation.kind = Kind::kIncrement;
    } else {
      throw ErrorReply{kSyntax};
    }
    read_bit_type(call, i + 1, operation);
    operation.offset = field_offset(call, i + 2, operation.bits);
    operation.overflow = overflow;
    i += 3;
    if (operation.kind != Kind::kGet) operation.value = call.integer(i++);
    operations.push_back(operation);
  }
  return operations;
}

/// The number in a field. Beyond the text are zeros.
Wide read_field(const Text& text, const BitOperation& operation) {
  Wide value = 0;
  for (std::size_t i = 0; i < operation.bits; ++i) {
    value = value * 2 + (bit_at(text, operation.offset + i) ? 1 : 0);
  }
  const bool is_negative = operation.is_signed && bit_at(text, operation.offset);
  return is_negative ? value - (Wide{1} << operation.bits) : value;
}

/// Sets the field and replies its old or new value; nil if that would overflow and must not.
void write_field(Call& call, Text& text, const BitOperation& operation) {
  const bool is_increment = operation.kind == BitOperation::Kind::kIncrement;
  const Wide old = read_field(text, operation);
  const Wide range = Wide{1} << operation.bits;
  const Wide least = operation.is_signed ? -(range / 2) : 0;
  const Wide most = least + range - 1;
  // Redis reads the value for an unsigned field as unsigned.
  Wide value = is_increment          ? old + operation.value
               : operation.is_signed ? Wide{operation.value}
                                     : Wide{static_cast<std::uint64_t>(operation.value)};
  if (value < least || value > most) {
    if (operation.overflow == Overflow::kFail) return call.reply_nil();
    if (operation.overflow == Overflow::kSaturate) {
      value = value < least ? least : most;
    } else {
      value = ((value - least) % range + range) % range + least;
    }
  }
  call.reply_integer(static_cast<std::int64_t>(is_increment ? value : old));
  for (std::size_t i = 0; i < operation.bits; ++i) {
    set_bit(text, operation.offset + operation.bits - 1 - i, (value >> i & 1) != 0);
  }
}

void run_bit_operations(Call& call, const std::vector<BitOperation>& operations) {
  std::size_t written = 0;
  for (const auto& operation : operations) {
    if (operation.kind == BitOperation::Kind::kGet) continue;
    written = std::max(written, operation.offset + operation.bits);
  }
  Text empty;
  const auto* const stored = call.find<Text>(call.words[1]);
  auto* const text = written > 0 ? &edit_bits(call, written) : nullptr;
  call.reply_array(operations.size());
  for (const auto& operation : operations) {
    if (operation.kind != BitOperation::Kind::kGet) {
      write_field(call, *text, operation);
    } else {
      const auto& read = text != nullptr ? *text : stored != nullptr ? *stored : empty;
      call.reply_integer(static_cast<std::int64_t>(read_field(read, operation)));
    }
  }
}

void bitfield(Call& call) {
  run_bit_operations(call, read_bit_operations(call));
}

void bitfield_ro(Call& call) {
  const auto operations = read_bit_operations(call);
  for (const auto& operation : operations) {
    if (operation.kind != BitOperation::Kind::kGet) {
      throw ErrorReply{"ERR BITFIELD_RO only supports the GET subcommand"};
    }
  }
  run_bit_operations(call, operations);
}

constexpr Command kBitCommands[] = {
    {"BITCOUNT", -2, kReads, bitcount},       {"BITFIELD", -2, kWrites, bitfield},
    {"BITFIELD_RO", -2, kReads, bitfield_ro}, {"GETBIT", 3, kReads, getbit},
    {"SETBIT", 4, kWrites, setbit},
};

}  // namespace

std::span<const Command> bit_commands() {
  return kBitCommands;
}

}  // namespace rlctl::keyspace
