// Phase 4: training on real maps, stopped and resumed in a new process, equals the unbroken run bit for bit.
#include "parity/phases/training_case.hpp"
#include "proof/step.hpp"
#include "reader/map_file.hpp"

using namespace cpize;

static parity::TrainingCase training() {
  lifecycle::TrainerOptions options;
  options.check_replicas_every = 1;
  return parity::TrainingCase("contact net")
      .options(options)
      .model([](const MeshPtr& mesh) -> lifecycle::TrainingModel {
        std::vector<reader::Map> maps;
        for (const char* name : {"/ridge.map", "/valley.map", "/island.map"})
          maps.push_back(reader::read_map(std::string(CONTACTNET_DATA) + name));
        const auto batch = reader::collate(maps);
        const auto height = shard<Pair>(batch.height, mesh);
        const auto present = shard<Single>(batch.present, mesh);
        // the target: a map's highest point
        const auto target = shard<contactnet::PerMap>(batch.height.amax({1, 2}).unsqueeze(-1), mesh);
        auto net = contactnet::small_net();
        return {net.ptr(), [=](const lifecycle::StepContext&) mutable {
                  return contactnet::loss_share(net(height, present), target.local());
                }};
      });
}

CPIZE_TRAINING_MAIN(training)
