// Construction of Givens and modified Givens rotations on the host, as BLAS defines them (Lawson, Hanson, Kincaid,
// Krogh: "Basic Linear Algebra Subprograms for Fortran Usage", ACM TOMS 5, 1979). In host pointer mode cuBLAS computes
// them on the CPU, so the values are real.
#pragma once

#include <complex>

namespace maya::cublas {

// On return a is the length r, b the value z from which the rotation can be rebuilt, c and s cosine and sine.
template <typename R>
void make_rotation(R* a, R* b, R* c, R* s);
// Complex form: a is replaced by r; b stays.
template <typename R>
void make_rotation(std::complex<R>* a, const std::complex<R>* b, R* c, std::complex<R>* s);

// Modified rotation: param[0] is the flag, then h11, h21, h12, h22.
template <typename R>
void make_modified_rotation(R* d1, R* d2, R* x1, R y1, R param[5]);

}  // namespace maya::cublas
