#include <string>

int case_transition();
int case_tri_mul_out();
int case_tri_mul_in();

int main(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  if (name == "transition") return case_transition();
  if (name == "tri_mul_out") return case_tri_mul_out();
  if (name == "tri_mul_in") return case_tri_mul_in();
  return 2;
}
