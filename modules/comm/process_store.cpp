#include "comm/process_store.hpp"

#include <cstdlib>
#include <thread>
#include <torch/csrc/distributed/c10d/FileStore.hpp>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "error/error.hpp"

namespace cpize::comm {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<std::uint8_t> bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (const int r : ranks) text += (text.empty() ? "" : ", ") + std::to_string(r);
  return text;
}

std::string absent_text(const LaunchEnvironment& launch, const std::vector<int>& absent, const std::string& where,
                        std::chrono::milliseconds timeout) {
  return std::to_string(launch.world - static_cast<int>(absent.size())) + " of " + std::to_string(launch.world) +
         " ranks came to " + where + " within " + std::to_string(timeout.count() / 1000.0).substr(0, 5) +
         " s; absent: rank " + list_of(absent) + "; launch all " + std::to_string(launch.world) +
         " with: " + launch.line;
}

ProcessStore open_tcp(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  const std::string address = variable("MASTER_ADDR"), port = variable("MASTER_PORT");
  if (address.empty() || port.empty())
    throw ConfigError("nothing says where the " + std::to_string(launch.world) +
                      " ranks meet: set CPIZE_RENDEZVOUS to a file that does not exist yet, or MASTER_ADDR and "
                      "MASTER_PORT; launch with: " +
                      launch.line);
  c10d::TCPStoreOptions options;
  char* end = nullptr;
  const long number = std::strtol(port.c_str(), &end, 10);
  if (*end != '\0' || number < 1 || number > 65535)
    throw ConfigError("MASTER_PORT=" + port + " is no port; write a number from 1 to 65535");
  options.port = static_cast<std::uint16_t>(number);
  options.isServer = launch.rank == 0 && variable("TORCHELASTIC_USE_AGENT_STORE") != "True";
  options.waitWorkers = false;  // the roll call below waits, and knows who is absent
  options.timeout = timeout;
  ProcessStore opened;
  opened.text = address + ":" + port;
  try {
    opened.store = c10::make_intrusive<c10d::TCPStore>(address, options);
  } catch (const std::exception& e) {
    if (options.isServer)
      throw ConfigError("rank 0 cannot serve the store at " + opened.text +
                        " (is the port taken? choose another MASTER_PORT): " + e.what());
    throw PeerError(absent_text(launch, {0}, opened.text, timeout) + " (nobody serves the store there)");
  }
  return opened;
}

}  // namespace

ProcessStore lone_store() { return {c10::make_intrusive<c10d::HashStore>(), "", "this process"}; }

ProcessStore join_store(const LaunchEnvironment& launch, std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  ProcessStore opened;
  if (const std::string file = variable("CPIZE_RENDEZVOUS"); !file.empty()) {
    opened.store = c10::make_intrusive<c10d::FileStore>(file, launch.world);
    opened.file = file;
    opened.text = "file " + file;
  } else {
    opened = open_tcp(launch, timeout);
  }
  const auto prefixed = c10::make_intrusive<c10d::PrefixStore>("cpize", opened.store);
  const auto name = [](int rank) { return "here/" + std::to_string(rank); };
  prefixed->set(name(launch.rank), std::vector<std::uint8_t>{1});
  std::vector<int> absent;
  for (int r = 0; r < launch.world; ++r)
    if (r != launch.rank) absent.push_back(r);
  while (true) {
    try {
      std::erase_if(absent, [&](int r) { return prefixed->check({name(r)}); });
    } catch (const std::exception&) {  // whoever serves the store gave up first
      throw PeerError(absent_text(launch, absent, opened.text, timeout));
    }
    if (absent.empty()) break;
    if (Clock::now() > deadline) {
      if (opened.file.empty() && launch.rank == 0)  // the others, a little later, want to read the list as well
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
      throw PeerError(absent_text(launch, absent, opened.text, timeout));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  opened.store = prefixed;
  return opened;
}

void ProcessStore::put(const std::string& key, const std::string& value) const { store->set(key, bytes(value)); }

std::string ProcessStore::put_first(const std::string& key, const std::string& value) const {
  return text_of(store->compareSet(key, {}, bytes(value)));
}

std::string ProcessStore::get(const std::string& key) const { return text_of(store->get(key)); }

}  // namespace cpize::comm
