#include "virtual_device/memory_known_bytes.h"

#include <algorithm>
#include <cstring>

namespace maya::device {

uint32_t fill_word(uint64_t destination, uint32_t value, uint32_t width_bytes) {
  if (width_bytes == 1) return (value & 0xff) * 0x01010101u;
  if (width_bytes == 2) value = (value & 0xffff) * 0x00010001u;
  const uint32_t shift = static_cast<uint32_t>(destination & 3) * 8;
  return shift == 0 ? value : (value << shift) | (value >> (32 - shift));
}

void expand_fill(void* out, uint64_t begin, uint64_t bytes, uint32_t word) {
  auto* to = static_cast<unsigned char*>(out);
  if (word == (word & 0xff) * 0x01010101u) {
    std::memset(to, static_cast<int>(word & 0xff), bytes);
    return;
  }
  while (bytes > 0 && (begin & 3) != 0) {
    *to++ = static_cast<unsigned char>(word >> ((begin & 3) * 8));
    ++begin;
    --bytes;
  }
  for (; bytes >= 4; bytes -= 4, to += 4) std::memcpy(to, &word, 4);
  for (uint32_t i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(word >> (i * 8));
}

uint64_t KnownBytes::erase(uint64_t begin, uint64_t end) {
  uint64_t data_bytes = 0;
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin()) {
    auto previous = std::prev(piece);
    if (previous->second.end > begin) {
      const Piece old = previous->second;
      if (!old.fill) data_bytes += std::min(old.end, end) - begin;
      if (previous->first == begin)
        pieces_.erase(previous);
      else
        previous->second.end = begin;
      if (old.end > end) {
        pieces_.emplace_hint(piece, end, old);
        return data_bytes;
      }
    }
  }
  while (piece != pieces_.end() && piece->first < end) {
    const Piece old = piece->second;
    if (!old.fill) data_bytes += std::min(old.end, end) - piece->first;
    piece = pieces_.erase(piece);
    if (old.end > end) {
      pieces_.emplace_hint(piece, end, old);
      break;
    }
  }
  return data_bytes;
}

void KnownBytes::set_data(uint64_t begin, uint64_t end, bool apart) {
  if (begin >= end) return;
  if (apart) {
    erase(begin, end);
    pieces_.emplace(begin, Piece{end, false, 0, 0, true});
    return;
  }
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.begin()) {
    const auto previous = std::prev(piece);
    if (!previous->second.fill && previous->second.end >= end) return;
  }
  erase(begin, end);
  piece = pieces_.lower_bound(begin);
  if (piece != pieces_.end() && piece->first == end && !piece->second.fill && !piece->second.apart &&
      piece->second.end - begin <= kLongestJoined_bytes) {
    end = piece->second.end;
    piece = pieces_.erase(piece);
  }
  if (piece != pieces_.begin()) {
    const auto previous = std::prev(piece);
    if (previous->second.end == begin && !previous->second.fill && !previous->second.apart &&
        end - previous->first <= kLongestJoined_bytes) {
      previous->second.end = end;
      return;
    }
  }
  pieces_.emplace_hint(piece, begin, Piece{end, false, 0, 0});
}

void KnownBytes::set_fill(uint64_t begin, uint64_t end, uint32_t word) {
  if (begin >= end) return;
  erase(begin, end);
  auto piece = pieces_.lower_bound(begin);
  if (piece != pieces_.end() && piece->first == end && piece->second.fill && piece->second.word == word &&
      piece->second.expected == 0) {
    end = piece->second.end;
    piece = pieces_.erase(piece);
  }
  if (piece != pieces_.begin()) {
    const auto previous = std::prev(piece);
    if (previous->second.end == begin && previous->second.fill && previous->second.word == word &&
        previous->second.expected == 0) {
      previous->second.end = end;
      return;
    }
  }
  pieces_.emplace_hint(piece, begin, Piece{end, true, word, 0});
}

void KnownBytes::set_expected(uint64_t begin, uint64_t end, uint32_t tag) {
  if (begin >= end) return;
  erase(begin, end);
  pieces_.emplace_hint(pieces_.lower_bound(begin), begin, Piece{end, true, 0, tag});
}

bool KnownBytes::covers(uint64_t begin, uint64_t end) const {
  auto piece = pieces_.upper_bound(begin);
  if (begin >= end) return true;
  if (piece == pieces_.begin()) return false;
  for (--piece; piece != pieces_.end() && piece->first <= begin; ++piece) {
    if (piece->second.end <= begin) return false;
    begin = piece->second.end;
    if (begin >= end) return true;
  }
  return false;
}

bool KnownBytes::any(uint64_t begin, uint64_t end) const {
  auto piece = pieces_.upper_bound(begin);
  if (piece != pieces_.end() && piece->first < end) return true;
  return piece != pieces_.begin() && std::prev(piece)->second.end > begin && begin < end;
}

void KnownBytes::gap_around(uint64_t low, uint64_t high, uint64_t* begin, uint64_t* end) const {
  auto piece = pieces_.lower_bound(*begin);
  uint64_t gap_begin = low;
  for (auto before = piece; before != pieces_.begin();) {
    --before;
    if (before->second.fill) continue;
    gap_begin = before->second.end;
    break;
  }
  uint64_t gap_end = high;
  for (; piece != pieces_.end(); ++piece) {
    if (piece->second.fill) continue;
    gap_end = piece->first;
    break;
  }
  *begin = std::max(low, gap_begin);
  *end = std::min(high, gap_end);
}

}  // namespace maya::device
