#include "predictor/training/csv.h"

#include <catch2/catch.hpp>
#include <fstream>

#include "test/training/scratch_folder.h"

namespace maya::training {
namespace {

using Rows = std::vector<std::vector<std::string>>;

// Rows of a table, the header first; an error as the only cell of the last row.
Rows rows_of(const std::string& path) {
  CsvReader csv;
  std::string error;
  if (!csv.open(path, &error)) return {{error}};
  Rows rows = {csv.header()};
  while (csv.next(&error)) {
    rows.emplace_back();
    for (size_t i = 0; i < csv.header().size(); ++i) rows.back().emplace_back(csv.cell(static_cast<int>(i)));
  }
  if (!error.empty()) rows.push_back({error});
  return rows;
}

Rows rows_of_text(std::string_view content, const char* name = "table.csv") {
  const ScratchFolder folder;
  Rows rows = rows_of(folder.write(name, content));
  for (std::vector<std::string>& row : rows)
    for (std::string& cell : row)
      if (cell.starts_with(folder.path())) cell.erase(0, folder.path().size() + 1);
  return rows;
}

TEST_CASE("Cells are split at commas and trimmed") {
  CHECK(rows_of_text("a,b\n1, 2 \n,\n") == Rows{{"a", "b"}, {"1", "2"}, {"", ""}});
}

TEST_CASE("Quoted cells hold commas, quotes and line breaks") {
  CHECK(rows_of_text("a,b\n\"1,\"\"x\"\"\",\"two\nlines\"\n") == Rows{{"a", "b"}, {"1,\"x\"", "two\nlines"}});
}

TEST_CASE("Line ends, byte order mark, blank lines and a missing last line end make no difference") {
  CHECK(rows_of_text("\xEF\xBB\xBF"
                     "a,b\r\n1,2\r\n\r\n3,4") == Rows{{"a", "b"}, {"1", "2"}, {"3", "4"}});
}

TEST_CASE("Compressed tables are read the same way") {
  CHECK(rows_of_text("a,b\n1,2\n", "table.csv.gz") == Rows{{"a", "b"}, {"1", "2"}});
}

TEST_CASE("A table cut off in its compressed data is an error") {
  const ScratchFolder folder;
  std::string content = "a,b\n";
  for (int i = 0; i < 20000; ++i) content += std::to_string(i * 7919) + "," + std::to_string(i * 104729) + "\n";
  const std::string path = folder.write("table.csv.gz", content);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  const Rows rows = rows_of(path);
  CHECK(rows.back().front().find("damaged: the compressed data cannot be read further") != std::string::npos);
}

TEST_CASE("Errors name the file and the line") {
  CHECK(rows_of_text("a,b\n1,2\n1,2,3\n").back().front() ==
        "table.csv: line 3: row of 3 cells: expected 2, as in the header");
  CHECK(rows_of_text("a,b\n1\n").back().front() == "table.csv: line 2: row of 1 cells: expected 2, as in the header");
  CHECK(rows_of_text("a,b\n\"x\ny\",2\n\"1,2\n").back().front() == "table.csv: line 4: a quoted cell is never closed");
  CHECK(rows_of_text("").back().front() == "table.csv: line 1: empty table: expected a header");
  CHECK(rows_of("/nowhere/table.csv").back().front() == "/nowhere/table.csv: cannot be read");
}

TEST_CASE("Numbers are whole cells") {
  const ScratchFolder folder;
  CsvReader csv;
  std::string error;
  REQUIRE(csv.open(folder.write("t.csv", "a,b,c,d,e\n128.0,1.5,-1,nan,7x\n"), &error));
  REQUIRE(csv.next(&error));
  int64_t whole = 0;
  CHECK(csv.whole(csv.column("a"), &whole));
  CHECK(whole == 128);
  CHECK_FALSE(csv.whole(csv.column("b"), &whole));
  CHECK_FALSE(csv.whole(csv.column("c"), &whole));
  CHECK_FALSE(csv.whole(csv.column("d"), &whole));
  CHECK_FALSE(csv.whole(csv.column("e"), &whole));
  CHECK_FALSE(csv.whole(csv.column("missing"), &whole));
  double number = 0;
  CHECK(csv.number(csv.column("b"), &number));
  CHECK(number == 1.5);
  CHECK_FALSE(csv.number(csv.column("e"), &number));
  CHECK(csv.at("wrong") == csv.path() + ": line 2: wrong");
}

}  // namespace
}  // namespace maya::training
