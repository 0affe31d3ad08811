#include "comm/run_ranks.hpp"

#include <ATen/Parallel.h>
#include <ATen/ThreadLocalState.h>

#include <thread>

#include "comm/threads_backend.hpp"
#include "error/error.hpp"

namespace cpize::comm {

std::vector<std::exception_ptr> run_ranks_collect(const MeshShape& shape, const std::function<void(const MeshPtr&)>& f,
                                                  const ThreadsOptions& options) {
  auto rendezvous = std::make_shared<Rendezvous>(shape.size(), options.timeout);
  std::vector<std::exception_ptr> failures(shape.size());
  const int caller_threads = at::get_num_threads();
  at::ThreadLocalState state;

  auto rank_main = [&](int rank) {
    at::ThreadLocalStateGuard carried(state);
    at::set_num_threads(1);
    try {
      f(c10::make_intrusive<DeviceMesh>(shape, c10::make_intrusive<ThreadsBackend>(rank, rendezvous), rank));
      rendezvous->leave(rank, "");
    } catch (const PeerError& e) {
      failures[rank] = std::current_exception();
      rendezvous->leave(rank, std::string("stopped: ") + e.what());
    } catch (const c10::Error& e) {
      failures[rank] = std::current_exception();
      rendezvous->leave(rank, e.what_without_backtrace());
    } catch (const std::exception& e) {
      failures[rank] = std::current_exception();
      rendezvous->leave(rank, e.what());
    } catch (...) {
      failures[rank] = std::current_exception();
      rendezvous->leave(rank, "threw something that is no std::exception");
    }
  };

  std::vector<std::thread> threads;
  threads.reserve(shape.size());
  for (int rank = 0; rank < shape.size(); ++rank) threads.emplace_back(rank_main, rank);
  for (auto& thread : threads) thread.join();
  at::set_num_threads(caller_threads);  // torch remembers the last value set anywhere for threads to come
  return failures;
}

void run_ranks(const MeshShape& shape, const std::function<void(const MeshPtr&)>& f, const ThreadsOptions& options) {
  const auto failures = run_ranks_collect(shape, f, options);
  std::exception_ptr second_hand;
  for (const auto& failure : failures) {
    if (!failure) continue;
    try {
      std::rethrow_exception(failure);
    } catch (const PeerError&) {
      if (!second_hand) second_hand = failure;
    }
  }
  if (second_hand) std::rethrow_exception(second_hand);
}

}  // namespace cpize::comm
