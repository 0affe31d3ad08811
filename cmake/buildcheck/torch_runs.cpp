// Runs one torch operation; started in an empty environment by a test.
#include <torch/torch.h>

#include <cstdio>

int main() {
  const auto x = torch::arange(5, torch::kDouble);
  const double sum = x.sum().item<double>();
  std::printf("libtorch %s, sum 0..4 = %g\n", TORCH_VERSION, sum);
  return sum == 10.0 ? 0 : 1;
}
