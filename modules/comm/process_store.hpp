// ProcessStore: where processes that no MPI connects find each other: a file, or a TCP port of the first rank.
//
//   CPIZE_RENDEZVOUS=<file>          a file that does not exist yet, on a folder all ranks see (c10d::FileStore)
//   MASTER_ADDR, MASTER_PORT         as torchrun sets them (c10d::TCPStore; rank 0 serves unless torchrun's agent does)
#pragma once
#include <torch/csrc/distributed/c10d/Store.hpp>

#include <chrono>
#include <functional>
#include <string>

#include "mesh/launch_environment.hpp"

namespace cpize::comm {

struct ProcessStore {
  c10::intrusive_ptr<c10d::Store> store;
  std::string file;  // of a FileStore, else empty
  std::string text;  // "file x", "127.0.0.1:29500"

  void put(const std::string& key, const std::string& value) const;
  /// Puts it unless there is a value already; returns what is there.
  std::string put_first(const std::string& key, const std::string& value) const;
  /// Waits until there is one.
  std::string get(const std::string& key) const;
};

/// Opens the store and waits until every rank has called its name. ConfigError where nothing says where the store is;
/// PeerError within `timeout` that lists the ranks that are absent, and the launch line.
ProcessStore join_store(const LaunchEnvironment& launch, std::chrono::milliseconds timeout);

/// Of a process on its own, which meets nobody.
ProcessStore lone_store();

}  // namespace cpize::comm
