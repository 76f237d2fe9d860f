// The wrapper of one entry point, made from its declaration and the parameter structure of NVIDIA's meta headers, whose
// members are the function's parameters in order.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <vector>

#include "driver_shim/cupti/api_calls.h"

namespace maya::cupti {

template <typename Call, typename Function>
struct Wrapper;

template <typename Call, typename Result, typename... Arguments>
struct Wrapper<Call, Result (*)(Arguments...)> {
  using Body = Result (*)(Arguments...);
  static inline AnyFunction body = nullptr;

  static Result call(Arguments... arguments) {
    const auto own = reinterpret_cast<Body>(body);
    ThreadState* thread = nullptr;
    try {
      thread = &thread_state();
    } catch (...) {
    }
    if (thread == nullptr || thread->depth != 0) return own(arguments...);
    if constexpr (std::is_void_v<typename Call::Parameters>) {
      return reported(*thread, nullptr, own, arguments...);
    } else {
      const auto parameters = gathered<typename Call::Parameters>(arguments...);
      return reported(*thread, &parameters, own, arguments...);
    }
  }

  template <typename Parameters>
  static Parameters gathered(Arguments... arguments) {
    if constexpr (requires { Parameters{arguments...}; }) {
      return Parameters{arguments...};
    } else {
      // The structure has pointers of another type than the declaration.
      static_assert(sizeof(Parameters) == sizeof...(Arguments) * sizeof(void*));
      void* const words[] = {const_cast<void*>(static_cast<const void*>(arguments))...};
      Parameters parameters;
      std::memcpy(&parameters, words, sizeof parameters);
      return parameters;
    }
  }

  static Result reported(ThreadState& thread, const void* parameters, Body own, Arguments... arguments) {
    ApiCall call(thread, Call::kDomain, Call::kCbid, Call::kName, parameters);
    call.enter();
    if constexpr (std::is_void_v<Result>) {
      own(arguments...);
      call.exit(nullptr);
    } else {
      Result result = own(arguments...);
      // Of functions that return no status, a record has none.
      call.exit(sizeof(Result) == sizeof(uint32_t) ? &result : nullptr);
      return result;
    }
  }
};

// For the lists that make_callback_tables writes: what Wrapper has to know of a function, and its entry in a table.
#define MAYA_WRAPPED_CALL(domain, cbid, name, Structure) \
  struct call_##name {                                   \
    using Parameters = Structure;                        \
    static constexpr Domain kDomain = domain;            \
    static constexpr uint32_t kCbid = cbid;              \
    static constexpr const char* kName = #name;          \
  };
#define MAYA_WRAPPED_ENTRY(name)                                                         \
  {#name, reinterpret_cast<AnyFunction>(&Wrapper<call_##name, decltype(&::name)>::call), \
   &Wrapper<call_##name, decltype(&::name)>::body},

inline WrappedCalls in_order(std::vector<WrappedCall>& calls) {
  std::sort(calls.begin(), calls.end(),
            [](const WrappedCall& a, const WrappedCall& b) { return std::strcmp(a.name, b.name) < 0; });
  return {calls.data(), static_cast<uint32_t>(calls.size())};
}

}  // namespace maya::cupti
