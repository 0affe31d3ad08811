// Golden operations on the pair track.
#include "parity/serial/operations/operations.hpp"
#include "serial/transition.hpp"
#include "serial/triangle_attention.hpp"
#include "serial/triangle_multiplication.hpp"

namespace cpize::parity {
namespace {

GoldenOperation transition(const GoldenCase& golden, GoldenArguments& arguments) {
  serial::Transition block(arguments.integer("dim"), arguments.integer("hidden"), arguments.integer_or("out_dim", 0));
  const std::optional<int64_t> chunk_size = arguments.call_integer("chunk_size");
  const bool chunked =
      chunk_size.has_value() && golden.config.at("call").get<std::string>().find("out_chunked") != std::string::npos;
  return {block.ptr(), [block, chunk_size, chunked](GoldenArguments& in) mutable {
            const at::Tensor x = in.input("x");
            safetensors::Tensors out{{"out", block(x)}};
            if (chunked) out["out_chunked"] = block(x, *chunk_size);
            return out;
          }};
}

template <serial::TriangleDirection direction>
GoldenOperation triangle_multiplication(const GoldenCase&, GoldenArguments& arguments) {
  serial::TriangleMultiplication block(arguments.integer("dim"), direction);
  return {block.ptr(), [block](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("x"), in.input("mask"))}};
          }};
}

template <serial::TriangleNode node>
GoldenOperation triangle_attention(const GoldenCase&, GoldenArguments& arguments) {
  serial::TriangleAttention block(arguments.integer("c_in"), arguments.integer("c_hidden"),
                                  arguments.integer("no_heads"), node, arguments.number("inf"));
  const int64_t chunk_size = arguments.call_integer("chunk_size").value_or(0);
  return {block.ptr(), [block, chunk_size](GoldenArguments& in) mutable {
            return safetensors::Tensors{{"out", block(in.input("x"), in.input("mask"), chunk_size)}};
          }};
}

}  // namespace

GoldenOperations pair_operations() {
  using serial::TriangleDirection;
  using serial::TriangleNode;
  return {
      {"boltz.model.layers.transition.Transition", transition},
      {"boltz.model.layers.triangular_mult.TriangleMultiplicationOutgoing",
       triangle_multiplication<TriangleDirection::outgoing>},
      {"boltz.model.layers.triangular_mult.TriangleMultiplicationIncoming",
       triangle_multiplication<TriangleDirection::incoming>},
      {"boltz.model.layers.triangular_attention.attention.TriangleAttention",
       triangle_attention<TriangleNode::starting>},
      {"boltz.model.layers.triangular_attention.attention.TriangleAttentionEndingNode",
       triangle_attention<TriangleNode::ending>},
  };
}

}  // namespace cpize::parity
