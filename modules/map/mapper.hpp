// map_model: phase 0. Runs a serial model at several sizes of each axis and writes down what it is made of: scopes,
// parameters, which scope reads which feature, and which dimension scales with which axis.
//
// The factory builds the model for given sizes and puts named scopes around the steps of its composition.
#pragma once
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "map/instrumented_features.hpp"
#include "map/operation_recorder.hpp"

namespace cpize::map {

/// Axis name ("N", "C", ...) -> size.
using AxisSizes = std::map<std::string, std::int64_t>;

/// A model built for certain sizes, ready to run once.
struct MappedModel {
  std::map<std::string, at::Tensor> features;
  OperationRecorder::Parameters parameters;
  /// Runs the forward pass on features taken from the dictionary, inside scopes.
  std::function<void(const InstrumentedFeatures&)> run;
};
using ModelFactory = std::function<MappedModel(const AxisSizes&)>;

/// One axis of the model: the size of the base run, and a second one at which only this axis is larger.
struct MappedAxis {
  std::int64_t base, grown;
};

/// The dimensions of a tensor in terms of axes: "B", "N", "2 N", or a number where nothing changed.
using AxisShape = std::vector<std::string>;

struct FeatureEntry {
  AxisShape shape;
  std::string dtype;
  std::set<std::string> readers;  // scope paths; empty: nobody reads it
};
struct ParameterEntry {
  AxisShape shape;
  std::set<std::string> users;
};
struct ScopeEntry {
  std::string path;
  std::int64_t operations;
  std::set<std::string> parameters, features;
  AxisShape largest_tensor;
};

struct ModelMap {
  std::map<std::string, MappedAxis> axes;
  std::map<std::string, FeatureEntry> features;
  std::vector<std::pair<std::string, ParameterEntry>> parameters;  // in the order of the model
  std::vector<ScopeEntry> scopes;                                  // in the order of the run
};

/// Base sizes must differ from each other and grown ones too, so that an equal size is never mistaken for an axis
/// (ContractError). ContractError as well if scopes, features or parameters differ between sizes: such a model has to
/// be mapped in parts.
ModelMap map_model(const ModelFactory& factory, const std::map<std::string, MappedAxis>& axes);

}  // namespace cpize::map
