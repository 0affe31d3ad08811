// Two layers of triangle multiplication and transition with dropout, as serial block and as port with or without
// checkpointing: what the proof of activation checkpointing runs.
#pragma once
#include <ATen/ATen.h>

#include <vector>

#include "serial/dropout.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_multiplication.hpp"
#include "trunk/checkpointing/checkpoint.hpp"
#include "trunk/dropout.hpp"
#include "trunk/transition.hpp"
#include "trunk/tri_mul_out.hpp"

namespace cpize::parity {

inline constexpr double kStackRate = 0.25;

struct SerialStackLayer : torch::nn::Module {
  explicit SerialStackLayer(std::int64_t dim)
      : tri_mul_out(
            register_module("tri_mul_out", serial::TriangleMultiplication(dim, serial::TriangleDirection::outgoing))),
        transition_z(register_module("transition_z", serial::Transition(dim, 4 * dim))) {}

  at::Tensor forward(at::Tensor z, const at::Tensor& mask, const serial::Dropout& dropout) {
    z = z + dropout.rows(tri_mul_out(z, mask), kStackRate, "tri_mul_out");
    return z + dropout.columns(transition_z(z), kStackRate, "transition_z");
  }

  serial::TriangleMultiplication tri_mul_out;
  serial::Transition transition_z;
};

struct PortedStackLayer : torch::nn::Module {
  explicit PortedStackLayer(std::int64_t dim)
      : tri_mul_out(register_module("tri_mul_out", trunk::TriMulOut(dim))),
        transition_z(register_module("transition_z", trunk::Transition(dim, 4 * dim))) {}

  Sharded<Pair> forward(Sharded<Pair> z, const Sharded<Pair>& mask, const trunk::Dropout& dropout) {
    z = z.with(z.local() + dropout.rows(tri_mul_out(z, mask), kStackRate, "tri_mul_out").local());
    return z.with(z.local() + dropout.columns(transition_z(z), kStackRate, "transition_z").local());
  }

  trunk::TriMulOut tri_mul_out;
  trunk::Transition transition_z;
};

template <class Layer>
struct Stack : torch::nn::Module {
  static constexpr int kLayers = 2;

  explicit Stack(std::int64_t dim) {
    for (int i = 0; i < kLayers; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), std::make_shared<Layer>(dim)));
  }

  std::vector<std::shared_ptr<Layer>> layers;
};
using SerialStack = Stack<SerialStackLayer>;
using PortedStack = Stack<PortedStackLayer>;

inline at::Tensor run_stack(const SerialStack& stack, at::Tensor z, const at::Tensor& mask,
                            const serial::Dropout& dropout) {
  for (int i = 0; i < SerialStack::kLayers; ++i)
    z = stack.layers[i]->forward(z, mask, dropout.child("layers." + std::to_string(i)));
  return z;
}

inline Sharded<Pair> run_stack(const PortedStack& stack, Sharded<Pair> z, const Sharded<Pair>& mask,
                               const trunk::Dropout& dropout, bool checkpointed) {
  for (int i = 0; i < PortedStack::kLayers; ++i) {
    const auto layer = stack.layers[i];
    const auto step = [layer, own = dropout.child("layers." + std::to_string(i))](
                          const Sharded<Pair>& x, const Sharded<Pair>& m) { return layer->forward(x, m, own); };
    z = checkpointed ? trunk::checkpoint(*layer, step, z, mask) : step(z, mask);
  }
  return z;
}

}  // namespace cpize::parity
