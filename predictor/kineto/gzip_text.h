// The text of a file that may be gzip-compressed, as an input iterator over characters.
#pragma once

#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace maya::predictor::kineto {

class GzipText {
 public:
  explicit GzipText(const std::string& path);
  ~GzipText();
  GzipText(const GzipText&) = delete;
  GzipText& operator=(const GzipText&) = delete;

  bool is_open() const { return file_ != nullptr; }
  // The first thing that went wrong while reading; empty when all was well.
  const std::string& error() const { return error_; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    explicit Iterator(GzipText* text = nullptr) : text_(text) {}
    reference operator*() const { return text_->buffer_[text_->at_]; }
    Iterator& operator++() {
      ++text_->at_;
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const { return ended() == other.ended(); }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    bool ended() const { return text_ == nullptr || (text_->at_ == text_->size_ && !text_->fill()); }
    GzipText* text_;
  };
  Iterator begin() { return Iterator(this); }
  Iterator end() { return Iterator(); }

 private:
  bool fill();  // false at the end
  void* file_ = nullptr;
  std::vector<char> buffer_;
  size_t at_ = 0;
  size_t size_ = 0;
  std::string error_;
};

}  // namespace maya::predictor::kineto
