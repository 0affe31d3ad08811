#include "comm/store_liveness.hpp"

#include <cstdio>
#include <fstream>

#include "error/error.hpp"

namespace cpize::comm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds interval{500};

std::string key_of(const char* what, int rank) { return std::string(what) + "/" + std::to_string(rank); }

}  // namespace

StoreLiveness::StoreLiveness(const ProcessStore& met, int rank, int size, std::chrono::milliseconds silence)
    : rank_(rank), size_(size), silence_(silence), met_{met.store->clone(), met.file, met.text}, signs_(size) {
  met_.store->setTimeout(silence);
  for (auto& sign : signs_) sign.seen = Clock::now();
  give_sign(0);
  if (size_ > 1) thread_ = std::thread([this] { run(); });
}

StoreLiveness::~StoreLiveness() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (!met_.file.empty()) std::remove((met_.file + ".alive." + std::to_string(rank_)).c_str());
}

bool StoreLiveness::has(const std::string& key) {
  std::lock_guard lock(store_mutex_);
  return met_.store->check({key});
}

void StoreLiveness::put(const std::string& key, const std::string& text) {
  std::lock_guard lock(store_mutex_);
  met_.put(key, text);
}

void StoreLiveness::give_sign(std::int64_t count) {
  if (met_.file.empty()) return put(key_of("alive", rank_), std::to_string(count));
  std::ofstream(met_.file + ".alive." + std::to_string(rank_), std::ios::trunc) << count << "\n";
}

std::int64_t StoreLiveness::sign_of(int rank) {
  std::string text;
  if (met_.file.empty()) {
    const std::string key = key_of("alive", rank);
    if (!has(key)) return -1;
    std::lock_guard lock(store_mutex_);
    text = met_.get(key);
  } else {
    std::ifstream(met_.file + ".alive." + std::to_string(rank)) >> text;
  }
  return text.empty() ? -1 : std::atoll(text.c_str());
}

std::string StoreLiveness::publish(const std::string& cause) {
  std::string first = cause;
  try {
    std::lock_guard lock(store_mutex_);
    first = met_.put_first("failed", cause);
  } catch (const std::exception&) {  // the store is gone with the rank that serves it
  }
  std::lock_guard lock(mutex_);
  if (first_cause_.empty()) first_cause_ = first.empty() ? cause : first;
  return first_cause_;
}

void StoreLiveness::look_at_others() {
  if (has("failed")) {
    std::string cause;
    {
      std::lock_guard lock(store_mutex_);
      cause = met_.get("failed");
    }
    publish(cause);
    return;
  }
  const auto now = Clock::now();
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    const std::int64_t count = sign_of(r);
    if (count != signs_[r].count) {
      signs_[r] = {count, now};
    } else if (now - signs_[r].seen > silence_ && !has(key_of("left", r))) {
      publish("rank " + std::to_string(r) + " gave no sign of life for " + std::to_string(silence_.count() / 1000) +
              " s: it was killed or stopped, or its machine is gone");
      return;
    }
  }
}

void StoreLiveness::run() {
  auto last = Clock::now();
  for (std::int64_t count = 1;; ++count) {
    {
      std::unique_lock lock(mutex_);
      if (stop_.wait_for(lock, interval, [this] { return stopping_; })) return;
      if (!first_cause_.empty()) continue;
    }
    try {
      give_sign(count);
      // a rank that was stopped itself and goes on must not think that all the others were silent
      if (Clock::now() - last > silence_ / 2)
        for (auto& sign : signs_) sign.seen = Clock::now();
      last = Clock::now();
      look_at_others();
    } catch (const std::exception& e) {
      publish(std::string("the store where the ranks met does not answer (its rank is gone or stopped): ") + e.what());
    }
  }
}

std::string StoreLiveness::failure() {
  std::lock_guard lock(mutex_);
  return first_cause_;
}

std::string StoreLiveness::fail(const std::string& cause) noexcept {
  try {
    if (const std::string known = failure(); !known.empty()) return known;
    return publish("rank " + std::to_string(rank_) + " failed: " + cause);
  } catch (const std::exception&) {
    return cause;
  }
}

void StoreLiveness::linger(std::chrono::milliseconds at_most) noexcept {
  const auto deadline = Clock::now() + at_most;
  try {
    put(key_of("over", rank_), "1");
    for (int r = 0; r < size_; ++r)
      while (r != rank_ && !has(key_of("over", r)) && !has(key_of("left", r))) {
        if (Clock::now() > deadline) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // the server of the store goes last
  } catch (const std::exception&) {
  }
}

void StoreLiveness::leave(std::chrono::milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  const auto all = [&](const char* what) {
    put(key_of(what, rank_), "1");
    for (int r = 0; r < size_; ++r)
      while (r != rank_ && !has(key_of(what, r))) {
        if (const std::string cause = failure(); !cause.empty()) throw PeerError(cause);
        if (Clock::now() > deadline)
          throw PeerError("rank " + std::to_string(rank_) + " is done and waits for rank " + std::to_string(r) +
                          ", which is not within " + std::to_string(timeout.count()) + " ms");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
  };
  if (size_ == 1) return;
  all("left");
  // The rank that serves the store must not go before the others have read it.
  put(key_of("gone", rank_), "1");
  if (rank_ == 0 && met_.file.empty()) {
    for (int r = 1; r < size_; ++r)
      while (!has(key_of("gone", r)) && Clock::now() < deadline)
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace cpize::comm
