// The key of a task: a content hash of everything that its measurement depends on.
//
// Sources of its units with the closure of project headers they include, flags, INPUTS, arguments, the keys of its
// producers (DEPENDS) and its epoch. What a compiler reads counts without comments and layout (code_text.hpp); what a
// program reads, so every file of INPUTS and of the command line, counts with its bytes. Names inside are relative to
// the source or build directory, so that the key is the same on every machine. Compiler, torch build and mesh are facts
// of the evidence, not part of the key.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "decisions.hpp"
#include "files.hpp"
#include "plan.hpp"

namespace cpize::tool {

struct Key {
  std::string id;                    // 32 hexadecimal digits
  std::vector<std::string> macros;   // "file:line: #include X" that cannot be followed
  std::vector<std::string> missing;  // INPUTS that do not exist
};

class Keys {
 public:
  Keys(const Plan& plan, const Decisions& decisions, FileCache& files);

  const Key& of(const std::string& task);
  /// What is in the key: name -> hash or value. Slower than of(); for people and for the evidence's details.
  std::map<std::string, std::string> inputs(const std::string& task);
  /// Every project file in the key that lies in the source directory (absolute).
  std::vector<std::string> source_files(const std::string& task);

 private:
  struct Closure {
    std::map<std::string, std::string> inputs;
    std::vector<std::string> macros, files;
    std::string digest;
  };
  struct Resolved {
    std::string name, hash;
    std::vector<std::string> to, lost, macros;
  };
  using Includes = std::vector<std::string>;

  std::map<std::string, std::string> own_inputs(const Task& task, std::vector<std::string>* missing);
  const Closure& closure(const Unit& unit);
  const Resolved& resolve(const std::string& file, const Includes& dirs,
                          std::unordered_map<std::string, Resolved>& memo);

  const Plan& plan_;
  const Decisions& decisions_;
  FileCache& files_;
  std::unordered_map<std::string, Key> keys_;
  std::unordered_map<std::string, std::unique_ptr<Closure>> closures_;
  std::map<Includes, std::unordered_map<std::string, Resolved>> resolved_;
};

}  // namespace cpize::tool
