#include "test/kineto/kineto_file.h"

#include <stdlib.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace maya::test {
namespace {

std::string event(const std::string& category, const std::string& name, const std::string& place, double ts, double dur,
                  const std::string& args) {
  char times[96];
  std::snprintf(times, sizeof times, "\"ts\": %.3f, \"dur\": %.3f", ts, dur);
  return "{\"ph\": \"X\", \"cat\": \"" + category + "\", \"name\": \"" + name + "\", " + place + ", " + times +
         ", \"args\": {" + args + "}}";
}

std::string on_host(int thread) { return "\"pid\": 100, \"tid\": " + std::to_string(thread); }

std::string on_device(int stream, int correlation) {
  return "\"device\": 0, \"context\": 1, \"stream\": " + std::to_string(stream) +
         ", \"correlation\": " + std::to_string(correlation);
}

}  // namespace

Folder::Folder() {
  path_ = (std::filesystem::temp_directory_path() / "maya-kineto-XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

Folder::~Folder() { std::filesystem::remove_all(path_); }

std::string Folder::write(const std::string& name, const std::string& text) const {
  std::ofstream(path(name), std::ios::binary) << text;
  return path(name);
}

std::string Folder::write_compressed(const std::string& name, const std::string& text) const {
  gzFile file = gzopen(path(name).c_str(), "wb");
  gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  return path(name);
}

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string call(const std::string& name, int thread, double ts, double dur, int correlation) {
  return event("cuda_runtime", name, on_host(thread), ts, dur,
               "\"cbid\": 1, \"correlation\": " + std::to_string(correlation));
}

std::string kernel(const std::string& name, int stream, double ts, double dur, int correlation,
                   const std::string& args) {
  std::string all = on_device(stream, correlation) + ", \"registers per thread\": 32, \"shared memory\": 0";
  if (args.find("\"grid\"") == std::string::npos) all += ", \"grid\": [8, 1, 1]";
  return event("kernel", name, "\"pid\": 0, \"tid\": 7", ts, dur, all + ", \"block\": [128, 1, 1]" + args);
}

std::string copy(const std::string& name, int stream, double ts, double dur, int correlation, long bytes) {
  return event("gpu_memcpy", name, "\"pid\": 0, \"tid\": 7", ts, dur,
               on_device(stream, correlation) + ", \"bytes\": " + std::to_string(bytes));
}

std::string op(const std::string& name, int thread, double ts, double dur, const std::string& args) {
  return event("cpu_op", name, on_host(thread), ts, dur, args);
}

std::string step(int number, int thread, double ts, double dur) {
  return event("user_annotation", "ProfilerStep#" + std::to_string(number), on_host(thread), ts, dur, "");
}

std::string file_of(const std::string& events) {
  return "{\"schemaVersion\": 1, \"deviceProperties\": [{\"id\": 0, \"name\": \"NVIDIA A100-SXM4-40GB\", \"numSms\": "
         "108}], "
         "\"distributedInfo\": {\"backend\": \"nccl\", \"rank\": 3, \"world_size\": 8}, \"traceEvents\": [" +
         events + "], \"traceName\": \"x\"}";
}

predictor::kineto::KinetoTrace read(const std::string& text) {
  const Folder folder;
  predictor::kineto::KinetoTrace trace;
  if (const auto failure = read_kineto(folder.write("trace.json", text), &trace))
    throw std::runtime_error(failure.text);
  return trace;
}

}  // namespace maya::test
