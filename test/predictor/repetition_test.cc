// The unit that repeats, found in sequences written out as letters: one token a letter, O and P are optimizer work.
#include "predictor/repetition.h"
#include "predictor/closing_repetition.h"

#include <catch2/catch.hpp>
#include <string>

using namespace maya::predictor;

namespace {

std::vector<Token> tokens(const std::string& text) {
  std::vector<Token> list;
  for (const char c : text) list.push_back({static_cast<uint64_t>(c), static_cast<uint64_t>(c), c == 'O' || c == 'P'});
  return list;
}

std::string times(int count, const std::string& text) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

// A model of `layers` layers: forward, backward; the layers repeat inside a step.
std::string model(int layers) { return "e" + times(layers, "abcd") + "hl" + "LH" + times(layers, "DdCBbA") + "E"; }

}  // namespace

TEST_CASE("equal steps after initial copies") {
  const std::string step = model(12) + "OP";
  const std::string init = "xyzxyxxyzz";
  const Repetition r = find_repetition(tokens(init + times(5, step)));
  CHECK(r.period == step.size());
  REQUIRE(r.units.size() == 5);
  CHECK(r.units.front().begin == init.size());
  CHECK(r.units.back().begin == init.size() + 4 * step.size());
  CHECK(r.units.back().end == init.size() + 5 * step.size());
}

TEST_CASE("three steps, the first of which also makes optimizer state") {
  const std::string step = model(12) + "OP";
  const std::string init = times(12, "xyz");
  const std::string first = model(12) + times(60, "ff") + "OP";
  const Repetition r = find_repetition(tokens(init + first + step + step));
  CHECK(r.period == step.size());
  REQUIRE(r.units.size() == 3);
  CHECK(r.units[0].begin == init.size());
  CHECK(r.units[1].begin == init.size() + first.size());
  CHECK(r.units[2].begin == init.size() + first.size() + step.size());
}

TEST_CASE("three steps of a deep model without recognised optimizer work") {
  const std::string step = model(48) + "uvwuvwuvw";
  const std::string first = model(48) + times(20, "ff") + "uvwuvwuvw";
  const Repetition r = find_repetition(tokens(times(40, "x") + first + step + step));
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 3);
}

TEST_CASE("two steps, the first of which also makes optimizer state") {
  const std::string step = model(12) + "OP";
  const std::string first = model(12) + times(30, "f") + "OP";
  const Repetition r = find_repetition(tokens("xxyyz" + first + step));
  REQUIRE(r.units.size() == 2);
  CHECK(r.units[0].begin == 5);
  CHECK(r.units[1].begin == 5 + first.size());
  CHECK(r.units.back().end == 5 + first.size() + step.size());
}

TEST_CASE("gradient accumulation: micro-batches are not steps") {
  const std::string step = times(8, model(6)) + "OP";
  const Repetition r = find_repetition(tokens(times(4, step)));
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 4);
}

TEST_CASE("logging every few steps does not make a step of ten") {
  const std::string step = model(12) + "OP";
  const Repetition r = find_repetition(tokens(times(3, times(10, step) + "qrs")));
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 30);
}

TEST_CASE("inference: the layers of a model are not steps") {
  const std::string step = "et" + times(24, "abcdmn") + "hls";
  const Repetition r = find_repetition(tokens(times(6, step)));
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 6);
}

TEST_CASE("a very deep model: the layers explain more tokens than three steps do") {
  // Initial copies that repeat as well, no recognised optimizer work.
  const std::string step = "xe" + times(800, "abcd") + "l" + "L" + times(800, "BCDEFG") + "uvw";
  const std::string first = "xe" + times(800, "abcd") + "l" + "L" + times(800, "BCDEFG") + times(640, "ijkmn") + "uvw";
  const Repetition three = find_repetition(tokens(times(800, "rst") + first + step + step));
  CHECK(three.period == step.size());
  CHECK(three.units.size() == 3);
  const Repetition two = find_repetition(tokens(times(800, "rst") + first + step));
  REQUIRE(two.units.size() == 2);
  CHECK(two.units[1].begin == 2400 + first.size());
  CHECK(two.units[1].end == 2400 + first.size() + step.size());
}

TEST_CASE("operations whose shape depends on the data do not break a step") {
  const std::string step = model(12) + "rstuOP", first = model(12) + "rstu" + times(50, "f") + "OP";
  std::vector<Token> list = tokens("xyz" + first + step + step);
  size_t changed = 0;
  for (Token& token : list)
    if (token.name >= 'r' && token.name <= 'u') token.hash = 1000 + ++changed;
  REQUIRE(changed == 12);
  const Repetition r = find_repetition(list);
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 3);
}

TEST_CASE("epochs with validation: the step is the training step") {
  const std::string step = model(6) + "OP";
  const std::string validation = times(5, "e" + times(6, "abcd") + "h");
  const Repetition r = find_repetition(tokens("xyz" + times(4, times(10, step) + validation)));
  CHECK(r.period == step.size());
  CHECK(r.units.size() == 40);
  for (const Unit& unit : r.units) CHECK(unit.end - unit.begin == step.size());
}

TEST_CASE("a tail that is no whole step is left out") {
  const std::string step = model(12) + "OP";
  const Repetition r = find_repetition(tokens(times(4, step) + "qqq"));
  CHECK(r.units.size() == 4);
  CHECK(r.units.back().end == 4 * step.size());
}

TEST_CASE("nothing repeats, one token, none") {
  CHECK(find_repetition(tokens("abcdefghijklmnopqrstuvwxyz")).period == 0);
  CHECK(find_repetition(tokens("a")).period == 0);
  CHECK(find_repetition({}).period == 0);
}

TEST_CASE("very short steps") {
  const Repetition r = find_repetition(tokens(times(10, "abO")));
  CHECK(r.period == 3);
  CHECK(r.units.size() == 10);
}

TEST_CASE("one operation over and over is one operation a step") {
  const Repetition r = find_repetition(tokens(times(10, "a")));
  CHECK(r.period == 1);
}

TEST_CASE("half a million tokens take well under a second") {
  const std::string step = times(50, model(60)) + "OP";
  const std::vector<Token> list = tokens(times(18, step));
  CHECK(list.size() > 500'000);
  const Repetition r = find_repetition(list);
  CHECK(r.period == step.size());
}

TEST_CASE("a regular end counts however much came before: kernels that are tuned, then three steps") {
  std::vector<maya::predictor::Token> tokens;
  for (int kernel = 0; kernel < 40; ++kernel)
    for (int i = 0; i < 200; ++i) tokens.push_back({1000u + static_cast<uint64_t>(kernel), 0, false});
  const size_t tuned = tokens.size();
  for (int step = 0; step < 3; ++step)
    for (uint64_t i = 0; i < 20; ++i) tokens.push_back({i, 0, i >= 17 && i < 19});
  tokens.push_back({5000, 0, false});  // the loss, read once more at the end
  const maya::predictor::Repetition found = maya::predictor::closing_repetition(tokens);
  CHECK(found.period == 20);
  REQUIRE(found.units.size() == 4);
  CHECK(found.units[0].begin == 0);
  CHECK(found.units[0].end == tuned);
  CHECK(found.units[3].begin == tuned + 40);
  CHECK(found.units[3].end == tuned + 60);
}

TEST_CASE("an end without repetition, or one without the optimizer, is none") {
  std::vector<maya::predictor::Token> tokens;
  for (uint64_t i = 0; i < 100; ++i) tokens.push_back({i, 0, i == 50});
  CHECK(maya::predictor::closing_repetition(tokens).period == 0);
  for (int i = 0; i < 30; ++i) tokens.push_back({7, 0, false});
  CHECK(maya::predictor::closing_repetition(tokens).period == 0);
  CHECK(maya::predictor::closing_repetition({}).period == 0);
}
