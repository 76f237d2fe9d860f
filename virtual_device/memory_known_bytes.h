// Which bytes of a stretch of device memory are known, and how: as data kept elsewhere, as a fill value, or as bytes
// that are still on their way. Pure bookkeeping: owns no bytes. Not thread safe.
#pragma once

#include <cstdint>
#include <map>

namespace maya::device {

// A fill is four bytes that repeat, anchored at addresses divisible by four: the byte at address a is byte (a mod 4) of
// `word`, low byte first. Fills of width 1, 2 and 4 at any address have this form, and it survives cutting.
uint32_t fill_word(uint64_t destination, uint32_t value, uint32_t width_bytes);
// Writes the bytes that a fill with `word` has at [begin, begin + bytes) to `out`.
void expand_fill(void* out, uint64_t begin, uint64_t bytes, uint32_t word);

class KnownBytes {
 public:
  struct Piece {
    uint64_t end = 0;
    bool fill = false;
    uint32_t word = 0;  // with fill
    // Not 0: the bytes are expected under this tag. Such a piece is a fill with zero, which is how it reads when
    // nothing arrives.
    uint32_t expected = 0;
    bool apart = false;  // data that is not joined with its neighbours
  };
  using Pieces = std::map<uint64_t, Piece>;  // by begin; do not overlap

  // Data ranges longer than this are not joined with their neighbours: the budget gives up whole ranges, largest first,
  // and a small value beside a large tensor should stay.
  static constexpr uint64_t kLongestJoined_bytes = 64 << 10;

  // apart: stays a piece of its own, beside and inside other data.
  void set_data(uint64_t begin, uint64_t end, bool apart = false);
  void set_fill(uint64_t begin, uint64_t end, uint32_t word);
  void set_expected(uint64_t begin, uint64_t end, uint32_t tag);
  // Makes [begin, end) unknown. Returns how many of its bytes were data.
  uint64_t erase(uint64_t begin, uint64_t end);
  void clear() { pieces_.clear(); }

  bool covers(uint64_t begin, uint64_t end) const;
  bool any(uint64_t begin, uint64_t end) const;
  const Pieces& pieces() const { return pieces_; }

  // The longest stretch without data around [begin, end), given that [begin, end) has none, within [low, high).
  void gap_around(uint64_t low, uint64_t high, uint64_t* begin, uint64_t* end) const;

  // Calls visit(begin, end, piece or nullptr) for the consecutive parts of [begin, end); nullptr: unknown.
  template <typename Visitor>
  void visit(uint64_t begin, uint64_t end, Visitor&& visit_part) const {
    auto piece = pieces_.upper_bound(begin);
    if (piece != pieces_.begin() && std::prev(piece)->second.end > begin) --piece;
    while (begin < end) {
      if (piece == pieces_.end() || piece->first >= end)
        return visit_part(begin, end, static_cast<const Piece*>(nullptr));
      if (piece->first > begin) {
        visit_part(begin, piece->first, static_cast<const Piece*>(nullptr));
        begin = piece->first;
      }
      const uint64_t part_end = piece->second.end < end ? piece->second.end : end;
      visit_part(begin, part_end, &piece->second);
      begin = part_end;
      ++piece;
    }
  }

 private:
  Pieces pieces_;
};

}  // namespace maya::device
