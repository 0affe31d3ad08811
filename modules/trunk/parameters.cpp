#include "trunk/parameters.hpp"

#include <ATen/ATen.h>

namespace cpize::trunk {

ProjectionImpl::ProjectionImpl(std::int64_t in, std::int64_t out)
    : weight(register_parameter("weight", at::zeros({out, in}))) {}

BiasedProjectionImpl::BiasedProjectionImpl(std::int64_t in, std::int64_t out)
    : ProjectionImpl(in, out), bias(register_parameter("bias", at::zeros({out}))) {}

NormImpl::NormImpl(std::int64_t dim)
    : weight(register_parameter("weight", at::ones({dim}))), bias(register_parameter("bias", at::zeros({dim}))) {}

}  // namespace cpize::trunk
