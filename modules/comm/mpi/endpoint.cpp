#include "comm/mpi/endpoint.hpp"

#include <algorithm>
#include <limits>

#include "error/error.hpp"

namespace cpize::comm::mpi {
void Endpoint::check(int status, const char* what) const {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw PeerError("rank " + std::to_string(rank_) + ": " + what + " failed: " + std::string(text, length));
}

Endpoint::Endpoint(std::size_t largest_message) : largest_message_(largest_message) {
  if (largest_message < 4096 || largest_message > std::numeric_limits<int>::max())
    throw ConfigError("messages of at most " + std::to_string(largest_message) +
                      " bytes: it must be 4096 to 2147483647");
  int initialised = 0, level = MPI_THREAD_SINGLE;
  check(MPI_Initialized(&initialised), "MPI_Initialized");
  if (initialised) throw ConfigError("MPI is initialised already; a process joins one world, once");
  check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
  if (level < MPI_THREAD_SERIALIZED)
    throw ConfigError("this MPI allows calls from one thread only (level " + std::to_string(level) +
                      "); the autograd engine needs MPI_THREAD_SERIALIZED at least");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(communicator_, &rank_), "MPI_Comm_rank");
  check(MPI_Comm_size(communicator_, &size_), "MPI_Comm_size");
}

Endpoint::Endpoint(const Endpoint& other)
    : largest_message_(other.largest_message_), rank_(other.rank_), size_(other.size_) {
  int level = MPI_THREAD_SINGLE;
  check(MPI_Query_thread(&level), "MPI_Query_thread");
  if (level < MPI_THREAD_MULTIPLE) throw ConfigError("a second communicator needs an MPI with MPI_THREAD_MULTIPLE");
  check(MPI_Comm_dup(other.communicator_, &communicator_), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void Endpoint::send(int to, int tag, const void* data, std::size_t bytes, Requests& requests) {
  const char* at = static_cast<const char*>(data);
  for (std::size_t sent = 0; sent < bytes; sent += largest_message_) {
    const auto piece = static_cast<int>(std::min(largest_message_, bytes - sent));
    requests.push_back(MPI_REQUEST_NULL);
    check(MPI_Isend(at + sent, piece, MPI_BYTE, to, tag, communicator_, &requests.back()), "MPI_Isend");
  }
}

void Endpoint::receive(int from, int tag, void* data, std::size_t bytes, Requests& requests) {
  char* at = static_cast<char*>(data);
  for (std::size_t got = 0; got < bytes; got += largest_message_) {
    const auto piece = static_cast<int>(std::min(largest_message_, bytes - got));
    requests.push_back(MPI_REQUEST_NULL);
    check(MPI_Irecv(at + got, piece, MPI_BYTE, from, tag, communicator_, &requests.back()), "MPI_Irecv");
  }
}

void Endpoint::receive_any(int tag, void* data, std::size_t bytes, MPI_Request& request) {
  check(MPI_Irecv(data, static_cast<int>(bytes), MPI_BYTE, MPI_ANY_SOURCE, tag, communicator_, &request), "MPI_Irecv");
}

bool Endpoint::done(Requests& requests) {
  if (requests.empty()) return true;
  int all = 0;
  check(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &all, MPI_STATUSES_IGNORE), "a message");
  if (all) requests.clear();
  return all != 0;
}

bool Endpoint::done(MPI_Request& request) {
  int one = 0;
  check(MPI_Test(&request, &one, MPI_STATUS_IGNORE), "a message");
  return one != 0;
}

bool Endpoint::one_machine() const {
  MPI_Comm here = MPI_COMM_NULL;
  int ranks_here = 0;
  check(MPI_Comm_split_type(communicator_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here), "MPI_Comm_split_type");
  check(MPI_Comm_size(here, &ranks_here), "MPI_Comm_size");
  check(MPI_Comm_free(&here), "MPI_Comm_free");
  return ranks_here == size_;
}

std::string Endpoint::from_rank_0(std::string text) const {
  auto length = static_cast<int>(text.size());
  check(MPI_Bcast(&length, 1, MPI_INT, 0, communicator_), "MPI_Bcast");
  text.resize(static_cast<std::size_t>(length));
  check(MPI_Bcast(text.data(), length, MPI_CHAR, 0, communicator_), "MPI_Bcast");
  return text;
}

void Endpoint::meet() const { check(MPI_Barrier(communicator_), "MPI_Barrier"); }

void Endpoint::finalize() {
  check(MPI_Comm_free(&communicator_), "MPI_Comm_free");
  check(MPI_Finalize(), "MPI_Finalize");
}

}  // namespace cpize::comm::mpi
