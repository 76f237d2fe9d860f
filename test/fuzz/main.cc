// Drives a libFuzzer-style target (https://llvm.org/docs/LibFuzzer.html) with any compiler: replays files, then mutates
// them for as long as asked.
//
//   NAME_fuzz [--seconds N] [--seed S] FILE|FOLDER...
//
// The input at hand is kept in NAME_fuzz.current beside the working folder while mutating, so that a crash leaves it
// behind; add it to the corpus.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kMostInput_bytes = 1 << 20;

// A file as large as the largest input and its length, written by plain stores.
class CurrentInput {
 public:
  explicit CurrentInput(const std::string& path) : path_(path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (file < 0 || ftruncate(file, kFile_bytes) != 0) std::perror(path.c_str()), std::exit(2);
    memory_ = static_cast<uint8_t*>(mmap(nullptr, kFile_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
    if (memory_ == MAP_FAILED) std::perror(path.c_str()), std::exit(2);
  }
  ~CurrentInput() {
    munmap(memory_, kFile_bytes);
    unlink(path_.c_str());
  }
  CurrentInput(const CurrentInput&) = delete;
  CurrentInput& operator=(const CurrentInput&) = delete;
  void set(const Input& input) {
    const uint64_t size = input.size();
    std::memcpy(memory_ + kMostInput_bytes, &size, sizeof size);
    if (size > 0) std::memcpy(memory_, input.data(), size);
  }
  static Input unpacked(Input file) {
    uint64_t size = 0;
    if (file.size() != kFile_bytes) return file;
    std::memcpy(&size, file.data() + kMostInput_bytes, sizeof size);
    file.resize(std::min<uint64_t>(size, kMostInput_bytes));
    return file;
  }

 private:
  static constexpr size_t kFile_bytes = kMostInput_bytes + sizeof(uint64_t);
  std::string path_;
  uint8_t* memory_;
};

Input read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Input(std::istreambuf_iterator<char>(file), {});
}

void run(const Input& input) { LLVMFuzzerTestOneInput(input.data(), input.size()); }

// One to eight small changes: bits, bytes, numbers that parsers trip over, pieces removed, doubled or taken from
// another input.
Input mutated(Input input, const std::vector<Input>& corpus, std::mt19937_64* random) {
  const auto below = [&](size_t bound) { return bound == 0 ? 0 : static_cast<size_t>((*random)() % bound); };
  static constexpr uint8_t kNotable[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0a, 0x20};
  const size_t changes = 1 + below(8);
  for (size_t i = 0; i < changes; ++i) {
    const size_t at = below(input.size());
    const size_t length = input.empty() ? 0 : 1 + below(std::min<size_t>(64, input.size() - at));
    switch (below(7)) {
      case 0:
        if (!input.empty()) input[at] ^= static_cast<uint8_t>(1u << below(8));
        break;
      case 1:
        if (!input.empty()) input[at] = static_cast<uint8_t>((*random)());
        break;
      case 2:
        if (!input.empty()) input[at] = kNotable[below(std::size(kNotable))];
        break;
      case 3:
        input.erase(input.begin() + static_cast<ptrdiff_t>(at), input.begin() + static_cast<ptrdiff_t>(at + length));
        break;
      case 4: {
        const Input piece(input.begin() + static_cast<ptrdiff_t>(at),
                          input.begin() + static_cast<ptrdiff_t>(at + length));
        input.insert(input.begin() + static_cast<ptrdiff_t>(below(input.size() + 1)), piece.begin(), piece.end());
        break;
      }
      case 5:
        input.resize(at);
        break;
      case 6: {
        const Input& other = corpus[below(corpus.size())];
        const size_t from = below(other.size());
        const size_t count = std::min<size_t>(below(256), other.size() - from);
        input.insert(input.begin() + static_cast<ptrdiff_t>(at), other.begin() + static_cast<ptrdiff_t>(from),
                     other.begin() + static_cast<ptrdiff_t>(from + count));
        break;
      }
    }
  }
  if (input.size() > kMostInput_bytes) input.resize(kMostInput_bytes);
  return input;
}

}  // namespace

int main(int argc, char** argv) {
  double seconds = 0;
  uint64_t seed = 1;
  std::vector<Input> corpus;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--seconds" && i + 1 < argc) {
      seconds = std::atof(argv[++i]);
    } else if (argument == "--seed" && i + 1 < argc) {
      seed = std::strtoull(argv[++i], nullptr, 10);
    } else if (std::filesystem::is_directory(argument)) {
      for (const auto& entry : std::filesystem::recursive_directory_iterator(argument))
        if (entry.is_regular_file()) corpus.push_back(read_file(entry.path()));
    } else if (argument.ends_with(".current")) {
      corpus.push_back(CurrentInput::unpacked(read_file(argument)));
      std::ofstream(argument.substr(0, argument.size() - 8) + ".crash", std::ios::binary)
          .write(reinterpret_cast<const char*>(corpus.back().data()),
                 static_cast<std::streamsize>(corpus.back().size()));
    } else {
      corpus.push_back(read_file(argument));
    }
  }
  run({});
  for (const Input& input : corpus) run(input);
  std::printf("%zu inputs replayed\n", corpus.size());
  if (corpus.empty()) corpus.push_back({});

  if (seconds <= 0) return 0;
  CurrentInput current(std::filesystem::path(argv[0]).filename().string() + ".current");
  std::mt19937_64 random(seed);
  uint64_t runs = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    const Input input = mutated(corpus[random() % corpus.size()], corpus, &random);
    current.set(input);
    run(input);
  }
  std::printf("%llu mutated inputs\n", static_cast<unsigned long long>(runs));
  return 0;
}
