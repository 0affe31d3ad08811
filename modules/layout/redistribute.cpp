#include "layout/redistribute.hpp"

#include <torch/csrc/autograd/custom_function.h>

#include <optional>

#include "error/error.hpp"

namespace cpize::detail {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// What a node needs to know; the mesh travels with it, since the engine may run the node on another thread.
struct Move : torch::CustomClassHolder {
  Spec from, to;
  Shape global;
  MeshPtr mesh;
  Move(Spec f, Spec t, Shape g, MeshPtr m) : from(f), to(t), global(std::move(g)), mesh(std::move(m)) {}

  at::Tensor adjoint(const at::Tensor& gradient) const {
    return exchange(gradient, dual(to), dual(from), global, mesh);
  }
};

void remember(AutogradContext* context, c10::intrusive_ptr<Move> move) {
  context->saved_data["move"] = c10::IValue::make_capsule(std::move(move));
}
c10::intrusive_ptr<Move> recall(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<Move>(context->saved_data["move"].toCapsule());
}

struct Redistribute : torch::autograd::Function<Redistribute> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const c10::intrusive_ptr<Move>& move) {
    remember(context, move);
    at::Tensor out = exchange(x, move->from, move->to, move->global, move->mesh);
    return out.is_same(x) ? x.view_as(x) : out;
  }
  // Double backward works: the adjoint is a redistribution itself.
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto move = recall(context);
    return {redistribute(gradients[0], dual(move->to), dual(move->from), move->global, move->mesh), {}};
  }
};

}  // namespace

at::Tensor redistribute(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                        const MeshPtr& mesh) {
  auto move = c10::make_intrusive<Move>(from, to, global, mesh);
  if (!local.is_floating_point()) return exchange(local, from, to, global, mesh);
  return Redistribute::apply(local, move);
}

/// Shared by the two nodes of a started redistribution. Forward: start -> finish; backward: finish starts, start
/// finishes.
struct PendingState {
  Spec from, to;
  Shape global;
  MeshPtr mesh;
  std::optional<ExchangeInFlight> forward, backward;
};

namespace {

/// The state as autograd data.
struct StateHolder : torch::CustomClassHolder {
  std::shared_ptr<PendingState> state;
  explicit StateHolder(std::shared_ptr<PendingState> s) : state(std::move(s)) {}
};
void remember(AutogradContext* context, const std::shared_ptr<PendingState>& state) {
  context->saved_data["state"] = c10::IValue::make_capsule(c10::make_intrusive<StateHolder>(state));
}
std::shared_ptr<PendingState> recall_state(AutogradContext* context) {
  return c10::static_intrusive_pointer_cast<StateHolder>(context->saved_data["state"].toCapsule())->state;
}

/// x -> an empty token. The token's gradient is empty as well: the real gradient is under way in the state.
struct Start : torch::autograd::Function<Start> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const std::shared_ptr<PendingState>& s) {
    remember(context, s);
    s->forward.emplace(x, s->from, s->to, s->global, s->mesh);
    return at::empty({0}, x.options());
  }
  static variable_list backward(AutogradContext* context, variable_list) {
    auto s = recall_state(context);
    if (!s->backward) throw ContractError("start_redistribute: its result was never finished, so it has no gradient");
    at::Tensor gradient = s->backward->finish();
    s->backward.reset();
    return {gradient, {}};
  }
};

struct Finish : torch::autograd::Function<Finish> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& token, const std::shared_ptr<PendingState>& s) {
    remember(context, s);
    context->set_materialize_grads(true);
    context->save_for_backward({token});
    at::Tensor out = s->forward->finish();
    s->forward.reset();
    return out;
  }
  static variable_list backward(AutogradContext* context, variable_list gradients) {
    auto s = recall_state(context);
    s->backward.emplace(gradients[0], dual(s->to), dual(s->from), s->global, s->mesh);
    return {at::empty({0}, gradients[0].options()), {}};
  }
};

}  // namespace

PendingExchange start_redistribute(const at::Tensor& local, const Spec& from, const Spec& to, const Shape& global,
                                   const MeshPtr& mesh) {
  auto state = std::make_shared<PendingState>(PendingState{from, to, global, mesh, {}, {}});
  return {Start::apply(local, state), state};
}

at::Tensor finish_redistribute(const PendingExchange& pending) {
  if (!pending.state->forward) throw ContractError("a redistribution can be finished only once");
  return Finish::apply(pending.token, pending.state);
}

}  // namespace cpize::detail
