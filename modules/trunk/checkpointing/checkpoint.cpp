#include "trunk/checkpointing/checkpoint.hpp"

#include <ATen/SequenceNumber.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "error/error.hpp"

namespace cpize::trunk {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Edge;
using torch::autograd::edge_list;
using torch::autograd::Node;
using torch::autograd::variable_list;

/// Autocast of one kind of device.
struct AutocastSetting {
  c10::DeviceType device;
  bool enabled;
  c10::ScalarType dtype;

  static AutocastSetting of_this_thread(c10::DeviceType device) {
    return {device, at::autocast::is_autocast_enabled(device), at::autocast::get_autocast_dtype(device)};
  }
  void apply() const {
    at::autocast::set_autocast_enabled(device, enabled);
    at::autocast::set_autocast_dtype(device, dtype);
  }
};

/// RAII: that setting, without a cache: a cast that was made without a graph must not serve a run with one.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastSetting& setting)
      : before_(AutocastSetting::of_this_thread(setting.device)),
        cached_before_(at::autocast::is_autocast_cache_enabled()) {
    setting.apply();
    at::autocast::set_autocast_cache_enabled(false);
  }
  ~AutocastScope() {
    before_.apply();
    at::autocast::set_autocast_cache_enabled(cached_before_);
  }
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  AutocastSetting before_;
  bool cached_before_;
};

struct CheckpointCall : torch::CustomClassHolder {
  CheckpointCall(LocalFunction f, std::size_t inputs, c10::DeviceType device)
      : f(std::move(f)), inputs(inputs), autocast(AutocastSetting::of_this_thread(device)) {}

  LocalFunction f;
  std::size_t inputs;  // of the saved tensors, these are f's; the others are parameters
  AutocastSetting autocast;
};

/// Everything that the graph above `roots` ends in must be one of `leaves`; what it consists of must have been made
/// since `first_node` in this thread.
void check_graph(const edge_list& roots, const variable_list& leaves, std::uint64_t first_node) {
  std::set<const at::TensorImpl*> known;
  for (const auto& leaf : leaves) known.insert(leaf.unsafeGetTensorImpl());
  const std::uint64_t thread = at::RecordFunction::currentThreadId();
  std::set<const Node*> seen;
  std::vector<const Node*> ahead;
  const auto visit = [&](const Edge& edge) {
    if (edge.is_valid() && seen.insert(edge.function.get()).second) ahead.push_back(edge.function.get());
  };
  for (const auto& root : roots) visit(root);
  while (!ahead.empty()) {
    const Node* node = ahead.back();
    ahead.pop_back();
    if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node)) {
      if (known.contains(leaf->variable.unsafeGetTensorImpl())) continue;
      std::ostringstream text;
      text << "checkpoint: the function uses a parameter " << leaf->variable.sizes()
           << " that is not among those it was given: its gradient would be lost; pass the module that owns it";
      throw ContractError(text.str());
    }
    if (node->thread_id() != thread || node->sequence_nr() < first_node)
      throw ContractError("checkpoint: the function captured a tensor that was made outside by " + node->name() +
                          ": its gradient would be lost; pass it as an input");
    for (const auto& edge : node->next_edges()) visit(edge);
  }
}

struct CheckpointFunction : torch::autograd::Function<CheckpointFunction> {
  static variable_list forward(AutogradContext* context, at::TensorList tensors,
                               const c10::intrusive_ptr<CheckpointCall>& call) {
    context->save_for_backward(tensors.vec());
    context->set_materialize_grads(false);
    context->saved_data["call"] = c10::IValue::make_capsule(call);
    const AutocastScope autocast(call->autocast);
    const variable_list inputs(tensors.begin(), tensors.begin() + static_cast<std::ptrdiff_t>(call->inputs));
    std::vector<std::int64_t> versions;
    for (const auto& x : inputs) versions.push_back(x._version());
    variable_list outputs = call->f(inputs);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i]._version() != versions[i])
        throw ContractError("checkpoint: the function wrote into its input " + std::to_string(i) +
                            ", which backward needs as it was");
    return outputs;
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    if (at::GradMode::is_enabled())
      throw NotImplemented("checkpoint: its backward has no gradient of its own (create_graph = true)");
    const auto call = c10::static_intrusive_pointer_cast<CheckpointCall>(context->saved_data["call"].toCapsule());
    variable_list leaves = context->get_saved_variables();
    for (std::size_t i = 0; i < call->inputs; ++i)
      leaves[i] = leaves[i].detach().set_requires_grad(leaves[i].requires_grad());

    edge_list roots, wanted;
    variable_list root_gradients;
    {
      const at::AutoGradMode with_graph(true);
      const AutocastScope autocast(call->autocast);
      const std::uint64_t first_node = at::sequence_number::peek();
      const auto inputs = static_cast<std::ptrdiff_t>(call->inputs);
      const variable_list outputs = call->f(variable_list(leaves.begin(), leaves.begin() + inputs));
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!gradients[i].defined() || !outputs[i].requires_grad()) continue;
        roots.push_back(torch::autograd::impl::gradient_edge(outputs[i]));
        root_gradients.push_back(std::move(gradients[i]));
      }
      check_graph(roots, leaves, first_node);
    }  // the outputs themselves are not needed again: only what their graph holds
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < leaves.size(); ++i)
      if (leaves[i].requires_grad() && context->needs_input_grad(i)) {
        places.push_back(i);
        wanted.push_back(torch::autograd::impl::gradient_edge(leaves[i]));
      }
    variable_list results(leaves.size() + 1);  // the last one stands for the call
    if (roots.empty() || wanted.empty()) return results;
    const variable_list found = torch::autograd::Engine::get_default_engine().execute(
        roots, root_gradients, /*keep_graph=*/false, /*create_graph=*/false, /*accumulate_grad=*/false, wanted);
    for (std::size_t i = 0; i < places.size(); ++i) results[places[i]] = found[i];
    return results;
  }
};

}  // namespace

std::vector<at::Tensor> checkpoint_local(LocalFunction f, const std::vector<at::Tensor>& inputs,
                                         const std::vector<at::Tensor>& parameters) {
  variable_list tensors = inputs;
  for (const auto& parameter : parameters)
    if (parameter.requires_grad()) tensors.push_back(parameter);
  const bool differentiates =
      at::GradMode::is_enabled() &&
      std::any_of(tensors.begin(), tensors.end(), [](const auto& x) { return x.requires_grad(); });
  if (!differentiates) return f(inputs);
  if (inputs.empty()) throw ContractError("checkpoint: a function without inputs has nothing to keep");
  auto call = c10::make_intrusive<CheckpointCall>(std::move(f), inputs.size(), inputs[0].device().type());
  return CheckpointFunction::apply(at::TensorList(tensors), call);
}

}  // namespace cpize::trunk
