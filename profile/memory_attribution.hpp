// MemoryAttribution: whose bytes they are. Every allocation of one rank's thread is booked to the scope and phase that
// made it, until it is freed; at the moment of the peak the books say who held what.
//
//   ScopeTracker tracker;  MemoryAttribution memory(tracker);
//   { MemoryAttribution::Scope attached(memory);  ... step ... }
//   memory.at_peak();   // bytes by (scope, phase)
//
// What lives before it is attached (inputs, parameters) does not count, nor does its release. Bytes are those of the
// CPU allocator, the same that comm::MemoryMeter counts: the two cannot be attached at once.
#pragma once
#include <c10/util/ThreadLocalDebugInfo.h>

#include <cstdint>
#include <map>
#include <memory>

#include "profile/scope_tracker.hpp"

namespace cpize::profile {

using BytesByPlace = std::map<Place, std::int64_t>;

struct PlaceBytes {
  std::int64_t allocated = 0;     // all allocations together, freed or not
  std::int64_t largest = 0;       // the largest single one
  std::int64_t wide = 0;          // allocations in a wider dtype than the run's (mark_wide)
  std::int64_t largest_wide = 0;  // the largest of them
};

class MemoryAttribution {
 public:
  explicit MemoryAttribution(const ScopeTracker& tracker);
  ~MemoryAttribution();

  class Scope {
   public:
    explicit Scope(const MemoryAttribution& memory);

   private:
    c10::DebugInfoGuard guard_;
  };

  std::int64_t peak_bytes() const;
  /// Live bytes at the moment of the peak; places with none are left out. They add up to peak_bytes().
  BytesByPlace at_peak() const;
  /// Live bytes now.
  BytesByPlace now() const;
  std::map<Place, PlaceBytes> totals() const;
  /// The most that a scope's own allocations of all phases held at one time, by path: over everything, and in forward.
  std::map<std::string, std::int64_t> own_peak() const;
  std::map<std::string, std::int64_t> own_peak_in_forward() const;

  /// The live allocation at this address holds a wider dtype than the run's: counted once, where it was made.
  void mark_wide(const void* address);

 private:
  struct Books;
  std::shared_ptr<Books> books_;
};

}  // namespace cpize::profile
