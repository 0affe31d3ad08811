// Operation: one collective of this rank on its way, as a machine that is advanced until it is done.
//
// Envelopes first, to and from everybody. Data of this rank starts at once; data of a peer is received once its
// envelope has been compared, so a peer that does something else is an error and never a message of the wrong length.
// An all-reduce adds in rank order, so that every rank gets the same bits: small ones by everybody sending everything
// to everybody, large ones by parts (each rank reduces one part and hands it out). bf16 and half are added in fp32 and
// rounded once.
#pragma once
#include <optional>

#include "comm/envelope.hpp"
#include "comm/mpi/endpoint.hpp"

namespace cpize::comm::mpi {

class Operation {
 public:
  /// Sends this rank's part. Tensors on a GPU are copied to the host here.
  Operation(PostedOperation posted, std::uint64_t sequence, Endpoint& endpoint);

  /// Moves on as far as possible without waiting. Returns a mismatch, or "".
  std::string advance(Endpoint& endpoint);
  bool done() const { return done_; }
  /// After it is done: brings the result to where the caller wants it (a GPU). Call it without the backend's mutex.
  void deliver();

  bool arrived(int rank) const { return arrived_[static_cast<std::size_t>(rank)]; }
  /// Has not come, or its data has not.
  bool owes(int rank) const { return !arrived(rank) || !incoming_[static_cast<std::size_t>(rank)].empty(); }
  bool all_arrived() const;
  std::string str() const { return posted_.str(); }

 private:
  void prepare();
  void start(Endpoint& endpoint);
  void receive_from(int peer, Endpoint& endpoint);
  void reduce_part();
  int tag(int phase) const;
  at::Tensor part(const at::Tensor& flat, int rank) const;  // of a large all-reduce

  PostedOperation posted_;
  std::uint64_t sequence_;
  int rank_, size_;
  bool by_parts_ = false, handing_out_ = false, done_ = false;
  at::Tensor send_, receive_;        // on the host, contiguous, one-dimensional
  std::vector<at::Tensor> brought_;  // all-reduce: what each rank brought of my part
  std::vector<std::int64_t> send_at_, receive_at_;
  std::vector<Envelope> sent_, received_;
  std::vector<MPI_Request> envelopes_;
  std::vector<bool> arrived_;
  Requests outgoing_;
  std::vector<Requests> incoming_;  // by peer
};

}  // namespace cpize::comm::mpi
