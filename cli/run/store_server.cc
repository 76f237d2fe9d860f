#include "cli/run/store_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "cli/run/store_request.h"

namespace maya::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct Client {
  int socket = -1;
  std::string input;
  std::string output;
  std::vector<std::string> awaited;  // keys of a wait that is not answered yet
  std::string barrier;               // key of a barrier that is not passed yet
};

template <typename T>
void append_number(std::string* out, T value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void append_text(std::string* out, const std::string& text) {
  append_number<uint64_t>(out, text.size());
  out->append(text);
}

int64_t number_in(const std::string& text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

class Server final : public StoreServer {
 public:
  explicit Server(Absent absent) : absent_(std::move(absent)) {}
  ~Server() override {
    if (thread_.joinable()) {
      const uint64_t one = 1;
      if (write(stop_, &one, sizeof one) == sizeof one) thread_.join();
    }
    for (const Client& client : clients_) close(client.socket);
    if (listener_ >= 0) close(listener_);
    if (stop_ >= 0) close(stop_);
  }

  bool open(std::string* error) {
    stop_ = eventfd(0, EFD_CLOEXEC);
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    if (stop_ < 0 || listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener_, SOMAXCONN) != 0 ||
        getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
      *error = strerror(errno);
      return false;
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
    return true;
  }

  uint16_t port() const override { return port_; }
  StoreValues values() const override {
    std::lock_guard<std::mutex> lock(mutex_);
    return values_;
  }

 private:
  void serve() {
    std::vector<pollfd> polled;
    for (;;) {
      polled.assign({{stop_, POLLIN, 0}, {listener_, POLLIN, 0}});
      bool waiting = false;
      for (const Client& client : clients_) {
        polled.push_back({client.socket, static_cast<short>(client.output.empty() ? POLLIN : POLLIN | POLLOUT), 0});
        waiting = waiting || !client.awaited.empty();
      }
      const bool answers = waiting && absent_ != nullptr;
      if (poll(polled.data(), polled.size(), answers ? 10 : -1) < 0 && errno != EINTR) return;
      if (polled[0].revents != 0) return;
      for (size_t i = 2; i < polled.size(); ++i)
        if (polled[i].revents != 0) talk(clients_[i - 2]);
      std::erase_if(clients_, [](const Client& client) { return client.socket < 0; });
      if (polled[1].revents != 0) greet();
      if (answers && Clock::now() - last_request_ >= kGrace) answer_absent();
      for (Client& client : clients_) flush(client);
    }
  }

  void greet() {
    const int made = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (made < 0) return;
    const int one = 1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    clients_.emplace_back().socket = made;
  }

  static void hang_up(Client& client) {
    close(client.socket);
    client.socket = -1;
  }

  void talk(Client& client) {
    char buffer[1 << 16];
    const ssize_t got = recv(client.socket, buffer, sizeof buffer, 0);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) return hang_up(client);
    if (got < 0) return;
    client.input.append(buffer, static_cast<size_t>(got));
    size_t at = 0;
    StoreRequest request;
    for (size_t used = 0; at < client.input.size(); at += used) {
      const Parse parsed = parse_store_request(std::string_view(client.input).substr(at), &request, &used);
      if (parsed == Parse::kInvalid) return hang_up(client);
      if (parsed == Parse::kIncomplete) break;
      last_request_ = Clock::now();
      std::lock_guard<std::mutex> lock(mutex_);
      carry_out(client, request);
    }
    client.input.erase(0, at);
  }

  static void flush(Client& client) {
    while (client.socket >= 0 && !client.output.empty()) {
      const ssize_t sent = send(client.socket, client.output.data(), client.output.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EINTR) {
        if (errno != EAGAIN) hang_up(client);
        return;
      }
      if (sent > 0) client.output.erase(0, static_cast<size_t>(sent));
    }
  }

  bool there(const std::string& key) const {
    const auto queue = queues_.find(key);
    return values_.count(key) != 0 || (queue != queues_.end() && !queue->second.empty());
  }
  bool all_there(const std::vector<std::string>& keys) const {
    return std::all_of(keys.begin(), keys.end(), [this](const std::string& key) { return there(key); });
  }

  void put(const std::string& key, std::string value) {
    values_[key] = std::move(value);
    wake();
  }

  void wake() {
    for (Client& client : clients_) {
      if (!client.awaited.empty() && all_there(client.awaited)) {
        client.awaited.clear();
        append_number<uint8_t>(&client.output, 0);
      }
    }
  }

  void answer_absent() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::set<std::string> missing;
    for (const Client& client : clients_)
      for (const std::string& key : client.awaited)
        if (!there(key)) missing.insert(key);
    for (const std::string& key : missing)
      if (std::optional<std::string> value = absent_(key, values_)) values_[key] = std::move(*value);
    last_request_ = Clock::now();
    wake();
  }

  void carry_out(Client& client, const StoreRequest& request) {
    std::string* out = &client.output;
    const std::string& key = request.keys.empty() ? empty_ : request.keys[0];
    switch (request.query) {
      case StoreQuery::kValidate:
        return;
      case StoreQuery::kPing:
        return append_number(out, static_cast<uint32_t>(request.number));
      case StoreQuery::kSet:
        return put(key, request.values[0]);
      case StoreQuery::kSetMany:
        for (size_t i = 0; i < request.keys.size(); ++i) values_[request.keys[i]] = request.values[i];
        return wake();
      case StoreQuery::kAppend:
        return put(key, value_of(key) + request.values[0]);
      case StoreQuery::kCompareSet:
        return compare_set(out, key, request.values[0], request.values[1]);
      case StoreQuery::kGet:
        return append_text(out, value_of(key));
      case StoreQuery::kGetMany:
        for (const std::string& one : request.keys) append_text(out, value_of(one));
        return;
      case StoreQuery::kAdd: {
        const int64_t sum = number_in(value_of(key)) + request.number;
        put(key, std::to_string(sum));
        return append_number(out, sum);
      }
      case StoreQuery::kCheck:
        return append_number<uint8_t>(out, all_there(request.keys) ? 0 : 1);
      case StoreQuery::kWait:
        client.awaited = request.keys;
        return wait_ends_now(client);
      case StoreQuery::kCancelWait:
        client.awaited.clear();
        client.barrier.clear();
        return append_number<uint8_t>(out, 1);
      case StoreQuery::kNumberOfKeys:
        return append_number(out, static_cast<int64_t>(values_.size()));
      case StoreQuery::kDelete:
        return append_number(out, static_cast<int64_t>(values_.erase(key)));
      case StoreQuery::kQueuePush:
        queues_[key].push_back(request.values[0]);
        return wake();
      case StoreQuery::kQueuePop:
        return pop(out, queues_[key]);
      case StoreQuery::kQueueLength:
        return append_number(out, static_cast<int64_t>(queues_[key].size()));
      case StoreQuery::kListKeys:
        append_number<uint64_t>(out, values_.size());
        for (const auto& [name, value] : values_) append_text(out, name);
        return;
      case StoreQuery::kBarrier:
        client.barrier = key;
        return pass_barrier(key, absent_ != nullptr ? 1 : request.number);
    }
  }

  static void pop(std::string* out, std::deque<std::string>& queue) {
    append_number<int64_t>(out, queue.empty() ? 0 : 1);
    if (queue.empty()) return;
    append_text(out, queue.front());
    queue.pop_front();
  }

  void pass_barrier(const std::string& key, int64_t needed) {
    const auto arrived =
        std::count_if(clients_.begin(), clients_.end(), [&key](const Client& client) { return client.barrier == key; });
    if (arrived < needed) return;
    for (Client& client : clients_) {
      if (client.barrier != key) continue;
      client.barrier.clear();
      append_number<uint8_t>(&client.output, 0);
    }
  }

  void wait_ends_now(Client& client) {
    if (!all_there(client.awaited)) return;
    client.awaited.clear();
    append_number<uint8_t>(&client.output, 0);
  }

  // A missing key is made only when nothing was expected; the answer is the value afterwards, or what was expected of a
  // missing key.
  void compare_set(std::string* out, const std::string& key, const std::string& expected, const std::string& desired) {
    const auto found = values_.find(key);
    if (found == values_.end() ? expected.empty() : found->second == expected) {
      put(key, desired);
      return append_text(out, desired);
    }
    append_text(out, found == values_.end() ? expected : found->second);
  }

  std::string value_of(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }

  const Absent absent_;
  const std::string empty_;
  int listener_ = -1, stop_ = -1;
  uint16_t port_ = 0;
  std::thread thread_;
  std::vector<Client> clients_;  // of the thread alone
  Clock::time_point last_request_ = Clock::now();
  mutable std::mutex mutex_;
  StoreValues values_;
  std::map<std::string, std::deque<std::string>> queues_;
};

}  // namespace

std::unique_ptr<StoreServer> StoreServer::start(Absent absent, std::string* error) {
  auto server = std::make_unique<Server>(std::move(absent));
  if (!server->open(error)) return nullptr;
  return server;
}

}  // namespace maya::cli
