#include "reader/map_file.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace reader {

Map read_map(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + ": cannot be opened");
  Map map;
  int number = 0;
  const auto fail = [&](const std::string& what) {
    throw std::runtime_error(path + ":" + std::to_string(number) + ": " + what);
  };
  for (std::string line; std::getline(file, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    if (map.size == 0) {
      if (word != "map" || !(words >> map.name >> map.size) || map.size < 1) fail("expected: map <name> <size>");
      continue;
    }
    int64_t columns = 0;
    do {
      std::size_t used = 0;
      double value = 0;
      try {
        value = std::stod(word, &used);
      } catch (const std::exception&) {
      }
      if (used != word.size()) fail("'" + word + "' is no number");
      map.height.push_back(value);
      ++columns;
    } while (words >> word);
    if (columns != map.size) fail(std::to_string(columns) + " numbers in a map of size " + std::to_string(map.size));
  }
  if (map.size == 0 || static_cast<int64_t>(map.height.size()) != map.size * map.size) fail("the map is incomplete");
  return map;
}

Batch collate(const std::vector<Map>& maps) {
  int64_t n = 0;
  for (const auto& map : maps) n = std::max(n, map.size);
  const auto b = static_cast<int64_t>(maps.size());
  Batch batch{at::zeros({b, n, n}, at::kDouble), at::zeros({b, n}, at::kDouble)};
  for (int64_t i = 0; i < b; ++i) {
    const int64_t size = maps[i].size;
    const at::Tensor values = at::tensor(maps[i].height, at::kDouble).view({size, size});
    batch.height[i].slice(0, 0, size).slice(1, 0, size).copy_(values);
    batch.present[i].slice(0, 0, size).fill_(1);
  }
  return batch;
}

}  // namespace reader
