#include "mesh/device_mesh.hpp"

#include "error/error.hpp"

namespace cpize {

DeviceMesh::DeviceMesh(MeshShape shape, c10::intrusive_ptr<c10d::Backend> backend, int rank, at::Device control)
    : shape_(shape),
      rank_(rank),
      coordinates_(shape.coordinates(rank)),
      backend_(std::move(backend)),
      control_(control) {
  if (!backend_) return;
  if (backend_->getSize() != shape_.size())
    throw ConfigError("mesh " + shape_.str() + " needs " + std::to_string(shape_.size()) + " ranks, the " +
                      backend_->getBackendName() + " backend has " + std::to_string(backend_->getSize()));
  if (backend_->getRank() != rank)
    throw ConfigError("mesh rank " + std::to_string(rank) + " is not the backend's rank " +
                      std::to_string(backend_->getRank()));
}

c10d::Backend& DeviceMesh::backend() const {
  if (!backend_)
    throw ConfigError("this mesh " + shape_.str() +
                      " was made for planning and has no backend; start the ranks first (comm::run_ranks)");
  return *backend_;
}

}  // namespace cpize
