// Command lines of maya-run and maya-predict from hostile bytes: each is taken, or refused with a line that says
// something. Nothing is started, read or written. The first byte says which command; words end with a line feed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "cli/predict/options.h"
#include "cli/run/options.h"
#include "predictor/timeline.h"
#include "test/fuzz/input.h"

namespace {

using namespace maya;

std::vector<std::string> words_of(std::string text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    words.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

// False when the line was refused or asked for help.
bool parse(CLI::App& app, const std::vector<std::string>& words) {
  std::vector<const char*> arguments = {"command"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
    return true;
  } catch (const CLI::Success&) {
    if (app.help().empty()) std::abort();
  } catch (const CLI::ParseError& error) {
    if (std::string(error.what()).empty()) std::abort();
  }
  return false;
}

void require(bool kept, const char* what) {
  if (kept) return;
  std::fprintf(stderr, "fuzz_command_line: %s\n", what);
  std::abort();
}

void run_line(const std::vector<std::string>& words) {
  CLI::App app("", "maya-run");
  cli::RunOptions options;
  cli::add_run_options(app, &options);
  if (!parse(app, words) || !cli::check_run_options(app, &options).empty() || options.only_lists()) return;
  require(!options.program.empty(), "taken without a program");
  if (!options.world) return;
  require(options.world_size > 0 && options.gpus_per_node > 0 && options.world_size % options.gpus_per_node == 0,
          "ranks do not fill the nodes");
  require(options.jobs > 0, "no rank at a time");
  std::vector<int> ranks;
  if (options.ranks == "auto" || options.ranks == "all") return;
  require(cli::parse_ranks(options.ranks, options.world_size, &ranks) && !ranks.empty(), "no ranks");
  require(ranks.front() >= 0 && ranks.back() < options.world_size, "a rank outside the world");
}

void predict_line(const std::vector<std::string>& words) {
  CLI::App app("", "maya-predict");
  cli::PredictOptions options;
  cli::add_predict_options(app, &options);
  if (!parse(app, words) || !cli::check_predict_options(&options).empty() || options.list_clusters) return;
  require(!options.traces.empty(), "taken without a trace");
  require(options.prediction.host_scale >= 0 && options.prediction.host_scale <= 1000, "host scale");
  for (const predictor::KernelScale& scale : options.prediction.kernel_scales)
    require(scale.factor >= 0.001 && scale.factor <= 1000, "kernel scale");
  predictor::Prediction prediction;
  prediction.ranks.resize(1);
  prediction.ranks[0].ranks = {0};
  std::vector<size_t> chosen;
  const predictor::Failure failure = predictor::choose_ranks(prediction, options.timeline_ranks, &chosen);
  require(failure ? !failure.text.empty() : chosen.size() == 1, "ranks of the timeline");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  test::FuzzInput input(data, size);
  const bool run = input.byte() % 2 == 0;
  const std::vector<std::string> words = words_of(input.rest());
  // Words of a command line end with NUL.
  for (const std::string& word : words)
    if (word.find('\0') != std::string::npos) return 0;
  run ? run_line(words) : predict_line(words);
  return 0;
}
