// GPU time by scope, from constructed traces: kernels find the scope that launched them, communication that nothing
// covers is exposed, and every moment of the step is compute, exposed communication or idle.
#include <gtest/gtest.h>

#include "error/error.hpp"
#include "profile/device_report.hpp"
#include "profile/intervals.hpp"
#include "profile/kineto.hpp"

namespace cpize::profile {
namespace {

using Kind = TraceEvent::Kind;

constexpr std::int64_t kMain = 100, kEngine = 101, kComputeStream = 7, kNcclStream = 20;

/// A trace by hand; times in microseconds.
class Trace {
 public:
  Trace& range(Kind kind, const std::string& name, std::int64_t begin, std::int64_t end, std::int64_t thread = kMain) {
    events_.push_back({kind, name, 1000 * begin, 1000 * end, thread});
    return *this;
  }
  Trace& scope(const std::string& name, std::int64_t begin, std::int64_t end, std::int64_t thread = kMain) {
    return range(Kind::annotation, name, begin, end, thread);
  }
  Trace& node(std::int64_t sequence, std::int64_t begin, std::int64_t end) {
    range(Kind::operation, "autograd::engine::evaluate_function: MmBackward0", begin, end, kEngine);
    events_.back().sequence = sequence;
    events_.back().forward_thread = 1;
    return *this;
  }
  /// Launched at `launch` on `thread` within one microsecond, run from `begin` to `end`.
  Trace& kernel(const std::string& name, std::int64_t launch, std::int64_t begin, std::int64_t end,
                std::int64_t thread = kMain) {
    const bool nccl = name.starts_with("nccl");
    const std::int64_t correlation = static_cast<std::int64_t>(events_.size());
    events_.push_back({Kind::launch, "cudaLaunchKernel", 1000 * launch, 1000 * launch + 1000, thread, correlation});
    events_.push_back({Kind::kernel, name, 1000 * begin, 1000 * end, nccl ? kNcclStream : kComputeStream, correlation});
    return *this;
  }
  DeviceTimes times(const NodeScopes& nodes = NodeScopes(1)) const { return device_times(events_, nodes); }

 private:
  std::vector<TraceEvent> events_;
};

constexpr double us = 1e-6;

TEST(Intervals, UnionIntersectionAndDifference) {
  const IntervalSet a({{10, 20}, {15, 30}, {40, 50}, {30, 32}, {60, 60}}), b({{0, 12}, {18, 22}, {45, 70}});
  EXPECT_EQ(a.pieces(), (std::vector<Interval>{{10, 32}, {40, 50}}));
  EXPECT_EQ(a.length(), 32);
  EXPECT_EQ(a.both(b).pieces(), (std::vector<Interval>{{10, 12}, {18, 22}, {45, 50}}));
  EXPECT_EQ(a.without(b).pieces(), (std::vector<Interval>{{12, 18}, {22, 32}, {40, 45}}));
  EXPECT_EQ(a.without(IntervalSet()).pieces(), a.pieces());
  EXPECT_EQ(a.without(a).length(), 0);
  EXPECT_EQ(a.both(b).length() + a.without(b).length(), a.length());
}

TEST(DeviceTimes, KernelsBelongToTheScopeThatLaunchedThem) {
  NodeScopes nodes(1);
  nodes.add(5, 9, "first");
  nodes.add(9, 12, "outer/second");
  const DeviceTimes t = Trace()
                            .scope("cpize.step", 0, 200)
                            .scope("first", 1, 10)
                            .kernel("gemm", 2, 20, 50)  // runs long after its scope was left
                            .scope("outer", 11, 20)
                            .scope("outer/second", 12, 18)
                            .range(Kind::operation, "aten::add", 13, 17)
                            .kernel("add", 14, 50, 60)
                            .kernel("outer kernel", 19, 60, 61)
                            .node(10, 30, 40)
                            .kernel("gemm", 31, 61, 70, kEngine)
                            .range(Kind::operation, "aten::add_", 41, 44, kEngine)  // adds gradients up
                            .kernel("add", 42, 70, 72, kEngine)
                            .node(-1, 45, 46)  // a leaf goes on with what came before
                            .kernel("accumulate", 45, 72, 73, kEngine)
                            .node(6, 50, 80)
                            .scope("recomputed", 55, 60, kEngine)
                            .kernel("gemm", 56, 73, 75, kEngine)
                            .kernel("gemm", 70, 75, 80, kEngine)
                            .kernel("update", 120, 121, 125)
                            .times(nodes);
  EXPECT_EQ(t.activities, 9);
  EXPECT_EQ(t.without_launch, 0);
  const auto own = [&](const std::string& path, Phase phase) { return t.places.at({path, phase}).own[0]; };
  EXPECT_NEAR(own("first", Phase::forward), 30 * us, 1e-12);
  EXPECT_NEAR(own("outer/second", Phase::forward), 10 * us, 1e-12);
  EXPECT_NEAR(own("outer", Phase::forward), 1 * us, 1e-12);
  EXPECT_NEAR(own("outer/second", Phase::backward), (9 + 2 + 1) * us, 1e-12);
  EXPECT_NEAR(own("recomputed", Phase::recompute), 2 * us, 1e-12);
  EXPECT_NEAR(own("first", Phase::backward), 5 * us, 1e-12);
  EXPECT_NEAR(own("", Phase::forward), 4 * us, 1e-12);
  EXPECT_NEAR(t.attributed_share(), 60.0 / 64, 1e-12);
  EXPECT_EQ(t.kernels.at({"gemm", "first"}).calls, 2);
  EXPECT_NEAR(t.kernels.at({"gemm", "first"}).seconds, 35 * us, 1e-12);
}

TEST(DeviceTimes, CommunicationThatNothingCoversIsExposed) {
  const DeviceTimes t = Trace()
                            .scope("cpize.step", 0, 100)
                            .scope("tri_mul", 1, 30)
                            .scope("exchange.pack", 2, 5)
                            .kernel("copy", 3, 10, 20)
                            .scope("exchange.post", 6, 9)
                            .scope("nccl:all_to_all", 7, 8)
                            .kernel("ncclDevKernel_SendRecv", 7, 15, 45)
                            .kernel("gemm", 12, 20, 30)
                            .scope("transition", 31, 40)
                            .kernel("gemm", 32, 40, 60)
                            .scope("reduce_gradients", 50, 60)
                            .scope("reduce_gradients.all_reduce", 51, 59)
                            .kernel("ncclDevKernel_AllReduce", 52, 70, 90)
                            .times();
  EXPECT_NEAR(t.wall, 100 * us, 1e-12);
  EXPECT_NEAR(t.compute, 40 * us, 1e-12);        // 10..30, 40..60
  EXPECT_NEAR(t.communication, 50 * us, 1e-12);  // 15..45, 70..90
  EXPECT_NEAR(t.exposed, 30 * us, 1e-12);        // 30..40, 70..90
  EXPECT_NEAR(t.idle, 30 * us, 1e-12);           // 0..10, 60..70, 90..100
  EXPECT_NEAR(t.compute + t.exposed + t.idle, t.wall, 1e-12);
  const auto& tri_mul = t.places.at({"tri_mul", Phase::forward});
  EXPECT_NEAR(tri_mul.exposed, 10 * us, 1e-12);
  EXPECT_NEAR(tri_mul.own[static_cast<int>(Work::pack)], 10 * us, 1e-12);
  EXPECT_NEAR(tri_mul.own[static_cast<int>(Work::transfer)], 30 * us, 1e-12);
  EXPECT_NEAR(tri_mul.own[static_cast<int>(Work::compute)], 10 * us, 1e-12);
  EXPECT_NEAR(t.places.at({"reduce_gradients", Phase::forward}).exposed, 20 * us, 1e-12);
  EXPECT_EQ(t.places.at({"transition", Phase::forward}).exposed, 0);
  EXPECT_EQ(t.collectives_seen, 2);
  EXPECT_EQ(t.communication_kernels, 2);
}

TEST(DeviceReport, NamesWhatIsExposedAndWhatTheGpuWaitedFor) {
  const DeviceTimes t = Trace()
                            .scope("cpize.step", 0, 100)
                            .scope("tri_mul", 1, 30)
                            .kernel("void at::native::add_kernel<float>(int, float*)", 2, 10, 20)
                            .kernel("ncclDevKernel_SendRecv(args)", 7, 20, 45)
                            .scope("reduce_gradients", 50, 60)
                            .kernel("ncclDevKernel_AllReduce", 52, 50, 95)
                            .times();
  EXPECT_EQ(exposed_by_name(t), "reduce_gradients forward 0.045 ms, tri_mul forward 0.025 ms");
  EXPECT_EQ(exposed_by_name(t, 1), "reduce_gradients forward 0.045 ms");
  EXPECT_EQ(idle_by_name(t, 1).substr(0, 7), "tri_mul");
  const std::string section = device_section("mesh 1x1x2", t, {"tri_mul"}, "/somewhere/x.trace.json");
  EXPECT_NE(section.find("| exposed communication | 0.070 | 70.0 % | reduce_gradients"), std::string::npos) << section;
  EXPECT_NE(section.find("| `tri_mul` | forward | 0.010 | 0.000 | 0.025 | 0.025 | 0.010 |"), std::string::npos)
      << section;
  EXPECT_NE(section.find("| `add_kernel<float>` | `tri_mul` | 1 | 0.010 | 10.0 % |"), std::string::npos) << section;
  EXPECT_NE(section.find("`x.trace.json` beside"), std::string::npos);
  const DeviceTimes none = Trace().scope("cpize.step", 0, 9).kernel("k", 1, 2, 8).times();
  EXPECT_EQ(exposed_by_name(none), "none");
}

TEST(DeviceTimes, TwoCollectivesAtOnceAreExposedOnce) {
  const DeviceTimes t = Trace()
                            .scope("cpize.step", 0, 50)
                            .scope("a", 1, 5)
                            .kernel("ncclDevKernel_SendRecv", 2, 10, 30)
                            .scope("b", 6, 9)
                            .kernel("ncclDevKernel_SendRecv", 7, 20, 40)
                            .times();
  EXPECT_NEAR(t.exposed, 30 * us, 1e-12);
  EXPECT_NEAR(t.places.at({"a", Phase::forward}).exposed, 20 * us, 1e-12);
  EXPECT_NEAR(t.places.at({"b", Phase::forward}).exposed, 10 * us, 1e-12);
}

TEST(DeviceTimes, IdleTimeNamesWhatCameNextAndWhoWasLate) {
  const DeviceTimes t = Trace()
                            .scope("cpize.step", 0, 100)
                            .scope("a", 0, 20)
                            .kernel("k", 4, 10, 20)  // launched from 4 to 5: 5 of the 10 were the host's
                            .scope("b", 21, 60)
                            .kernel("k", 22, 35, 40)  // launched from 22 to 23: 3 of 15
                            .kernel("k", 25, 45, 90)  // launched before the GPU ran dry at 40
                            .times();
  EXPECT_NEAR(t.places.at({"a", Phase::forward}).idle_before, 10 * us, 1e-12);
  EXPECT_NEAR(t.places.at({"b", Phase::forward}).idle_before, 20 * us, 1e-12);
  EXPECT_NEAR(t.places.at({"", Phase::forward}).idle_before, 10 * us, 1e-12);  // until the host saw the end
  EXPECT_NEAR(t.idle, 40 * us, 1e-12);
  EXPECT_NEAR(t.idle_for_host, (5 + 3 + 0 + 10) * us, 1e-12);
}

TEST(DeviceTimes, WhatLiesOutsideTheStepOrHasNoLaunchIsTold) {
  Trace trace;
  trace.scope("cpize.step", 10, 50).scope("a", 11, 20).kernel("before", 1, 2, 8).kernel("k", 12, 15, 25);
  EXPECT_EQ(trace.times().activities, 1);
  trace.range(Kind::copy, "Memcpy HtoD", 30, 35, kComputeStream);
  EXPECT_EQ(trace.times().without_launch, 1);
  EXPECT_NEAR(trace.times().attributed_share(), 10.0 / 15, 1e-12);
  EXPECT_THROW(Trace().scope("cpize.step", 0, 10).times(), ContractError);
  EXPECT_THROW(Trace().kernel("k", 1, 2, 3).times(), ContractError);
}

TEST(TraceEvents, ReadsWhatKinetoWrites) {
  const std::string text = R"json({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 5, "tid": 0, "ts": 1.5, "args": {"name": "program"}},
    {"ph": "X", "cat": "user_annotation", "name": "cpize.step", "pid": 5, "tid": 5, "ts": 5196985506458.914, "dur": 90.5,
     "args": {"External id": 1, "Record function id": 0, "Ev Idx": 0}},
    {"ph": "X", "cat": "cpu_op", "name": "autograd::engine::evaluate_function: MmBackward0", "pid": 5, "tid": 6,
     "ts": 5196985506460.001, "dur": 40.0,
     "args": {"External id": 2, "Sequence number": 125, "Fwd thread id": 1, "Ev Idx": 1}},
    {"ph": "X", "cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 5, "tid": 6, "ts": 5196985506470.001, "dur": 3.25,
     "args": {"External id": 2, "cbid": 652, "correlation": 42}},
    {"ph": "s", "id": 42, "pid": 5, "tid": 6, "ts": 5196985506470.001, "cat": "ac2g", "name": "ac2g"},
    {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_SendRecv", "pid": 0, "tid": 20, "ts": 5196985506480.5, "dur": 3.872,
     "args": {"External id": 2, "device": 0, "stream": 20, "correlation": 42, "grid": [1, 1, 1]}},
    {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7, "ts": 5196985506490.0, "dur": 1.0,
     "args": {"stream": 7, "correlation": 43}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "exchange.pack", "pid": 0, "tid": 7, "ts": 1.0, "dur": 2.0},
    {"ph": "X", "cat": "Trace", "ts": 1.0, "dur": 9.0, "pid": "Spans", "tid": "PyTorch Profiler", "name": "Profiler"}]})json";
  const auto events = parse_chrome_trace(text, "x.json");
  ASSERT_EQ(events.size(), 5u);
  EXPECT_EQ(events[0].kind, Kind::annotation);
  EXPECT_EQ(events[0].begin, 5196985506458914);
  EXPECT_EQ(events[0].end, 5196985506549414);
  EXPECT_EQ(events[1].sequence, 125);
  EXPECT_EQ(events[1].forward_thread, 1);
  EXPECT_EQ(events[2].kind, Kind::launch);
  EXPECT_EQ(events[2].correlation, events[3].correlation);
  EXPECT_EQ(events[3].track, 20);
  EXPECT_EQ(events[4].kind, Kind::copy);
  NodeScopes nodes(1);
  nodes.add(120, 130, "tri_mul_out");
  const DeviceTimes times = device_times(events, nodes);
  EXPECT_NEAR(times.places.at({"tri_mul_out", Phase::backward}).exposed, 3.872e-6, 1e-12);
  EXPECT_EQ(times.without_launch, 1);
  EXPECT_THROW(parse_chrome_trace("{\"traceEvents\": [", "x.json"), InputError);
  EXPECT_THROW(parse_chrome_trace("[1]", "x.json"), InputError);
}

TEST(TraceEvents, ATraceOfThisLibtorchIsRead) {
  const auto result = under_kineto(false, [] {
    RECORD_USER_SCOPE("cpize.step");
    const at::Tensor x = at::ones({3, 3}).mm(at::ones({3, 3}));
  });
  const std::string file = ::testing::TempDir() + "cpize_trace_test.json";
  result->save(file);
  const auto events = read_chrome_trace(file);
  const auto named = [&](const std::string& name) {
    return std::find_if(events.begin(), events.end(), [&](const TraceEvent& e) { return e.name == name; });
  };
  const auto step = named("cpize.step"), product = named("aten::mm");
  ASSERT_TRUE(step != events.end() && product != events.end());
  EXPECT_EQ(step->kind, Kind::annotation);
  EXPECT_EQ(product->kind, Kind::operation);
  EXPECT_EQ(step->track, product->track);
  EXPECT_LE(step->begin, product->begin);
  EXPECT_LE(product->end, step->end);
  EXPECT_THROW(device_times(events, NodeScopes()), ContractError);  // no GPU's work
}

}  // namespace
}  // namespace cpize::profile
