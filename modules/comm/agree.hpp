// agree: control decisions that every rank must take alike. Errors, flags, scalars, hashes; never activations.
//
// Every rank of the mesh calls these at the same place. They are collectives of a few hundred bytes.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mesh/device_mesh.hpp"

namespace cpize::comm {

/// Each rank contributes one number; every rank gets all of them, indexed by rank.
std::vector<std::int64_t> gather_numbers(const DeviceMesh& mesh, std::int64_t mine);

/// Ends everywhere or nowhere: if any rank brings a non-empty `error`, every rank throws. The failing rank should
/// rethrow its own error; peers throw PeerError with the lowest failing rank's number and (the start of) its message.
void agree_no_error(const DeviceMesh& mesh, const std::string& error);

/// Runs `local` (which must not communicate) and agrees on the outcome before anybody goes on.
void agree_after(const DeviceMesh& mesh, const std::function<void()>& local);

/// ContractError on every rank unless all ranks bring the same value; names the ranks that differ from rank 0.
void agree_equal(const DeviceMesh& mesh, const std::string& what, std::int64_t value);

/// Whether any rank says yes: the same answer everywhere. For decisions that change what follows (leave out a sample).
bool agree_any(const DeviceMesh& mesh, bool mine);

/// Error on every rank, naming `what` and the rank, unless the value is finite on all ranks.
void agree_finite(const DeviceMesh& mesh, const std::string& what, double value);

/// Every rank gets every rank's bytes, by rank. For reports and small results, not for activations: an all-reduce of
/// ranks times the longest.
std::vector<std::string> gather_bytes(const DeviceMesh& mesh, const std::string& mine);

}  // namespace cpize::comm
