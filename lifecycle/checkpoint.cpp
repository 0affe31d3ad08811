#include "lifecycle/checkpoint.hpp"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "error/error.hpp"
#include "lifecycle/atomic_folder.hpp"
#include "lifecycle/fingerprint.hpp"

namespace cpize::lifecycle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* manifest_file = "manifest.json";
constexpr const char* weights_file = "weights.safetensors";
constexpr const char* optimizer_file = "optimizer.safetensors";
constexpr const char* ema_file = "ema.safetensors";
constexpr const char* format_name = "cpize checkpoint";

struct FileEntry {
  std::uint64_t bytes = 0, tensors = 0;
  std::string fingerprint;
};

struct ManifestFile {
  Manifest manifest;
  std::map<std::string, FileEntry> files;
};

json write_tensors(const fs::path& folder, const char* name, const Tensors& tensors) {
  safetensors::write(folder / name, tensors);
  return {{"bytes", fs::file_size(folder / name)},
          {"tensors", tensors.size()},
          {"fingerprint", hexadecimal(fingerprint(tensors))}};
}

/// A JSON object whose fields are taken one by one; what nobody took is an error.
class Fields {
 public:
  Fields(const json& object, fs::path file, std::string path)
      : object_(object), file_(std::move(file)), path_(std::move(path)) {
    if (!object_.is_object()) fail(path_.empty() ? "the file" : path_.substr(0, path_.size() - 1), "is no JSON object");
  }

  template <class T>
  T take(const std::string& name) {
    const json& field = at(name);
    bool right = false;
    if constexpr (std::is_same_v<T, std::string>)
      right = field.is_string();
    else if constexpr (std::is_unsigned_v<T>)
      right = field.is_number_unsigned();
    else
      right = field.is_number_integer();
    if (!right) fail(path_ + name, "is " + field.dump() + ", another kind of value than expected");
    return field.get<T>();
  }
  const json& at(const std::string& name) {
    taken_.insert(name);
    const auto found = object_.find(name);
    if (found == object_.end()) fail(path_ + name, "is absent");
    return *found;
  }
  void done() const {
    for (const auto& [name, value] : object_.items())
      if (!taken_.contains(name)) fail(path_ + name, "is not a field of this format");
  }
  [[noreturn]] void fail(const std::string& field, const std::string& what) const {
    throw InputError(file_.string() + ", " + field, what);
  }

 private:
  const json& object_;
  fs::path file_;
  std::string path_;
  std::set<std::string> taken_;
};

ManifestFile read_manifest_file(const fs::path& folder) {
  const fs::path path = folder / manifest_file;
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(path.string(), "cannot be opened: this folder is no checkpoint, or an unfinished one");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (root.is_discarded()) throw InputError(path.string(), "is no valid JSON");

  ManifestFile result;
  Fields fields(root, path, "");
  if (const auto format = fields.take<std::string>("format"); format != format_name)
    fields.fail("format", "is '" + format + "', not '" + format_name + "'");
  if (const auto version = fields.take<std::int64_t>("version"); version != checkpoint_version)
    fields.fail("version",
                "is " + std::to_string(version) + "; this program reads version " + std::to_string(checkpoint_version));
  result.manifest.step = fields.take<std::int64_t>("step");
  if (result.manifest.step < 0) fields.fail("step", "is negative");
  result.manifest.seed = fields.take<std::uint64_t>("seed");
  result.manifest.mesh = fields.take<std::string>("mesh");
  Fields options(fields.at("options"), path, "options.");
  for (const auto& [name, value] : fields.at("options").items())
    result.manifest.options[name] = options.take<std::string>(name);
  Fields files(fields.at("files"), path, "files.");
  for (const auto& [name, value] : fields.at("files").items()) {
    if (name != weights_file && name != optimizer_file && name != ema_file) continue;  // left to done()
    Fields file(files.at(name), path, "files." + name + ".");
    result.files[name] = {file.take<std::uint64_t>("bytes"), file.take<std::uint64_t>("tensors"),
                          file.take<std::string>("fingerprint")};
    file.done();
  }
  files.done();
  fields.done();
  for (const char* name : {weights_file, optimizer_file})
    if (!result.files.contains(name)) fields.fail(std::string("files.") + name, "is absent");
  return result;
}

Tensors read_tensors(const fs::path& folder, const std::string& name, const FileEntry& entry) {
  const fs::path path = folder / name;
  std::error_code error;
  const std::uint64_t bytes = fs::file_size(path, error);
  if (error) throw InputError(path.string(), "is listed in the manifest and cannot be read: " + error.message());
  if (bytes != entry.bytes)
    throw InputError(path.string(), "has " + std::to_string(bytes) + " bytes, the manifest says " +
                                        std::to_string(entry.bytes) + ": damaged, or of another checkpoint");
  Tensors tensors = safetensors::read(path).tensors;
  const std::string found = hexadecimal(fingerprint(tensors));
  if (tensors.size() != entry.tensors || found != entry.fingerprint)
    throw InputError(path.string(), "holds " + std::to_string(tensors.size()) + " tensors with fingerprint " + found +
                                        ", the manifest says " + std::to_string(entry.tensors) + " with " +
                                        entry.fingerprint + ": damaged, or of another checkpoint");
  return tensors;
}

}  // namespace

void write_checkpoint(const fs::path& folder, const Checkpoint& checkpoint) {
  AtomicFolder target(folder);
  json files;
  files[weights_file] = write_tensors(target.path(), weights_file, checkpoint.weights);
  files[optimizer_file] = write_tensors(target.path(), optimizer_file, checkpoint.optimizer);
  if (checkpoint.ema) files[ema_file] = write_tensors(target.path(), ema_file, *checkpoint.ema);
  const Manifest& m = checkpoint.manifest;
  json options = json::object();
  for (const auto& [name, value] : m.options) options[name] = value;
  const json manifest{{"format", format_name}, {"version", checkpoint_version},
                      {"step", m.step},        {"seed", m.seed},
                      {"mesh", m.mesh},        {"options", options},
                      {"files", files}};
  write_synced(target.path() / manifest_file, manifest.dump(1) + "\n");
  target.commit();
}

Checkpoint read_checkpoint(const fs::path& folder) {
  const ManifestFile file = read_manifest_file(folder);
  for (const char* name : {weights_file, optimizer_file, ema_file})
    if (!file.files.contains(name) && fs::exists(folder / name))
      throw InputError((folder / name).string(), "is not listed in the manifest");
  Checkpoint checkpoint{file.manifest, read_tensors(folder, weights_file, file.files.at(weights_file)),
                        read_tensors(folder, optimizer_file, file.files.at(optimizer_file)), std::nullopt};
  if (const auto ema = file.files.find(ema_file); ema != file.files.end())
    checkpoint.ema = read_tensors(folder, ema_file, ema->second);
  return checkpoint;
}

Manifest read_manifest(const fs::path& folder) { return read_manifest_file(folder).manifest; }

std::optional<fs::path> latest_checkpoint(const fs::path& root) {
  std::optional<fs::path> latest;
  std::int64_t most = -1;
  if (!fs::is_directory(root)) return latest;
  std::set<fs::path> folders;  // sorted: the same choice on every rank and at every call
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory() && !AtomicFolder::is_leftover(entry.path()) && fs::exists(entry.path() / manifest_file))
      folders.insert(entry.path());
  for (const auto& folder : folders) {
    const std::int64_t step = read_manifest(folder).step;
    if (step > most) {
      most = step;
      latest = folder;
    }
  }
  return latest;
}

}  // namespace cpize::lifecycle
