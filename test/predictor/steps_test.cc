#include "predictor/steps.h"

#include <catch2/catch.hpp>

#include "test/predictor/trace_builder.h"

using namespace maya;
using namespace maya::predictor;
using maya::test::TraceBuilder;

namespace {

Steps steps_of(const TraceBuilder& builder, trace::LoadedTrace* keep = nullptr) {
  trace::LoadedTrace trace = builder.load();
  const device::DeviceProfile* profile = device::find_builtin_profile("h100-sxm");
  REQUIRE(profile != nullptr);
  Steps steps = find_steps(trace, estimate_trace(trace, Estimator(*profile)));
  if (keep != nullptr) *keep = std::move(trace);
  return steps;
}

}  // namespace

TEST_CASE("three training steps after the model's copies: one warm-up, two that count") {
  TraceBuilder builder;
  add_training(&builder, 3);
  trace::LoadedTrace trace;
  const Steps steps = steps_of(builder, &trace);
  CHECK(steps.found_by == FoundBy::kRepetition);
  REQUIRE(steps.steps.size() == 3);
  CHECK(steps.warm_up == 1);
  // Each step begins with the copy of its batch.
  for (const Step& step : steps.steps) {
    REQUIRE(trace.events[step.begin].kind == trace::EventKind::kCopy);
    CHECK(trace.copies[trace.events[step.begin].index].bytes() == 4096);
  }
  CHECK(steps.steps[1].signature == steps.steps[2].signature);
  CHECK(steps.steps[0].signature != steps.steps[1].signature);
  CHECK(steps.steps[0].end <= steps.steps[1].begin);
}

TEST_CASE("many steps and two steps") {
  TraceBuilder many;
  add_training(&many, 12);
  CHECK(steps_of(many).steps.size() == 12);
  TraceBuilder two;
  add_training(&two, 2);
  const Steps steps = steps_of(two);
  CHECK(steps.steps.size() == 2);
  CHECK(steps.warm_up == 1);
}

TEST_CASE("work of another stream at changing places does not hide the steps") {
  TraceBuilder builder;
  builder.describe_stream(7, 1);
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < 20; ++i) {
      builder.after(1000).launch("kernel_" + std::to_string(i), 100);
      if (i == 3 * step) {
        builder.stream = 7;
        builder.after(100).copy(proto::Copy::HOST_TO_DEVICE, 1 << 20, true, false);
        builder.stream = 0;
      }
    }
  }
  CHECK(steps_of(builder).steps.size() == 6);
}

TEST_CASE("shapes that change from step to step: found by names") {
  TraceBuilder builder;
  for (int step = 0; step < 6; ++step)
    for (int i = 0; i < 30; ++i)
      builder.after(1000).launch("kernel_" + std::to_string(i), static_cast<uint32_t>(100 + step));
  const Steps steps = steps_of(builder);
  CHECK(steps.steps.size() == 6);
  CHECK(steps.warm_up == 1);
}

TEST_CASE("ranges that mark steps win over repetition") {
  for (const char* name : {"ProfilerStep#", "step ", "iteration_", "train_step:", "Training Step "}) {
    TraceBuilder builder;
    for (int step = 0; step < 4; ++step) {
      builder.after(10).range(proto::RangeMark::PUSH, name + std::to_string(step));
      for (int half = 0; half < 2; ++half)
        for (int i = 0; i < 10; ++i) {
          builder.range(proto::RangeMark::PUSH, "layer");
          builder.after(1000).launch("kernel_" + std::to_string(i), 100);
          builder.range(proto::RangeMark::POP, "");
        }
      builder.after(10).range(proto::RangeMark::POP, "");
    }
    const Steps steps = steps_of(builder);
    CHECK(steps.found_by == FoundBy::kNvtx);
    CHECK(steps.steps.size() == 4);
    CHECK(steps.warm_up == 1);
  }
}

TEST_CASE("what a compiler tries out in the first marked step does not hide the others, which run on another stream") {
  // As torch.compile in mode reduce-overhead: candidates are timed on one stream, graphs replay on another.
  TraceBuilder builder;
  builder.describe_stream(7, 1);
  for (int step = 0; step < 6; ++step) {
    builder.stream = 0;
    builder.after(10).range(proto::RangeMark::PUSH, "step");
    if (step == 0)
      for (int i = 0; i < 500; ++i) builder.after(1000).launch("candidate", 100);
    builder.stream = step == 0 ? 0 : 7;
    for (int i = 0; i < 20; ++i) builder.after(1000).launch("kernel_" + std::to_string(i), 100);
    builder.after(10).range(proto::RangeMark::POP, "");
  }
  const Steps steps = steps_of(builder);
  CHECK(steps.found_by == FoundBy::kNvtx);
  CHECK(steps.steps.size() == 5);  // the first has no work on the stream of the others
}

TEST_CASE("one marked step decides nothing: the stream with most work shows the steps") {
  TraceBuilder builder;
  builder.describe_stream(7, 1);
  builder.range(proto::RangeMark::PUSH, "step");
  builder.after(1000).launch("alone", 100);
  builder.range(proto::RangeMark::POP, "");
  builder.stream = 7;
  for (int step = 0; step < 6; ++step)
    for (int i = 0; i < 20; ++i) builder.after(1000).launch("kernel_" + std::to_string(i), 100);
  const Steps steps = steps_of(builder);
  CHECK(steps.found_by == FoundBy::kRepetition);
  CHECK(steps.steps.size() == 6);
}

// As vLLM with CUDA graphs: sizes are tried out and captured on one stream, layer after layer, far more often than
// tokens are made.
TEST_CASE("a serving engine's steps are those that make tokens, however much it warms up") {
  constexpr int kTokens = 16, kLayers = 4;
  TraceBuilder builder;
  builder.describe_stream(7, 1);
  for (int size = 0; size < 50; ++size)
    for (int layer = 0; layer < kLayers; ++layer)
      for (const char* name : {"norm", "product", "attention"}) builder.after(1000).launch(name, 100);
  builder.stream = 7;
  for (int token = 0; token < kTokens; ++token) {
    builder.after(10).copy(proto::Copy::HOST_TO_DEVICE, 4096, false, true);
    builder.after(1000).launch(token == 0 ? "prepare_prompt" : "prepare", 1);
    for (int layer = 0; layer < kLayers; ++layer)
      for (const char* name : {"norm", "product", "attention"}) builder.after(1000).launch(name, 100);
    builder.after(1000).launch("_post_update_kernel", 1);
  }
  for (int i = 0; i < 5; ++i) builder.after(1000).launch("shut_down", 1);
  trace::LoadedTrace trace;
  const Steps steps = steps_of(builder, &trace);
  CHECK(steps.found_by == FoundBy::kRepetition);
  REQUIRE(steps.steps.size() == kTokens);
  CHECK(steps.warm_up == 1);  // the prompts
  for (size_t i = 1; i < steps.steps.size(); ++i) {
    CHECK(steps.steps[i].end - steps.steps[i].begin == 1 + 1 + 3 * kLayers + 1);
    CHECK(steps.steps[i].signature == steps.steps.back().signature);
    CHECK(steps.steps[i].last_work == steps.steps[i].end - 1);
  }
  CHECK(steps.steps.back().end == trace.events.size() - 5);
}

TEST_CASE("an engine that tries its kernels out often before it makes tokens") {
  // Six times, the prompts and eight tokens more: seven of fifteen steps do not count.
  TraceBuilder builder;
  for (int i = 0; i < 6; ++i) {
    builder.after(1000).launch("trial_" + std::to_string(i), 100);
    builder.after(1000).launch("_post_update_kernel", 1);
  }
  for (int token = 0; token < 9; ++token) {
    builder.after(1000).launch(token == 0 ? "prepare_prompt" : "prepare", 1);
    for (int layer = 0; layer < 12; ++layer)
      for (const char* name : {"norm", "product", "attention"}) builder.after(1000).launch(name, 100);
    builder.after(1000).launch("_post_update_kernel", 1);
  }
  const Steps steps = steps_of(builder);
  REQUIRE(steps.steps.size() == 15);
  CHECK(steps.warm_up == 7);
}

TEST_CASE("one or two tokens show no steps of generation") {
  for (const int tokens : {1, 2}) {
    TraceBuilder builder;
    for (int layer = 0; layer < 12; ++layer)
      for (const char* name : {"norm", "product", "attention"}) builder.after(1000).launch(name, 100);
    for (int token = 0; token < tokens; ++token) builder.after(1000).launch("_post_update_kernel", 1);
    CHECK(steps_of(builder).steps.size() == 12);
  }
}

namespace {

// The names that PyTorch 2.15 launches in transformers' generate(), greedy and sampling.
constexpr const char* kChoice =
    "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, "
    "long, 4, 4> >(at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>)";
constexpr const char* kLookUp =
    "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>()";

// Calls of generate(): a pass over the prompt that gives the first token, then one pass a token. `look_up`: the kernel
// that each pass begins with.
TraceBuilder generations(int calls, int tokens, const char* look_up = kLookUp) {
  TraceBuilder builder;
  for (int call = 0; call < calls; ++call)
    for (int token = 0; token < tokens; ++token) {
      if (token == 0) builder.after(10).copy(proto::Copy::HOST_TO_DEVICE, 4096, false, true);
      builder.after(1000).launch(look_up, 1);
      for (int layer = 0; layer < 4; ++layer)
        for (const char* name : {"norm", "product", token == 0 ? "attention_prompt" : "attention", "product"})
          builder.after(1000).launch(name, token == 0 ? 1000 : 100);
      builder.after(1000).launch(kChoice, 2);
    }
  return builder;
}

}  // namespace

TEST_CASE("generate(): one step a token after the first of each call, however many calls; prompts are no steps") {
  for (const int calls : {1, 3}) {
    TraceBuilder builder = generations(calls, 12);
    const Steps steps = steps_of(builder);
    INFO(calls << " calls");
    CHECK(steps.found_by == FoundBy::kRepetition);
    REQUIRE(steps.steps.size() == static_cast<size_t>(calls) * 11);
    CHECK(steps.warm_up == 1);  // the first of them loads its kernels
    for (const Step& step : steps.steps) {
      CHECK(step.end - step.begin == 1 + 4 * 4 + 1);
      CHECK(step.signature == steps.steps.front().signature);
    }
  }
}

TEST_CASE("an argmax that chooses no token makes no step of generation") {
  // A router of experts in each of four layers of a model without a table of tokens: a step is a whole pass.
  TraceBuilder router;
  for (int pass = 0; pass < 6; ++pass) {
    router.after(1000).launch("patches", 100);
    for (int layer = 0; layer < 4; ++layer)
      for (const char* name : {"norm", kChoice, "product"}) router.after(1000).launch(name, 100);
  }
  CHECK(steps_of(router).steps.size() == 6);
  // Accuracy of a batch of a program that trains, by an optimizer that no name tells.
  TraceBuilder training;
  for (int step = 0; step < 6; ++step)
    for (const char* name : {kLookUp, "product", kChoice, "softmax_backward", "update"})
      training.after(1000).launch(name, 100);
  const Steps steps = steps_of(training);
  REQUIRE(steps.steps.size() == 6);
  CHECK(steps.steps.front().end - steps.steps.front().begin == 5);
}

// Reinforcement learning: a program makes tokens and trains on them.
TEST_CASE("a program that makes tokens and trains has training steps") {
  TraceBuilder builder;
  for (int token = 0; token < 5; ++token) {
    builder.after(1000).launch("attention", 100);
    builder.after(1000).launch("_post_update_kernel", 1);
  }
  const std::string optimizer = "void kOptimizer32bit2State<float, 0>(float*, float*)";
  for (int step = 0; step < 6; ++step) {
    for (int i = 0; i < 20; ++i) builder.after(1000).launch("kernel_" + std::to_string(i), 100);
    builder.after(1000).launch(optimizer, 100);
  }
  const Steps steps = steps_of(builder);
  CHECK(steps.found_by == FoundBy::kRepetition);
  CHECK(steps.steps.size() == 6);
}

TEST_CASE("ranges that are no steps are not taken for them") {
  TraceBuilder builder;
  for (int step = 0; step < 4; ++step)
    for (int i = 0; i < 10; ++i) {
      builder.range(proto::RangeMark::PUSH, "Optimizer.step#AdamW.step");
      builder.after(1000).launch("kernel_" + std::to_string(i), 100);
      builder.range(proto::RangeMark::POP, "");
    }
  const Steps steps = steps_of(builder);
  CHECK(steps.found_by == FoundBy::kRepetition);
  CHECK(steps.steps.size() == 4);
}

TEST_CASE("no repetition: everything from the first kernel on is one step") {
  TraceBuilder builder;
  for (int i = 0; i < 5; ++i)
    builder.after(10).copy(proto::Copy::HOST_TO_DEVICE, 1000 + static_cast<uint64_t>(i), false, true);
  for (int i = 0; i < 25; ++i) builder.after(10).launch("kernel_" + std::to_string(i), 10);
  const Steps steps = steps_of(builder);
  CHECK(steps.found_by == FoundBy::kNone);
  REQUIRE(steps.steps.size() == 1);
  CHECK(steps.warm_up == 0);
  CHECK(steps.steps[0].begin == 5);
}

TEST_CASE("copies alone are no step") {
  TraceBuilder builder;
  for (int i = 0; i < 40; ++i)
    builder.after(10).copy(proto::Copy::HOST_TO_DEVICE, 1000 + static_cast<uint64_t>(i % 4), false, true);
  CHECK(steps_of(builder).found_by == FoundBy::kNone);
}

TEST_CASE("no device work, no step") {
  TraceBuilder builder;
  builder.allocate(1, 100);
  CHECK(steps_of(builder).steps.empty());
}

TEST_CASE("XLA's tuning of kernels is no step, however often it repeats") {
  TraceBuilder builder;
  const std::string check = "_ZN15stream_executor3gpu26RedzoneAllocatorKernelImplEPhhmPj";
  for (int candidate = 0; candidate < 60; ++candidate) {
    builder.after(1000).launch("gemm_fusion_dot_3", 64);
    builder.after(1000).launch("gemm_fusion_dot_3", 64);
    builder.after(1000).fill(8);
    for (int i = 0; i < 4; ++i) builder.after(1000).launch(check, 8192);
  }
  for (int step = 0; step < 4; ++step)
    for (const char* name : {"gemm_fusion_dot_3", "loop_add_fusion", "input_reduce_fusion", "loop_subtract_fusion"})
      builder.after(5000).launch(name, 128);
  trace::LoadedTrace trace;
  const Steps steps = steps_of(builder, &trace);
  REQUIRE(steps.steps.size() == 4);
  for (const Step& step : steps.steps)
    if (&step != &steps.steps.front()) CHECK(step.end - step.begin == 4);
  CHECK(steps.steps.back().end == trace.events.size());
}
