// Parity of draws: a gain and a noise for each element, of pairs, MSA rows and single tokens; serial draws whole
// tensors.
#include "parity/harness/block_parity.hpp"
#include "random/draw.hpp"

using namespace cpize;
using namespace cpize::parity;

namespace {

const random::Stream root(31, "parity", 2);

/// x u + n with draws in the dtype of x, fp32 at least.
at::TensorOptions draws_for(const at::Tensor& x) {
  return x.options().dtype(at::promote_types(x.scalar_type(), at::kFloat));
}

at::Tensor whole(const at::Tensor& x, const std::string& name) {
  const random::Stream stream = root.child(name);
  return x * random::uniform(stream.child("gain"), x.sizes(), draws_for(x)) +
         random::normal(stream.child("noise"), x.sizes(), draws_for(x));
}

template <class L>
Sharded<L> sharded(const Sharded<L>& x, const std::string& name) {
  const random::Stream stream = root.child(name);
  const auto gain = random::uniform<L>(stream.child("gain"), x.global(), x.mesh(), draws_for(x.local()));
  const auto noise = random::normal<L>(stream.child("noise"), x.global(), x.mesh(), draws_for(x.local()));
  return x.with(x.local() * gain.local() + noise.local());
}

BlockCase philox() {
  return BlockCase("philox")
      .input<Pair>("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .mask<Pair>("mask", {"B", "N", "N"})  // not read: says where the padding is
      .input<Msa>("m", {"B", "S", "N", "C"})
      .input<Single>("s", {"B", "N", "C"})
      .output("z", {"B", "N", "N", "C"})
      .masked_by("mask")
      .output("m", {"B", "S", "N", "C"})
      .output("s", {"B", "N", "C"})
      .size("S", 11)
      .serial([](const Tensors& in) {
        return Tensors{{"z", whole(in["z"], "z")}, {"m", whole(in["m"], "m")}, {"s", whole(in["s"], "s")}};
      })
      .port([](const ShardedTensors& in) {
        return ShardedTensors{{"z", sharded(in.get<Pair>("z"), "z")},
                              {"m", sharded(in.get<Msa>("m"), "m")},
                              {"s", sharded(in.get<Single>("s"), "s")}};
      })
      .contraction({"1"})
      .cost_size({{"N", 96}, {"C", 32}})
      .bound("sent_bytes.forward", [](const CostPoint&) { return 0.; })
      .bound("sent_bytes.backward", [](const CostPoint&) { return 0.; });
}

}  // namespace

CPIZE_PARITY_MAIN(philox)
