// maya-train as a command: from a folder of CSV files to a table that maya-estimate uses, and its exit statuses.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "test/training/scratch_folder.h"

using maya::training::ScratchFolder;

namespace {

struct Result {
  int status = -1;
  std::string output;  // standard output and standard error
};

Result run(const std::string& command_line) {
  const char* bin = std::getenv("MAYA_BIN_PATH");
  REQUIRE(bin != nullptr);
  FILE* pipe = popen((std::string(bin) + "/" + command_line + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  Result result;
  char buffer[4096];
  while (size_t count = fread(buffer, 1, sizeof(buffer), pipe)) result.output.append(buffer, count);
  result.status = WEXITSTATUS(pclose(pipe));
  return result;
}

// Softmax over `rows` x 4096 in 32-bit floats: one read and one write at 80 % of 3.352 TB/s, after 2.5 us.
std::string softmax_rows() {
  std::string csv = "operation,rows,columns,dtype,time_us\n";
  for (int rows = 64; rows <= 65536; rows += rows / 8)
    csv += "softmax," + std::to_string(rows) + ",4096,float32," +
           std::to_string(2.5 + 2.0 * rows * 4096 * 4 / (0.8 * 3.352e12) * 1e6) + "\n";
  return csv;
}

bool one_line(const std::string& text) { return !text.empty() && text.find('\n') == text.size() - 1; }

}  // namespace

TEST_CASE("Measurements become a table that estimates use") {
  const ScratchFolder folder;
  folder.write("data/softmax.csv", softmax_rows());
  const std::string table = folder.path() + "/own.table";
  const Result trained =
      run("maya-train --device h100-sxm --no-borrow --quiet --data " + folder.path() + "/data --out " + table);
  INFO(trained.output);
  REQUIRE(trained.status == 0);
  CHECK(trained.output.find("softmax") != std::string::npos);
  folder.write("shapes.csv", "operation,rows,columns,dtype\nsoftmax,64,4096,float32\nsoftmax,10000,4096,float32\n");
  const Result estimated = run("maya-estimate --device h100-sxm --family softmax --table " + table + " --input " +
                               folder.path() + "/shapes.csv");
  INFO(estimated.output);
  REQUIRE(estimated.status == 0);
  CHECK(estimated.output.find("float32,3.282,") != std::string::npos);  // 2.5 + 2 MiB / 2.68 TB/s: measured
  CHECK(estimated.output.find(",measured\n") != std::string::npos);
  const size_t second = estimated.output.find("softmax,10000,4096,float32,");
  REQUIRE(second != std::string::npos);
  const double us = std::stod(estimated.output.substr(second + std::string("softmax,10000,4096,float32,").size()));
  CHECK(us == Approx(2.5 + 2.0 * 10000 * 4096 * 4 / (0.8 * 3.352e12) * 1e6).epsilon(0.03));
}

TEST_CASE("Wrong use and wrong input end in one line and a documented status") {
  const ScratchFolder folder;
  const std::string train = "maya-train --quiet --no-borrow --device h100-sxm ";
  folder.write("good/softmax.csv", softmax_rows());
  folder.write("columns/softmax.csv", "operation,rows,dtype,time_us\nsoftmax,1,float32,3\n");
  folder.write(
      "units/softmax.csv",
      "operation,rows,columns,dtype,time_us\nsoftmax,65536,4096,float32,0.0008\nsoftmax,32768,4096,float32,0.0004\n");
  folder.write("few/softmax.csv",
               "operation,rows,columns,dtype,time_us\nsoftmax,64,4096,float32,5\nsoftmax,128,4096,float32,nan\n");
  const struct {
    std::string arguments;
    int status;
    const char* names;
  } cases[] = {
      {"maya-train --device h100-sxm", 2, "--data"},
      {"maya-train --device h900 --data " + folder.path(), 2, "h900"},
      {train + "--data /nonexistent", 3, "/nonexistent"},
      {train + "--data " + folder.path() + "/columns", 3, "columns"},
      {train + "--data " + folder.path() + "/units", 3, "time_us"},
      {train + "--data " + folder.path() + "/good --out /nonexistent/x.table", 4, "/nonexistent/x.table"},
      {train + "--data " + folder.path() + "/good --parameters /nonexistent", 3, "/nonexistent"},
      {train + "--from-traces /etc/passwd", 3, "/etc/passwd"},
  };
  for (const auto& one : cases) {
    const Result result = run(one.arguments);
    INFO(one.arguments << "\n" << result.output);
    CHECK(result.status == one.status);
    CHECK(result.output.find(one.names) != std::string::npos);
    if (one.status != 4) CHECK(one_line(result.output));
  }
  const Result few = run(train + "--data " + folder.path() + "/few");
  CHECK(few.output.find("softmax: 1 rows, at least 4 are needed") != std::string::npos);
}

// All-gather of L40S cards over PCIe at a made-up 5 us plus bytes over 4 GB/s.
TEST_CASE("Timings of collectives become a table that estimates use") {
  const ScratchFolder folder;
  std::string csv = "device,operation,bytes,ranks,time_us\n";
  for (int shift = 9; shift < 29; ++shift)
    csv += "l40s,all_gather," + std::to_string(1 << shift) + ",4," + std::to_string(5 + (1 << shift) / 4e3) + "\n";
  folder.write("data/collective.csv", csv);
  const std::string table = folder.path() + "/collectives.txt";
  const Result trained = run("maya-train --collectives --data " + folder.path() + "/data --out " + table);
  INFO(trained.output);
  REQUIRE(trained.status == 0);
  CHECK(trained.output.find("l40s-pcie") != std::string::npos);
  folder.write("shapes.csv", "operation,bytes,ranks\nall_gather,4194304,4\nall_gather,6000000,4\n");
  const Result estimated = run("maya-estimate --device l40s --family collective --collectives " + table + " --input " +
                               folder.path() + "/shapes.csv");
  INFO(estimated.output);
  REQUIRE(estimated.status == 0);
  CHECK(estimated.output.find("4194304,4,1053.58") != std::string::npos);  // 5 + 4 MiB / 4 GB/s = 1053.576 us
  CHECK(estimated.output.find(",measured\n") != std::string::npos);
  CHECK(estimated.output.find("6000000,4,15") != std::string::npos);  // 1505 us
  CHECK(estimated.output.find(",interpolated\n") != std::string::npos);
}

TEST_CASE("Collectives that cannot be learned from end in one line") {
  const ScratchFolder folder;
  const std::string empty = folder.write("data/collective.csv", "device,operation,bytes,ranks,time_us\n");
  const Result none = run("maya-train --collectives --data " + empty);
  CHECK(none.status == 3);
  CHECK(none.output == "maya-train: no timings of collectives that a model can learn from\n");
  CHECK(run("maya-train --collectives").status == 2);
  CHECK(run("maya-train --data " + empty).output == "maya-train: no device; give --device, or --collectives\n");
  const std::string damaged = folder.write("collectives.txt", "collectives 1\nnonsense\n");
  const std::string shapes = folder.write("shapes.csv", "operation,bytes,ranks\nall_gather,1,4\n");
  const Result refused = run("maya-estimate --family collective --collectives " + damaged + " --input " + shapes);
  CHECK(refused.status == 3);
  CHECK(one_line(refused.output));
  CHECK(refused.output.find("line 2: expected fabric") != std::string::npos);
}
