# Finds the CUDA API headers and defines the interface target `maya_cuda_headers`, and the variable MAYA_CUDA_12_RUNTIME_DIR (end of this
# file). Nothing is copied into the source tree.
#
# Each header is looked for on its own, and the first place that has it in a version no older than the floor wins:
#   1. MAYA_CUDA_INCLUDE_DIRS, when set;
#   2. the CUDA toolkit (CUDAToolkit_ROOT, CUDA_HOME, CUDA_PATH or /usr/local/cuda);
#   3. NVIDIA's wheels in the Python environment in use (python3, or MAYA_PYTHON);
#   4. pinned wheels, fetched by pip into the build folder; only their headers are kept.
# The floors are those of torch 2.15.0's wheels: structs and enumerators of those releases are part of what we answer.

set(MAYA_CUDA_INCLUDE_DIRS "" CACHE STRING "Folders with CUDA, cuDNN, NCCL, NVML and CUPTI headers, looked at first")
set(MAYA_PYTHON "python3" CACHE STRING "Python whose NVIDIA wheels are looked at, and whose pip fetches the pinned ones")

# Add-on libraries come first: their folder must win over a toolkit that carries an older copy.
# header | header in the same folder that states the version | macro (empty: any version will do) | floor | pinned wheel
set(MAYA_CUDA_HEADERS
  "cudnn.h|cudnn_version.h|CUDNN_MINOR|26|nvidia-cudnn-cu13==9.26.0.51"
  "nccl.h|nccl.h|NCCL_MINOR|30|nvidia-nccl-cu13==2.30.7"
  "nvml.h|nvml.h|NVML_API_VERSION|13|nvidia-nvml-dev==13.5.37"
  "cuda.h|cuda.h|CUDA_VERSION|13020|nvidia-cuda-runtime==13.2.86"
  "cuda_runtime_api.h|cuda_runtime_api.h|CUDART_VERSION|13020|nvidia-cuda-runtime==13.2.86"
  "crt/host_defines.h|cuda.h|CUDA_VERSION|13020|nvidia-cuda-crt==13.2.86"
  "cublas_v2.h|cublas_api.h|CUBLAS_VER_MINOR|4|nvidia-cublas==13.4.1.3"
  "cublasLt.h|cublas_api.h|CUBLAS_VER_MINOR|4|nvidia-cublas==13.4.1.3"
  "cupti.h|cupti_version.h|CUPTI_API_VERSION|130200|nvidia-cuda-cupti==13.2.86"
  "nvtx3/nvToolsExt.h|nvtx3/nvToolsExt.h|NVTX_VERSION|3|nvidia-nvtx==13.2.86"
  "nv/target|nv/target|||nvidia-cuda-cccl==13.3.5.0.6"
)

# True when `place` has the header and states a version no older than the floor.
function(maya_header_is_new_enough place header companion macro floor result)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT EXISTS ${place}/${header} OR NOT EXISTS ${place}/${companion})
    return()
  endif()
  if(macro STREQUAL "")
    set(${result} TRUE PARENT_SCOPE)
    return()
  endif()
  file(STRINGS ${place}/${companion} lines REGEX "#[ ]*define[ \t]+${macro}[ \t]+[0-9]+")
  if(lines)
    list(GET lines 0 line)
    string(REGEX REPLACE ".*${macro}[ \t]+([0-9]+).*" "\\1" value "${line}")
    if(value GREATER_EQUAL floor)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

function(maya_fetch_wheel_headers requirement destination)
  if(EXISTS ${destination}/.done)
    return()
  endif()
  message(STATUS "CUDA headers: fetching ${requirement}")
  file(MAKE_DIRECTORY ${destination})
  execute_process(COMMAND ${MAYA_PYTHON} -m pip download --quiet --no-deps --only-binary :all: --dest ${destination}/wheel ${requirement}
    RESULT_VARIABLE status ERROR_VARIABLE error)
  if(status)
    message(FATAL_ERROR "CUDA headers: pip cannot fetch ${requirement}: ${error}; install it or set MAYA_CUDA_INCLUDE_DIRS")
  endif()
  file(GLOB wheel ${destination}/wheel/*.whl)
  file(ARCHIVE_EXTRACT INPUT ${wheel} DESTINATION ${destination} PATTERNS "*/include/*")
  file(REMOVE_RECURSE ${destination}/wheel)
  file(TOUCH ${destination}/.done)
endfunction()

set(search_places ${MAYA_CUDA_INCLUDE_DIRS})
foreach(root ${CUDAToolkit_ROOT} $ENV{CUDA_HOME} $ENV{CUDA_PATH} /usr/local/cuda)
  list(APPEND search_places ${root}/include)
endforeach()
execute_process(COMMAND ${MAYA_PYTHON} -c "import sysconfig; print(sysconfig.get_paths()['purelib'])"
  OUTPUT_VARIABLE site_packages OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
file(GLOB wheel_places ${site_packages}/nvidia/*/include)
list(APPEND search_places ${wheel_places})
# The C++ core headers lie in a folder of their own, with the toolkit as with the wheels.
foreach(place ${search_places})
  list(APPEND search_places ${place}/cccl)
endforeach()

set(include_dirs "")
foreach(row ${MAYA_CUDA_HEADERS})
  string(REPLACE "|" ";" row "${row}")
  list(GET row 0 header)
  list(GET row 1 companion)
  list(GET row 2 macro)
  list(GET row 3 floor)
  list(GET row 4 wheel)
  string(REGEX REPLACE "[^A-Za-z0-9.]" "_" folder ${wheel})
  set(fetched_place ${CMAKE_BINARY_DIR}/cuda_headers/${folder})
  file(GLOB fetched ${fetched_place}/nvidia/*/include ${fetched_place}/nvidia/*/include/cccl)
  set(found "")
  foreach(place ${search_places} ${fetched})
    maya_header_is_new_enough(${place} ${header} ${companion} "${macro}" "${floor}" good)
    if(good)
      set(found ${place})
      break()
    endif()
  endforeach()
  if(NOT found)
    maya_fetch_wheel_headers(${wheel} ${fetched_place})
    file(GLOB fetched ${fetched_place}/nvidia/*/include ${fetched_place}/nvidia/*/include/cccl)
    foreach(place ${fetched})
      if(EXISTS ${place}/${header})
        set(found ${place})
      endif()
    endforeach()
    if(NOT found)
      message(FATAL_ERROR "CUDA headers: ${wheel} has no ${header}; set MAYA_CUDA_INCLUDE_DIRS to a folder that has it")
    endif()
  endif()
  list(APPEND include_dirs ${found})
endforeach()
list(REMOVE_DUPLICATES include_dirs)
message(STATUS "CUDA headers: ${include_dirs}")

add_library(maya_cuda_headers INTERFACE)
target_include_directories(maya_cuda_headers SYSTEM INTERFACE ${include_dirs})

# The libraries of CUDA 12 are built from the same sources. Only the runtime's structs and signatures differ, so only its headers are taken
# from CUDA 12, put together in a folder of the build that libcudart.so.12 searches before the others; its driver headers are those of above.
# Places are those of above; any release of CUDA 12 from 12.8 on will do.
set(MAYA_CUDA_12_INCLUDE_DIRS "" CACHE STRING "Folders with the runtime headers of CUDA 12, looked at first")
set(runtime_12_wheel "nvidia-cuda-runtime-cu12==12.9.79")
set(runtime_12_headers cuda_runtime_api.h driver_types.h vector_types.h builtin_types.h device_types.h surface_types.h texture_types.h
  cuda_device_runtime_api.h)
set(runtime_12_place "")
foreach(place ${MAYA_CUDA_12_INCLUDE_DIRS} ${search_places})
  maya_header_is_new_enough(${place} cuda_runtime_api.h cuda_runtime_api.h CUDART_VERSION 12080 new_enough)
  maya_header_is_new_enough(${place} cuda_runtime_api.h cuda_runtime_api.h CUDART_VERSION 13000 too_new)
  if(new_enough AND NOT too_new AND NOT runtime_12_place)
    set(runtime_12_place ${place})
  endif()
endforeach()
if(NOT runtime_12_place)
  string(REGEX REPLACE "[^A-Za-z0-9.]" "_" folder ${runtime_12_wheel})
  maya_fetch_wheel_headers(${runtime_12_wheel} ${CMAKE_BINARY_DIR}/cuda_headers/${folder})
  set(runtime_12_place ${CMAKE_BINARY_DIR}/cuda_headers/${folder}/nvidia/cuda_runtime/include)
endif()
message(STATUS "CUDA 12 runtime headers: ${runtime_12_place}")
set(runtime_12_staged ${CMAKE_BINARY_DIR}/cuda_headers/runtime_12)
foreach(header ${runtime_12_headers})
  configure_file(${runtime_12_place}/${header} ${runtime_12_staged}/${header} COPYONLY)
endforeach()
set(MAYA_CUDA_12_RUNTIME_DIR ${runtime_12_staged})
