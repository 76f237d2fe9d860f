// A key-value store for PyTorch's rendezvous: speaks the protocol of its TCPStore (torch/csrc/distributed/c10d, public
// source of PyTorch 2.15) on the loopback interface, so that ranks find each other without rank 0 having to serve
// (environment variable TORCHELASTIC_USE_AGENT_STORE).
//
// Requests, little endian; a text or value is a u64 length and its bytes: u8 query, then
//   0 validate: u32 0x3C85F7CE                 1 set: key, value              2 compare-set: key, expected, desired ->
//   value 3 get: key -> value                        4 add: key, i64 -> i64         5 check: u64 n, n keys -> u8 (0 all
//   there, 1 not) 6 wait: u64 n, n keys -> u8 0 once there   7 number of keys -> i64        8 delete: key -> i64
//   deleted 9 append: key, value                      10 get many: u64 n, n keys -> n values
//  11 set many: u64 n, n x (key, value)       12 cancel wait -> u8 1         13 ping: u32 -> the same u32
//  14 queue push: key, value                  15 queue pop: key -> i64 1, value; i64 0 when empty      16 queue length:
//  key -> i64 17 list keys -> i64 n, n keys              18 barrier: key, i64 clients -> u8 0 once as many have come
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace maya::cli {

using StoreValues = std::map<std::string, std::string>;

class StoreServer {
 public:
  // Answers for keys that a client has waited for, for kGrace without any other request, while nobody has set them. No
  // value: the client waits on. Runs on the server's thread.
  using Absent = std::function<std::optional<std::string>(const std::string& key, const StoreValues& values)>;
  static constexpr std::chrono::milliseconds kGrace{50};

  // Serves on a free port of 127.0.0.1 until destroyed, on a thread of its own. Null, with the reason, when no socket
  // is to be had. Without `absent` waits last until somebody sets the key; with it barriers are passed at once.
  static std::unique_ptr<StoreServer> start(Absent absent, std::string* error);
  virtual ~StoreServer() = default;

  virtual uint16_t port() const = 0;
  // A copy of what is stored now.
  virtual StoreValues values() const = 0;
};

}  // namespace maya::cli
