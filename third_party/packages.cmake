include(${CMAKE_CURRENT_LIST_DIR}/cuda_headers.cmake)

# Debian 12 is the version floor of each.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(CLI11 2.1 REQUIRED)
if(MAYA_BUILD_TESTS)
  find_package(Catch2 2.13 REQUIRED)
endif()
find_package(nlohmann_json 3.11 REQUIRED)
find_path(ZSTD_INCLUDE_DIR zstd.h REQUIRED)
find_path(LZ4_INCLUDE_DIR lz4.h REQUIRED)
