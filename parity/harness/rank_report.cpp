// Reports as bytes: a count and the numbers, a count and the tensors (dtype, sizes, contiguous data), in host order,
// since all ranks of a world run the same program.
#include <ATen/ATen.h>

#include <cstring>

#include "error/error.hpp"
#include "parity/harness/ranks.hpp"

namespace cpize::parity {
namespace {

void put(std::string& out, const void* data, std::size_t size) { out.append(static_cast<const char*>(data), size); }
void put(std::string& out, std::int64_t value) { put(out, &value, sizeof value); }
void put(std::string& out, const std::string& text) {
  put(out, static_cast<std::int64_t>(text.size()));
  out += text;
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  const char* take(std::int64_t size) {
    if (size < 0 || static_cast<std::size_t>(size) > bytes_.size() - at_)
      throw InputError("report of a rank", "ends too early");
    const char* here = bytes_.data() + at_;
    at_ += static_cast<std::size_t>(size);
    return here;
  }
  std::int64_t integer() {
    std::int64_t value = 0;
    std::memcpy(&value, take(sizeof value), sizeof value);
    return value;
  }
  std::string text() {
    const std::int64_t size = integer();
    return {take(size), static_cast<std::size_t>(size)};
  }
  bool ended() const { return at_ == bytes_.size(); }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::string to_bytes(const RankReport& report) {
  std::string out;
  put(out, static_cast<std::int64_t>(report.numbers.size()));
  for (const auto& [name, value] : report.numbers) {
    put(out, name);
    put(out, &value, sizeof value);
  }
  put(out, static_cast<std::int64_t>(report.tensors.size()));
  for (const auto& [name, given] : report.tensors) {
    const at::Tensor tensor = given.detach().cpu().contiguous();
    put(out, name);
    put(out, static_cast<std::int64_t>(tensor.scalar_type()));
    put(out, tensor.dim());
    for (const auto n : tensor.sizes()) put(out, n);
    if (tensor.nbytes() > 0) put(out, tensor.const_data_ptr(), tensor.nbytes());
  }
  return out;
}

RankReport report_from_bytes(const std::string& bytes) {
  RankReport report;
  Reader in(bytes);
  for (std::int64_t left = in.integer(); left > 0; --left) {
    const std::string name = in.text();
    std::memcpy(&report.numbers[name], in.take(sizeof(double)), sizeof(double));
  }
  for (std::int64_t left = in.integer(); left > 0; --left) {
    const std::string name = in.text();
    const auto dtype = static_cast<at::ScalarType>(in.integer());
    std::vector<std::int64_t> sizes(static_cast<std::size_t>(in.integer()));
    for (auto& n : sizes) n = in.integer();
    at::Tensor tensor = at::empty(sizes, at::TensorOptions().dtype(dtype));
    const char* data = in.take(static_cast<std::int64_t>(tensor.nbytes()));
    if (tensor.nbytes() > 0) std::memcpy(tensor.mutable_data_ptr(), data, tensor.nbytes());
    report.tensors.emplace(name, std::move(tensor));
  }
  if (!in.ended()) throw InputError("report of a rank", "goes on after its end");
  return report;
}

}  // namespace cpize::parity
