// Exit status 0 where the port is right.
int twice(int x);

int main() {
  int unused = 0;
  return twice(21) == 42 ? 0 : 1;
}
