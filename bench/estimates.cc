// Estimates a second on one core, by kind of operation, and the time to open a table. Side by side in one run: the
// analytic model, which knows no measurements.
//   bench/estimates [--device NAME]     tables as the commands find them (MAYA_TABLES)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "predictor/core/estimator.h"
#include "predictor/core/operation_columns.h"
#include "predictor/table_file.h"

namespace {

using maya::DataType;
using maya::Estimator;
using maya::Work;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Nanoseconds an estimate, each of the works in turn. Of every few works the fastest of some rounds counts, since
// machines are shared.
double ns_of(const Estimator& estimator, const std::vector<Work>& works) {
  constexpr size_t kFew = 50;
  constexpr int kRounds = 20;
  double sum = 0, seconds = 0;
  for (size_t first = 0; first < works.size(); first += kFew) {
    double best = 1e300;
    for (int round = 0; round < kRounds; ++round) {
      const double start = seconds_now();
      for (size_t i = first; i < std::min(first + kFew, works.size()); ++i)
        sum += estimator.estimate(works[i]).median_ns;
      best = std::min(best, seconds_now() - start);
    }
    seconds += best;
  }
  return sum > 0 ? seconds / static_cast<double>(works.size()) * 1e9 : 0;
}

std::vector<Work> products(std::initializer_list<int64_t> rows, bool exact) {
  std::mt19937 random(1);
  std::vector<Work> works;
  for (int repeat = 0; repeat < 20; ++repeat)
    for (int64_t m : rows)
      for (int64_t n : {768, 1024, 2048, 3072, 4096, 8192, 12288})
        for (int64_t k : {768, 1024, 2048, 4096, 8192}) {
          const int64_t shift = exact ? 0 : 8 * static_cast<int64_t>(random() % 30 + 1);
          works.push_back(work_of(maya::gemm_record(m + shift, n, k, DataType::kBfloat16)));
        }
  return works;
}

std::vector<Work> streams() {
  std::mt19937 random(2);
  std::vector<Work> works;
  for (int i = 0; i < 5000; ++i)
    works.push_back(work_of(maya::row_record(maya::Family::kElementwise, "add", 1 + random() % 65536,
                                             1 + random() % 8192, DataType::kFloat32)));
  return works;
}

}  // namespace

int main(int argc, char** argv) {
  const char* name = argc == 3 && std::strcmp(argv[1], "--device") == 0 ? argv[2] : "h100-sxm";
  const maya::device::DeviceProfile* profile = maya::device::find_builtin_profile(name);
  if (profile == nullptr || (argc != 1 && argc != 3)) {
    std::fprintf(stderr, "usage: estimates [--device NAME]\n");
    return 2;
  }
  std::unique_ptr<maya::predictor::TableFile> file;
  const double start = seconds_now();
  if (const auto failure = maya::predictor::shipped_table(name, &file); failure || file == nullptr) {
    std::fprintf(stderr, "no table of %s; set MAYA_TABLES\n", name);
    return 3;
  }
  std::printf("opening the table of %s, checksum included: %.2f ms\n", name, (seconds_now() - start) * 1e3);
  const Estimator learned(*profile, &file->table()), analytic(*profile);
  const struct {
    const char* what;
    std::vector<Work> works;
  } kinds[] = {{"products that were measured", products({512, 1024, 2048, 4096}, true)},
               {"products between measured ones", products({512, 1024, 2048, 4096}, false)},
               {"elementwise", streams()}};
  std::printf("%-32s %16s %16s %16s\n", "one core", "ns an estimate", "millions a second", "analytic: ns");
  for (const auto& kind : kinds) {
    const double ns = ns_of(learned, kind.works);
    std::printf("%-32s %16.0f %16.2f %16.0f\n", kind.what, ns, 1e3 / ns, ns_of(analytic, kind.works));
  }
  return 0;
}
