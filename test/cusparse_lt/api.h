// The functions of cuSPARSELt that tests call. NVIDIA's header is not needed to build, so they are declared as a
// program sees them in memory; every object is 512 bytes of the caller's.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>

extern "C" {
int cusparseLtInit(void*);
int cusparseLtDestroy(const void*);
int cusparseLtGetVersion(const void*, int*);
const char* cusparseLtGetErrorName(int);
int cusparseLtDenseDescriptorInit(const void*, void*, int64_t, int64_t, int64_t, uint32_t, int, int);
int cusparseLtStructuredDescriptorInit(const void*, void*, int64_t, int64_t, int64_t, uint32_t, int, int, int);
int cusparseLtMatDescriptorDestroy(const void*);
int cusparseLtMatDescSetAttribute(const void*, void*, int, const void*, size_t);
int cusparseLtMatDescGetAttribute(const void*, const void*, int, void*, size_t);
int cusparseLtMatmulDescriptorInit(const void*, void*, int, int, const void*, const void*, const void*, const void*,
                                   int);
int cusparseLtMatmulDescSetAttribute(const void*, void*, int, const void*, size_t);
int cusparseLtMatmulDescGetAttribute(const void*, const void*, int, void*, size_t);
int cusparseLtMatmulAlgSelectionInit(const void*, void*, const void*, int);
int cusparseLtMatmulAlgSetAttribute(const void*, void*, int, const void*, size_t);
int cusparseLtMatmulAlgGetAttribute(const void*, const void*, int, void*, size_t);
int cusparseLtMatmulPlanInit(const void*, void*, const void*, const void*);
int cusparseLtMatmulPlanDestroy(const void*);
int cusparseLtMatmulGetWorkspace(const void*, const void*, size_t*);
int cusparseLtMatmul(const void*, const void*, const void*, const void*, const void*, const void*, const void*, void*,
                     void*, CUstream*, int32_t);
int cusparseLtMatmulSearch(const void*, void*, const void*, const void*, const void*, const void*, const void*, void*,
                           void*, CUstream*, int32_t);
int cusparseLtSpMMACompressedSize2(const void*, const void*, size_t*, size_t*);
int cusparseLtSpMMACompress2(const void*, const void*, int, int, const void*, void*, void*, CUstream);
int cusparseLtSpMMAPrune(const void*, const void*, const void*, void*, int, CUstream);
}
