// Table files: what is written is read back, what is damaged is refused, and an estimator follows what a table says.
#include "predictor/core/table.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "predictor/core/estimator.h"
#include "predictor/core/forest.h"
#include "predictor/core/limits.h"
#include "predictor/core/operation_columns.h"
#include "predictor/training/model.h"

using namespace maya;
using namespace maya::training;

namespace {

const device::DeviceProfile& h100() { return *device::find_builtin_profile("h100-sxm"); }

// One split: feature 2 (depth) below 1000 gives `small`, otherwise `large`.
FittedForest one_split(float small, float large) {
  FittedForest forest;
  forest.trees = {{0, 1}};
  forest.nodes = {{1000.0f, 2, 1}, {small, 0, 1}, {large, 0, 2}};
  return forest;
}

FittedModel model_of(Family family, TypeClass type) {
  FittedModel model;
  model.head.family = static_cast<uint16_t>(family);
  model.head.type_class = static_cast<uint8_t>(type);
  model.head.kind = static_cast<uint8_t>(kind_of(family));
  std::strcpy(model.head.origin, "h100-sxm");
  std::fill_n(model.head.least, 4, 1.0f);
  std::fill_n(model.head.most, 4, 65536.0f);
  return model;
}

// Products: twice the bound below a depth of 1000, one and a half times from there; one shape on the grid, at 3 times.
FittedTable products() {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kGemm, TypeClass::kHalf);
  model.forest = one_split(std::log(2.0f), std::log(1.5f));
  model.intervals = {{3e38f, 0.9f, 1.2f, 100}};
  model.axis[0] = {4096, 8192};
  model.axis[1] = {4096};
  model.axis[2] = {4096};
  model.grid = {std::log(3.0f), std::nanf("")};
  model.grid_spread = {21, 0};
  table.models.push_back(model);
  return table;
}

struct Opened {
  std::vector<uint64_t> words;
  size_t size = 0;
  Table table;
  std::string error;
  bool ok = false;

  explicit Opened(const std::string& bytes) : words((bytes.size() + 7) / 8 + 1), size(bytes.size()) {
    std::memcpy(words.data(), bytes.data(), bytes.size());
    ok = open_table(words.data(), size, &table, &error);
  }
};

Work product(int64_t rows, int64_t columns, int64_t depth, bool transpose_a = true) {
  return work_of(gemm_record(rows, columns, depth, DataType::kBfloat16, transpose_a));
}

// From 2 us on, at a share of the memory bandwidth.
StreamingLine line_of(Operator op, float share) {
  StreamingLine line{};
  line.op = static_cast<uint16_t>(op);
  line.floor_ns = 2000;
  line.share = share;
  line.least_bytes = 1e3f;
  line.most_bytes = 1e12f;
  line.low = 0.8f;
  line.high = 1.3f;
  return line;
}

void base_on(FittedModel* model, std::vector<StreamingLine> lines) {
  model->lines = std::move(lines);
  model->head.based_on_lines = 1;
  std::fill_n(model->head.most, 4, 3e38f);
  std::fill_n(model->head.least, 4, 0.0f);
}

}  // namespace

TEST_CASE("A forest adds the leaf of each tree") {
  FittedForest two = one_split(1, 10);
  // The second tree: feature 0 below 5 -> (feature 1 below 7 -> 100, else 200), else 300.
  two.trees.push_back({3, 2});
  const TreeNode nodes[] = {{5, 0, 1}, {7, 1, 3}, {300, 0, 2}, {100, 0, 3}, {200, 0, 4}};
  two.nodes.insert(two.nodes.end(), std::begin(nodes), std::end(nodes));
  const Forest forest{two.trees, two.nodes};
  const auto at = [&](float a, float b, float c) {
    const float features[kMostFeatures] = {a, b, c};
    return evaluate(forest, features);
  };
  CHECK(at(4, 6, 999) == 101);
  CHECK(at(4, 7, 1000) == 210);  // a value at the threshold goes on to the larger side
  CHECK(at(5, 6, 0) == 301);
  CHECK(at(std::numeric_limits<float>::quiet_NaN(), 0, std::numeric_limits<float>::infinity()) == 110);
  // Many trees, walked eight at a time and one by one, give the same.
  FittedForest many;
  for (int i = 0; i < 19; ++i) {
    const FittedForest tree = one_split(1, 2);
    many.trees.push_back({static_cast<uint32_t>(many.nodes.size()), 1});
    many.nodes.insert(many.nodes.end(), tree.nodes.begin(), tree.nodes.end());
  }
  const float features[kMostFeatures] = {0, 0, 1000};
  CHECK(evaluate({many.trees, many.nodes}, features) == 38);
}

TEST_CASE("A forest of trees of any shape gives what single walks give, to the bit, in every way that it is walked") {
  std::mt19937 random(11);
  const auto number = [&] { return static_cast<float>(random() % 1000) / 7; };
  constexpr float kOdd[] = {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(), -0.0f};
  // Whole and broken vectors of 16 trees, one turn of 160 and several.
  for (const int trees : {0, 1, 7, 8, 15, 16, 17, 61, 159, 160, 161, 290, 321, 400}) {
    FittedForest forest;
    for (int i = 0; i < trees; ++i) {
      const auto first = static_cast<uint32_t>(forest.nodes.size());
      // Breadth first, as they are written: a node splits or stays a leaf.
      std::vector<TreeNode> nodes = {{}};
      std::vector<uint32_t> depth = {0};
      for (uint32_t at = 0; at < nodes.size(); ++at) {
        const float value = number();
        if (depth[at] == 9 || random() % 4 == 0) {
          nodes[at] = {value, static_cast<uint16_t>(random() % kMostFeatures), static_cast<uint16_t>(at)};
          continue;
        }
        nodes[at] = {value, static_cast<uint16_t>(random() % kMostFeatures), static_cast<uint16_t>(nodes.size())};
        for (int child = 0; child < 2; ++child) {
          nodes.push_back({});
          depth.push_back(depth[at] + 1);
        }
      }
      forest.trees.push_back({first, depth.back()});
      forest.nodes.insert(forest.nodes.end(), nodes.begin(), nodes.end());
    }
    const Forest view{forest.trees, forest.nodes};
    for (int i = 0; i < 100; ++i) {
      float features[kMostFeatures] = {};
      for (float& feature : features) feature = random() % 50 == 0 ? kOdd[random() % 4] : number();
      float sum = 0;
      for (const Tree& tree : forest.trees) {
        const TreeNode* const nodes = forest.nodes.data() + tree.first_node;
        uint32_t at = 0;
        while (nodes[at].left != at)
          at = nodes[at].left + (features[nodes[at].feature] >= nodes[at].threshold ? 1u : 0u);
        sum += nodes[at].threshold;
      }
      REQUIRE(evaluate(view, features) == sum);
      REQUIRE(evaluate_one_by_one(view, features) == sum);
      REQUIRE(evaluate_side_by_side(view, features) == sum);
      if (has_quick_vectors()) REQUIRE(evaluate_in_vectors(view, features) == sum);
    }
  }
}

TEST_CASE("An estimator says how it knows") {
  const Opened opened(table_bytes(products()));
  REQUIRE(opened.ok);
  CHECK(opened.table.device() == "h100-sxm");
  const Estimator estimator(h100(), &opened.table);

  const Work on_grid = product(4096, 4096, 4096);
  const double bound = model::roofline_ns(h100(), on_grid);
  // 2 * 4096^3 operations at 989.4 TFLOP/s.
  CHECK(bound == Approx(2.0 * 4096 * 4096 * 4096 / 989.4e12 * 1e9));
  const Estimate measured = estimator.estimate(on_grid);
  CHECK(measured.median_ns == Approx(3 * bound));
  CHECK(measured.provenance == Provenance::kMeasured);
  CHECK(measured.high_ns == Approx(measured.median_ns * 1.1));  // the square root of a spread of 1.21
  CHECK(measured.low_ns == Approx(measured.median_ns / 1.1));

  const Work between = product(5000, 4096, 4096);
  const Estimate interpolated = estimator.estimate(between);
  CHECK(interpolated.median_ns == Approx(1.5 * model::roofline_ns(h100(), between)));
  CHECK(interpolated.provenance == Provenance::kInterpolated);
  CHECK(interpolated.low_ns == Approx(0.9 * interpolated.median_ns));
  CHECK(interpolated.high_ns == Approx(1.2 * interpolated.median_ns));

  CHECK(estimator.estimate(product(5000, 4096, 512)).median_ns ==
        Approx(2 * model::roofline_ns(h100(), product(5000, 4096, 512))));
  // Outside of what was measured, and in a layout that was not: wider intervals.
  for (const Work& work : {product(100000, 4096, 4096), product(4096, 4096, 4096, false)}) {
    const Estimate estimate = estimator.estimate(work);
    CHECK(estimate.provenance == Provenance::kExtrapolated);
    CHECK(estimate.high_ns / estimate.median_ns > 1.2);
  }
  // No model: analytic.
  const Work other = work_of(gemm_record(4096, 4096, 4096, DataType::kFloat64));
  CHECK(estimator.estimate(other).provenance == Provenance::kAnalytic);
  CHECK(estimator.estimate(other).median_ns == maya::estimate(h100(), other).median_ns);
}

TEST_CASE("No model beats the roofline") {
  FittedTable table = products();
  table.models[0].forest = one_split(std::log(0.5f), std::log(0.5f));
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Work work = product(8192, 4096, 4096);
  Derivation derivation;
  const Estimate estimate = Estimator(h100(), &opened.table).estimate(work, &derivation);
  CHECK(estimate.median_ns == Approx(model::roofline_ns(h100(), work)));
  CHECK(estimate.low_ns >= model::roofline_ns(h100(), work) * (1 - 1e-9));
  CHECK(derivation.bound_active);
}

TEST_CASE("What was measured on another device is an extrapolation") {
  FittedTable table = products();
  table.models[0].head.borrowed = 1;
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimate estimate = Estimator(h100(), &opened.table).estimate(product(4096, 4096, 4096));
  CHECK(estimate.provenance == Provenance::kExtrapolated);
  CHECK(estimate.median_ns == Approx(3 * model::roofline_ns(h100(), product(4096, 4096, 4096))));
}

TEST_CASE("At the power limit products slow down with the share of peak they reach") {
  FittedTable table = products();
  const auto parameter = [](const char* name, double value) {
    TableParameter result{};
    std::strcpy(result.name, name);
    result.value = value;
    return result;
  };
  table.parameters = {parameter("sustained.slope", 0.5), parameter("sustained.threshold", 0.4)};
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Work work = product(5000, 4096, 4096);  // 1.5 times the bound: two thirds of peak
  const double burst = Estimator(h100(), &opened.table).estimate(work).median_ns;
  const double sustained = Estimator(h100(), &opened.table, Clock::kSustained).estimate(work).median_ns;
  CHECK(sustained / burst == Approx(1 + 0.5 * (1 / 1.5 - 0.4)));
}

TEST_CASE("A lower power limit than that of the device whose products are borrowed slows down more, and earlier") {
  FittedTable table = products();
  const auto parameter = [](const char* name, double value) {
    TableParameter result{};
    std::strcpy(result.name, name);
    result.value = value;
    return result;
  };
  table.parameters = {parameter("sustained.slope", 0.26), parameter("sustained.threshold", 0.35)};
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  Work work;
  work.tensor_cores = true;
  work.type = DataType::kBfloat16;
  // 600 TFLOP/s, a share of 0.607 of the peak of 989 TFLOP/s that both parts have.
  work.flops = 600e12;
  const double at_700_watts = Estimator(h100(), &opened.table).sustained_factor(work, 1e9);
  CHECK(at_700_watts == Approx(1 + 0.26 * (600.0 / 989.4 - 0.35)).epsilon(0.001));
  // 500 W, of which 140 W are gone anyway: 360 W where 560 W were.
  const auto& limited = *device::find_builtin_profile("h100-sxm-96");
  const double at_500_watts = Estimator(limited, &opened.table).sustained_factor(work, 1e9);
  CHECK(at_500_watts == Approx(1 + 0.26 * 560 / 360 * (600.0 / 989.4 - 0.35 * 360 / 560)).epsilon(0.001));
}

TEST_CASE("Measured shapes of other families are found by their key") {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kSoftmax, TypeClass::kAny);
  base_on(&model, {line_of(Operator::kSoftmax, 0.5f)});
  const Work known = work_of(row_record(Family::kSoftmax, "softmax", 4096, 32000, DataType::kFloat32));
  TablePoint point{};
  point.key = point_key(known);
  point.time_ns = 777e3f;
  point.spread = 1;
  model.points = {point};
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(h100(), &opened.table);
  CHECK(estimator.estimate(known).median_ns == Approx(777e3));
  CHECK(estimator.estimate(known).provenance == Provenance::kMeasured);
  // One row more: on the line. One tensor read, one written, at half of 3.352 TB/s, after 2 us.
  const Work other = work_of(row_record(Family::kSoftmax, "softmax", 4097, 32000, DataType::kFloat32));
  CHECK(estimator.estimate(other).median_ns == Approx(2000 + 2.0 * 4097 * 32000 * 4 / (0.5 * 3.352e12) * 1e9));
  CHECK(estimator.estimate(other).provenance == Provenance::kInterpolated);
}

TEST_CASE("A line holds for the access pattern that it was measured in") {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kElementwise, TypeClass::kAny);
  StreamingLine broadcast = line_of(Operator::kMul, 0.4f);
  broadcast.pattern = static_cast<uint16_t>(AccessPattern::kBroadcast);
  base_on(&model, {line_of(Operator::kNone, 0.9f), broadcast});
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(h100(), &opened.table);
  // Of 3.352 TB/s, 12 bytes an element (see above), the floor taken off.
  const auto share = [&](const char* name, Implementation implementation) {
    constexpr int64_t kElements = 100'000'000;
    OperationRecord record = row_record(Family::kElementwise, name, 1, kElements, DataType::kFloat32);
    Work work = work_of(record);
    work.shape.set(Key::kImplementation, static_cast<int64_t>(implementation));
    return 12.0 * kElements / 3.352e12 * 1e9 / (estimator.estimate(work).median_ns - 2000);
  };
  CHECK(share("mul", Implementation::kBest) == Approx(0.9).epsilon(0.01));
  CHECK(share("mul", Implementation::kBroadcast) == Approx(0.4).epsilon(0.01));
  // Never measured: the common line, as much longer as the analytic model has it, which gives 0.65 and 0.85.
  CHECK(share("add", Implementation::kBroadcast) == Approx(0.9 * 0.65 / 0.85).epsilon(0.01));
}

TEST_CASE("Trees bend a line at sizes that were measured, not far beyond them") {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kElementwise, TypeClass::kAny);
  StreamingLine line = line_of(Operator::kMul, 0.5f);
  line.most_bytes = 40e6f;
  base_on(&model, {line});
  model.forest = one_split(std::log(3.0f), std::log(3.0f));
  model.intervals = {{3e38f, 0.9f, 1.2f, 100}};
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(h100(), &opened.table);
  // Two tensors of 4-byte numbers read, one written: 12 bytes an element, at half of 3.352 TB/s after 2 us.
  const auto ratio_to_line = [&](int64_t elements) {
    const Work work = work_of(row_record(Family::kElementwise, "mul", 1, elements, DataType::kFloat32));
    return estimator.estimate(work).median_ns / (2000 + 12.0 * static_cast<double>(elements) / (0.5 * 3.352e12) * 1e9);
  };
  CHECK(ratio_to_line(3'000'000) == Approx(3));    // 36 MB
  CHECK(ratio_to_line(12'000'000) == Approx(1));   // 144 MB
  CHECK(ratio_to_line(120'000'000) == Approx(1));  // 1.4 GB
}

TEST_CASE("Operators that were not measured are on the common line, which no tree bends") {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kElementwise, TypeClass::kAny);
  base_on(&model, {line_of(Operator::kNone, 0.9f), line_of(Operator::kMul, 0.5f)});
  model.forest = one_split(std::log(3.0f), std::log(3.0f));
  model.intervals = {{3e38f, 0.99f, 1.01f, 100}};
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(h100(), &opened.table);
  const auto estimate = [&](const char* name) {
    return estimator.estimate(work_of(row_record(Family::kElementwise, name, 1, 100'000'000, DataType::kFloat32)));
  };
  CHECK(estimate("mul").median_ns == Approx(3 * (2000 + 12e8 / (0.5 * 3.352e12) * 1e9)));
  CHECK(estimate("mul").provenance == Provenance::kInterpolated);
  // 8 bytes an element; the line's own interval (0.8 to 1.3), widened, not the trees'.
  const Estimate gelu = estimate("gelu");
  CHECK(gelu.median_ns == Approx(2000 + 8e8 / (0.9 * 3.352e12) * 1e9));
  CHECK(gelu.provenance == Provenance::kExtrapolated);
  CHECK(gelu.high_ns > 1.3 * gelu.median_ns);
}

TEST_CASE("Dropout's random numbers take time where they do not hide behind memory") {
  FittedTable table;
  table.device = "h100-sxm";
  FittedModel model = model_of(Family::kElementwise, TypeClass::kAny);
  base_on(&model, {line_of(Operator::kNone, 0.85f)});
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(h100(), &opened.table);
  constexpr double kElements = 1e9;
  const auto time_ns = [&](DataType type, const char* direction) {
    OperationRecord record = row_record(Family::kElementwise, "dropout", 1, static_cast<int64_t>(kElements), type);
    if (*direction == 'b') record.set(Key::kDirection, 1);
    return estimator.estimate(work_of(record)).median_ns;
  };
  // 40 instructions of each element, 32 elements at once, 132 multiprocessors that start 4 in a cycle, 60 % of that.
  const double random_ns = kElements * 40 / 32 / (132 * 4 * 0.6 * h100().clock_khz * 1e3) * 1e9;
  const auto memory_ns = [](double bytes) { return kElements * bytes / (0.85 * 3.352e12) * 1e9; };
  const auto together = [](double a, double b) { return std::cbrt(a * a * a + b * b * b); };
  CHECK(time_ns(DataType::kFloat16, "forward") == Approx(together(memory_ns(5), random_ns)).epsilon(0.01));
  CHECK(time_ns(DataType::kFloat32, "forward") == Approx(together(memory_ns(9), random_ns)).epsilon(0.01));
  CHECK(time_ns(DataType::kFloat16, "backward") == Approx(memory_ns(5)).epsilon(0.01));
}

TEST_CASE("Memory-bound work of another device: caches of another size, and faster memory makes nothing slower") {
  const auto& a100 = *device::find_builtin_profile("a100-sxm-80");
  const auto& l40s = *device::find_builtin_profile("l40s");
  const auto& h200 = *device::find_builtin_profile("h200-sxm");
  const auto time_ns = [](const char* origin, const device::DeviceProfile& target, double fitted, int64_t elements) {
    FittedTable table;
    table.device = target.name;
    FittedModel model = model_of(Family::kElementwise, TypeClass::kAny);
    std::strcpy(model.head.origin, origin);
    model.head.borrowed = std::string(origin) != target.name;
    StreamingLine line = line_of(Operator::kAdd, 0.9f);
    line.floor_ns = 1;
    base_on(&model, {line});
    table.models.push_back(model);
    TableParameter parameter{};
    std::strcpy(parameter.name, "streaming.borrowed");
    parameter.value = fitted;
    table.parameters = {parameter};
    const Opened opened(table_bytes(table));
    REQUIRE(opened.ok);
    const Work work = work_of(row_record(Family::kElementwise, "add", 1, elements, DataType::kBfloat16));
    return Estimator(target, &opened.table).estimate(work).median_ns;
  };
  // 15.5 MB, 0.154 of the L40S's cache and 0.369 of the A100's, which serve 0.998 and 0.914 of it.
  constexpr int64_t kSmall = 840 * 3072;
  const auto relief = [](const device::DeviceProfile& profile, double served) {
    return 1 - served * (1 - profile.memory_bandwidth * 0.9 / (profile.l2_bandwidth * 0.7));
  };
  const double slower = a100.memory_bandwidth / l40s.memory_bandwidth;
  CHECK(time_ns("a100-sxm-80", l40s, 1, kSmall) / time_ns("a100-sxm-80", a100, 1, kSmall) ==
        Approx(slower * relief(l40s, 0.998) / relief(a100, 0.914)).epsilon(0.01));
  // 6 GB: the memories alone.
  CHECK(time_ns("a100-sxm-80", l40s, 1, 1 << 30) / time_ns("a100-sxm-80", a100, 1, 1 << 30) ==
        Approx(slower).epsilon(0.01));
  // H200's memory is 1.43 times H100's: a fitted factor of 1.2 counts, 2 does not make it slower than H100.
  const double faster = h200.memory_bandwidth / h100().memory_bandwidth;
  const double alone = time_ns("h100-sxm", h100(), 1, 1 << 30);
  CHECK(time_ns("h100-sxm", h200, 1.2, 1 << 30) == Approx(alone * 1.2 / faster).epsilon(0.001));
  CHECK(time_ns("h100-sxm", h200, 2, 1 << 30) == Approx(alone).epsilon(0.001));
}

TEST_CASE("Attention kernels that no table has take the charted multiple of FlashAttention-2") {
  FittedTable table;
  table.device = "a100-sxm-80";
  FittedModel model = model_of(Family::kAttention, TypeClass::kHalf);
  model.forest = one_split(std::log(2.0f), std::log(2.0f));
  model.intervals = {{3e38f, 0.9f, 1.2f, 100}};
  table.models.push_back(model);
  const Opened opened(table_bytes(table));
  REQUIRE(opened.ok);
  const Estimator estimator(*device::find_builtin_profile("a100-sxm-80"), &opened.table);
  const auto estimate = [&](Implementation implementation) {
    OperationRecord record(Family::kAttention, "");
    record.set(Key::kBatch, 8)
        .set(Key::kHeads, 16)
        .set(Key::kSeqQ, 2048)
        .set(Key::kSeqKv, 2048)
        .set(Key::kHeadDim, 128);
    record.set(Key::kDataType, static_cast<int64_t>(DataType::kFloat16)).set(Key::kCausal, 1);
    record.set(Key::kImplementation, static_cast<int64_t>(implementation));
    return estimator.estimate(work_of(record));
  };
  const Estimate flash = estimate(Implementation::kFlashAttention2);
  const Estimate fused = estimate(Implementation::kMemoryEfficient);
  // FlashAttention's chart of the A100, causal, head dimension 128, 2,048 keys: 155 and 82 TFLOP/s.
  CHECK(fused.median_ns / flash.median_ns == Approx(155.0 / 82).epsilon(0.05));
  CHECK(fused.high_ns / fused.median_ns == Approx(flash.high_ns / flash.median_ns));
  CHECK(fused.provenance == Provenance::kExtrapolated);
}

TEST_CASE("A damaged table is refused, whatever byte it is") {
  const std::string good = table_bytes(products());
  REQUIRE(Opened(good).ok);
  for (size_t at = 0; at < good.size(); ++at) {
    // The name of the device, the only bytes that neither the checksum nor a check covers.
    if (at >= offsetof(TableHeader, device) && at < offsetof(TableHeader, device) + 32) continue;
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x41);
    const Opened opened(bad);
    INFO("byte " << at);
    CHECK_FALSE(opened.ok);
    CHECK_FALSE(opened.error.empty());
  }
  for (size_t size = 0; size < good.size(); size += 7) CHECK_FALSE(Opened(good.substr(0, size)).ok);
}

TEST_CASE("A table with a right checksum and wrong indices is refused") {
  const auto refused = [](const FittedTable& table) { return !Opened(table_bytes(table)).ok; };
  FittedTable table = products();
  table.models[0].forest.nodes[0].left = 2;  // the larger side would be node 3 of 3
  CHECK(refused(table));
  table = products();
  table.models[0].forest.nodes[0].feature = 200;
  CHECK(refused(table));
  table = products();
  table.models[0].forest.trees[0].first_node = 3;
  CHECK(refused(table));
  table = products();
  table.models[0].grid.pop_back();
  CHECK(refused(table));
  table = products();
  table.models[0].axis[0] = {8192, 4096};
  CHECK(refused(table));
  table = products();
  table.models[0].intervals[0].low = std::nanf("");
  CHECK(refused(table));
  table = products();
  table.models[0].intervals[0].high = 0.5f;
  CHECK(refused(table));
  table = products();
  table.models[0].grid[0] = std::numeric_limits<float>::infinity();
  CHECK(refused(table));
  table = products();
  table.models[0].head.kind = 200;
  CHECK(refused(table));
}

TEST_CASE("A newer table says what to do") {
  std::string bytes = table_bytes(products());
  const uint32_t version = kTableVersion + 1;
  std::memcpy(bytes.data() + offsetof(TableHeader, version), &version, sizeof version);
  const Opened opened(bytes);
  CHECK_FALSE(opened.ok);
  CHECK(opened.error.find("version " + std::to_string(version)) != std::string::npos);
  CHECK(opened.error.find("maya-train") != std::string::npos);
}

TEST_CASE("A field that was taken out can be set again") {
  OperationRecord record(Family::kSoftmax, "");
  record.set(Key::kRows, 3).set(Key::kDirection, 1).set(Key::kColumns, 5);
  record.clear(Key::kDirection);
  CHECK(record.get(Key::kDirection) == 0);
  CHECK(record.get(Key::kColumns) == 5);
  CHECK(record.set(Key::kDirection, 2).get(Key::kDirection) == 2);
}
