#include "predictor/training/report.h"

#include <algorithm>
#include <cstdio>

namespace maya::training {
namespace {

std::string rows_text(uint64_t rows) { return std::to_string(rows) + (rows == 1 ? " row" : " rows"); }

}  // namespace

void Report::read(const std::string& source, const std::string&, uint64_t rows, uint64_t used) {
  Source& entry = sources_[source];
  ++entry.files;
  entry.rows += rows;
  entry.used += used;
}

void Report::leave_out(const std::string& source, const std::string& reason, uint64_t rows) {
  if (rows > 0) left_out_[{source, reason}] += rows;
}

void Report::refuse(const std::string& file, const std::string& reason, const std::string& example) {
  Refused& entry = refused_[{file, reason}];
  if (entry.rows++ == 0) entry.example = example;
}

void Report::skip(const std::string& file, const std::string& reason) { skipped_.emplace_back(file, reason); }

void Report::note(const std::string& file, const std::string& what) { notes_.emplace_back(file, what); }

void Report::disagree(const std::string& source, double factor) {
  Source& entry = sources_[source];
  ++entry.disagreements;
  entry.largest_factor = std::max(entry.largest_factor, factor);
}

uint64_t Report::rows_used() const {
  uint64_t rows = 0;
  for (const auto& [name, source] : sources_) rows += source.used;
  return rows;
}

uint64_t Report::rows_refused() const {
  uint64_t rows = 0;
  for (const auto& [where, refused] : refused_) rows += refused.rows;
  return rows;
}

std::string Report::text() const {
  std::string text;
  for (const auto& [name, source] : sources_) {
    text += name + ":";
    if (source.files > 0)
      text += " " + std::to_string(source.used) + " of " + rows_text(source.rows) + " in " +
              std::to_string(source.files) + (source.files == 1 ? " file" : " files");
    if (source.files > 0 && source.disagreements > 0) text += ";";
    if (source.disagreements > 0) {
      char factor[32];
      std::snprintf(factor, sizeof(factor), "%.2f", source.largest_factor);
      text += " " + std::to_string(source.disagreements) +
              " operations measured more than once disagree, by up to a factor of " + factor + ": their median is used";
    }
    text += '\n';
  }
  for (const auto& [where, rows] : left_out_)
    text += where.first + ": left out " + rows_text(rows) + ": " + where.second + '\n';
  for (const auto& [where, refused] : refused_)
    text += where.first + ": refused " + rows_text(refused.rows) + ": " + where.second + ", first " + refused.example +
            '\n';
  for (const auto& [file, what] : notes_) text += file + ": " + what + '\n';
  for (const auto& [file, reason] : skipped_) text += file + ": skipped: " + reason + '\n';
  return text;
}

}  // namespace maya::training
