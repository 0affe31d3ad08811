// DeviceMesh: this rank's place in the mesh and the backend that connects it with the others.
//
// Rank identity is carried in this object, never in a thread-local: the autograd engine may run a node elsewhere.
// Nothing is initialised implicitly: whoever starts the ranks (comm::run_ranks, later a launcher) builds the mesh.
#pragma once
#include <torch/custom_class.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>

#include "mesh/mesh_shape.hpp"
#include "mesh/traffic.hpp"

namespace cpize {

class DeviceMesh : public torch::CustomClassHolder {
 public:
  /// `backend` spans the whole mesh (one flat communicator); its size must be shape.size(), else ConfigError.
  /// It may be null for a mesh that is only used for planning (`rank` then says whose plan).
  /// `control`: where control tensors (comm/agree.hpp) live, for backends that only take tensors of one device (NCCL).
  DeviceMesh(MeshShape shape, c10::intrusive_ptr<c10d::Backend> backend, int rank, at::Device control = at::kCPU);

  const MeshShape& shape() const { return shape_; }
  int size() const { return shape_.size(); }
  int rank() const { return rank_; }
  const Coordinates& coordinates() const { return coordinates_; }
  /// Error (ConfigError) where the mesh was made for planning only.
  c10d::Backend& backend() const;
  Traffic& traffic() const { return traffic_; }
  at::Device control_device() const { return control_; }

 private:
  MeshShape shape_;
  int rank_;
  Coordinates coordinates_;
  c10::intrusive_ptr<c10d::Backend> backend_;
  at::Device control_;
  mutable Traffic traffic_;
};

using MeshPtr = c10::intrusive_ptr<DeviceMesh>;

}  // namespace cpize
