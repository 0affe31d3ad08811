// Endpoint: MPI as this library uses it. One private communicator, point-to-point messages of any length, one caller at
// a time.
#pragma once
#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace cpize::comm::mpi {

using Requests = std::vector<MPI_Request>;

/// Not thread-safe: the backend calls it under one mutex. Trouble inside MPI is a PeerError with MPI's own words.
class Endpoint {
 public:
  /// Initialises MPI (once a process) and duplicates the world.
  explicit Endpoint(std::size_t largest_message);
  /// Another communicator over the same ranks; a collective. Only the first endpoint is finalized.
  Endpoint(const Endpoint& other);

  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Start a message; longer ones travel in pieces. The memory must stay until done() says so.
  void send(int to, int tag, const void* data, std::size_t bytes, Requests& requests);
  void receive(int from, int tag, void* data, std::size_t bytes, Requests& requests);
  /// From anybody, one piece.
  void receive_any(int tag, void* data, std::size_t bytes, MPI_Request& request);

  /// Whether all have ended; forgets them then.
  bool done(Requests& requests);
  bool done(MPI_Request& request);

  /// Collectives: whether all ranks share their memory; the text that rank 0 has; waits for all ranks.
  bool one_machine() const;
  std::string from_rank_0(std::string text) const;
  void meet() const;

  /// Collective over the world; every message must have ended.
  void finalize();

 private:
  void check(int status, const char* what) const;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::size_t largest_message_;
  int rank_ = 0, size_ = 1;
};

}  // namespace cpize::comm::mpi
