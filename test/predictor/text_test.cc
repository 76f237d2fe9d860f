#include "predictor/text.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "predictor/json_writer.h"
#include "predictor/numbers.h"
#include "test/predictor/json_check.h"

using namespace maya::predictor;

TEST_CASE("names are shortened from the inside") {
  CHECK(shorten("short", 10) == "short");
  const std::string kernel =
      "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, "
      "at::native::FillFunctor<float>, std::array<char*, 1ul>)";
  CHECK(shorten(kernel, 100) == "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char*, 1ul> >");
  CHECK(shorten(kernel, 60) == "vectorized_elementwise_kernel<4, FillFunctor<float>, arra...");
  CHECK(shorten("void at::native::(anonymous namespace)::layer_norm<float, c10::Half>(int, float)", 40) ==
        "layer_norm<float, Half>");
  CHECK(shorten("my::at::kernel_with_a_name(int)", 30) == "my::at::kernel_with_a_name");
  CHECK(shorten("(int, int, int)", 5) == "(i...");
  CHECK(shorten("abcdef", 2) == "ab");
}

TEST_CASE("patterns: part of a name, or stars and question marks for the whole") {
  CHECK(matches("cublasGemmEx", "gemm"));
  CHECK_FALSE(matches("cublasGemmEx", "conv"));
  CHECK(matches("cublasGemmEx", "cublas*ex"));
  CHECK_FALSE(matches("cublasGemmEx", "gemm*"));
  CHECK(matches("cublasGemmEx", "cublas????Ex"));
  CHECK(matches("", "*"));
  CHECK_FALSE(matches("", "?"));
  CHECK(matches(std::string(2000, 'a'), "*a*a*a*a*a*a*a*a"));
  CHECK_FALSE(matches(std::string(2000, 'a'), "*a*a*a*a*a*a*a*b"));
}

TEST_CASE("numbers") {
  CHECK(fixed(1.5, 2) == "1.50");
  CHECK(fixed(-0.001, 2) == "0.00");
  CHECK(fixed(std::nan(""), 1) == "0.0");
  CHECK(fixed(1e300, 0).size() == 301);
  CHECK(bytes_for_people(0) == "0 B");
  CHECK(bytes_for_people(1023) == "1023 B");
  CHECK(bytes_for_people(85028896768) == "79.19 GiB");
  CHECK(bytes_for_people(std::numeric_limits<uint64_t>::max()) == "16777216.00 TiB");
  CHECK(whole_ns(-1) == 0);
  CHECK(whole_ns(std::nan("")) == 0);
  CHECK(whole_ns(1.6) == 2);
  CHECK(whole_ns(1e300) == kLongest_ns);
  CHECK(median({}) == 0);
  CHECK(median({5, 1, 9}) == 5);
  CHECK(median({5, 1, 9, 7}) == 5);
  CHECK(quantile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.1) == 1);
  CHECK(quantile({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.9) == 9);
  CHECK(saturating_add(UINT64_MAX, 1) == UINT64_MAX);
  CHECK(saturating_subtract(1, 2) == 0);
}

TEST_CASE("JSON: escapes, bytes that are no UTF-8, structure") {
  CHECK(json_string("a\"b\\c\n\x01") == "\"a\\\"b\\\\c\\n\\u0001\"");
  CHECK(json_string("\xc3\xa9\xff") == "\"\xc3\xa9\xef\xbf\xbd\"");
  CHECK(json_string("\xed\xa0\x80") == "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");  // a surrogate is no character
  JsonWriter json(2);
  json.begin_object()
      .key("a")
      .integer(1)
      .key("b")
      .begin_array()
      .number(0.5, 3)
      .null()
      .boolean(true)
      .begin_object()
      .end_object()
      .end_array();
  json.key("c").text("x").end_object();
  CHECK(json.str() == "{\n  \"a\": 1,\n  \"b\": [\n    0.500,\n    null,\n    true,\n    {}\n  ],\n  \"c\": \"x\"\n}");
  CHECK(maya::test::Json::parse(json.str())["b"][0].number == 0.5);
}
