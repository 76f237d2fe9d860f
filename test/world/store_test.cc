// The store that ranks meet at, spoken to byte by byte. The requests are those that PyTorch 2.15's TCPStore client
// sends (recorded from it: validation with its magic number, ping, then requests).
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <string>

#include "cli/run/store_request.h"
#include "cli/run/store_server.h"
#include "cli/run/twin_store.h"

using namespace maya::cli;

namespace {

template <typename T>
std::string number(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}
std::string text(const std::string& value) { return number<uint64_t>(value.size()) + value; }
std::string query(int code) { return std::string(1, static_cast<char>(code)); }

class Client {
 public:
  explicit Client(uint16_t port) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    const timeval limit{5, 0};
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    send(query(0) + number<uint32_t>(0x3C85F7CE));
  }
  ~Client() { close(socket_); }

  void send(const std::string& bytes) {
    REQUIRE(::send(socket_, bytes.data(), bytes.size(), 0) == ssize_t(bytes.size()));
  }
  std::string receive(size_t bytes) {
    std::string answer(bytes, '?');
    size_t got = 0;
    while (got < bytes) {
      const ssize_t more = recv(socket_, answer.data() + got, bytes - got, 0);
      if (more <= 0) return "closed";
      got += static_cast<size_t>(more);
    }
    return answer;
  }

 private:
  int socket_;
};

}  // namespace

TEST_CASE("set, get, add, check, delete, append, many at once") {
  std::string error;
  const auto server = StoreServer::start(nullptr, &error);
  REQUIRE(server != nullptr);
  Client client(server->port());
  client.send(query(13) + number<uint32_t>(77));
  CHECK(client.receive(4) == number<uint32_t>(77));
  client.send(query(1) + text("a") + text("one") + query(3) + text("a"));
  CHECK(client.receive(11) == text("one"));
  client.send(query(4) + text("n") + number<int64_t>(3) + query(4) + text("n") + number<int64_t>(-5));
  CHECK(client.receive(16) == number<int64_t>(3) + number<int64_t>(-2));
  client.send(query(5) + number<uint64_t>(2) + text("a") + text("n"));
  CHECK(client.receive(1) == query(0));
  client.send(query(5) + number<uint64_t>(1) + text("z"));
  CHECK(client.receive(1) == query(1));
  client.send(query(9) + text("a") + text("!") + query(3) + text("a"));
  CHECK(client.receive(12) == text("one!"));
  client.send(query(11) + number<uint64_t>(2) + text("p") + text("1") + text("q") + text("2"));
  client.send(query(10) + number<uint64_t>(2) + text("p") + text("q"));
  CHECK(client.receive(18) == text("1") + text("2"));
  client.send(query(7));
  CHECK(client.receive(8) == number<int64_t>(4));
  client.send(query(8) + text("a") + query(8) + text("a"));
  CHECK(client.receive(16) == number<int64_t>(1) + number<int64_t>(0));
  client.send(query(14) + text("queue") + text("x") + query(16) + text("queue") + query(15) + text("queue") +
              query(15) + text("queue"));
  CHECK(client.receive(33) == number<int64_t>(1) + number<int64_t>(1) + text("x") + number<int64_t>(0));
}

TEST_CASE("compare and set: a key is made when nothing was expected, changed when its value was expected") {
  std::string error;
  const auto server = StoreServer::start(nullptr, &error);
  Client client(server->port());
  const auto compare = [&](const std::string& expected, const std::string& desired) {
    client.send(query(2) + text("k") + text(expected) + text(desired));
    return client.receive(9).substr(8);
  };
  CHECK(compare("x", "y") == "x");  // not there: the answer is what was expected
  CHECK(compare("", "1") == "1");
  CHECK(compare("1", "2") == "2");
  CHECK(compare("1", "3") == "2");
}

TEST_CASE("a wait ends when another client sets the key; a cancelled one is answered so") {
  std::string error;
  const auto server = StoreServer::start(nullptr, &error);
  Client waiting(server->port()), other(server->port());
  waiting.send(query(6) + number<uint64_t>(1) + text("late"));
  waiting.send(query(12));
  CHECK(waiting.receive(1) == query(1));
  waiting.send(query(6) + number<uint64_t>(1) + text("late"));
  other.send(query(1) + text("late") + text("v"));
  CHECK(waiting.receive(1) == query(0));
}

TEST_CASE("a barrier lets all through when as many clients have come") {
  std::string error;
  const auto server = StoreServer::start(nullptr, &error);
  Client one(server->port()), two(server->port());
  one.send(query(18) + text("b") + number<int64_t>(2));
  two.send(query(18) + text("b") + number<int64_t>(2));
  CHECK(one.receive(1) == query(0));
  CHECK(two.receive(1) == query(0));
}

TEST_CASE("nonsense closes the connection and nothing else") {
  std::string error;
  const auto server = StoreServer::start(nullptr, &error);
  Client good(server->port());
  for (const std::string& bad : {query(99), query(0) + number<uint32_t>(1), query(1) + number<uint64_t>(1ull << 60),
                                 query(6) + number<uint64_t>(1ull << 40)}) {
    Client client(server->port());
    client.send(bad);
    CHECK(client.receive(1) == "closed");
  }
  good.send(query(7));
  CHECK(good.receive(8) == number<int64_t>(0));
}

TEST_CASE("a rank that runs alone does not wait: its twin's value, or an id of the key's own") {
  std::string error;
  const auto server = StoreServer::start(twin_value, &error);
  Client client(server->port());
  client.send(query(1) + text("host/rank_0") + text("address") + query(6) + number<uint64_t>(1) + text("host/rank_17"));
  CHECK(client.receive(1) == query(0));
  client.send(query(3) + text("host/rank_17"));
  CHECK(client.receive(15) == text("address"));
  client.send(query(18) + text("b") + number<int64_t>(1024));
  CHECK(client.receive(1) == query(0));

  const StoreValues ids = {{"pg0/nccl_0", std::string(128, 'i')}};
  CHECK(twin_value("pg1/nccl_0", ids)->size() == 128);  // another group's communicator is not this one
  CHECK(twin_value("pg1/nccl_0", ids) != twin_value("pg2/nccl_0", ids));
  CHECK(twin_value("pg1/nccl_0", ids) == twin_value("pg1/nccl_0", {}));
}

TEST_CASE("requests arrive in pieces of any size") {
  const std::string bytes = query(11) + number<uint64_t>(1) + text("key") + text("value");
  for (size_t length = 0; length < bytes.size(); ++length) {
    StoreRequest request;
    size_t used = 0;
    CHECK(parse_store_request(bytes.substr(0, length), &request, &used) == Parse::kIncomplete);
  }
  StoreRequest request;
  size_t used = 0;
  REQUIRE(parse_store_request(bytes + "rest", &request, &used) == Parse::kDone);
  CHECK(used == bytes.size());
  CHECK(request.values == std::vector<std::string>{"value"});
}
