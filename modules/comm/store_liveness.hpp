// StoreLiveness: who is alive, who failed and who is done, over the store where the processes met. For backends whose
// collectives cannot say it themselves (NCCL).
//
// A background thread gives a sign of life twice a second and looks at those of the others. A rank that is silent for
// `silence` (killed, stopped, or its machine is gone) counts as failed. The first cause is written into the store, so
// all name the same one.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "comm/process_store.hpp"

namespace cpize::comm {

class StoreLiveness {
 public:
  StoreLiveness(const ProcessStore& met, int rank, int size, std::chrono::milliseconds silence);
  /// Stops giving signs of life.
  ~StoreLiveness();

  /// As in ProcessBackend.
  std::string failure();
  std::string fail(const std::string& cause) noexcept;
  void linger(std::chrono::milliseconds at_most) noexcept;
  void leave(std::chrono::milliseconds timeout);

 private:
  struct Sign {
    std::int64_t count = -1;
    std::chrono::steady_clock::time_point seen;
  };

  void run();
  void give_sign(std::int64_t count);
  std::int64_t sign_of(int rank);
  bool has(const std::string& key);
  void put(const std::string& key, const std::string& text);
  std::string publish(const std::string& cause);  // returns the first one
  void look_at_others();

  const int rank_, size_;
  const std::chrono::milliseconds silence_;
  const ProcessStore met_;  // of a FileStore: signs are files of their own beside it, since a FileStore only grows
  std::mutex store_mutex_;
  std::vector<Sign> signs_;
  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::string first_cause_;
  std::thread thread_;
};

}  // namespace cpize::comm
