#include "driver_shim/cublas/givens.h"

#include <cmath>

namespace maya::cublas {

template <typename R>
void make_rotation(R* a, R* b, R* c, R* s) {
  const R magnitude_a = std::abs(*a), magnitude_b = std::abs(*b);
  if (magnitude_a + magnitude_b == 0) {
    *c = 1, *s = 0, *a = 0, *b = 0;
    return;
  }
  const R sign = std::copysign(R{1}, magnitude_a > magnitude_b ? *a : *b);
  const R length = sign * std::hypot(*a, *b);
  *c = *a / length;
  *s = *b / length;
  const R rebuild = magnitude_a > magnitude_b ? *s : *c != 0 ? 1 / *c : R{1};
  *a = length, *b = rebuild;
}

template <typename R>
void make_rotation(std::complex<R>* a, const std::complex<R>* b, R* c, std::complex<R>* s) {
  const R magnitude_a = std::abs(*a);
  if (magnitude_a == 0) {
    *c = 0, *s = 1, *a = *b;
    return;
  }
  const R length = std::hypot(magnitude_a, std::abs(*b));
  const std::complex<R> direction = *a / magnitude_a;
  *c = magnitude_a / length;
  *s = direction * std::conj(*b) / length;
  *a = direction * length;
}

namespace {

template <typename R>
struct Modified {
  R flag = 0, h11 = 0, h21 = 0, h12 = 0, h22 = 0;

  // Flags 0 and 1 leave out two entries of known value; scaling makes all four explicit.
  void make_explicit() {
    if (flag == 0) h11 = 1, h22 = 1;
    if (flag == 1) h21 = -1, h12 = 1;
    flag = -1;
  }
};

}  // namespace

template <typename R>
void make_modified_rotation(R* d1, R* d2, R* x1, R y1, R param[5]) {
  constexpr R kScale = 4096, kLargest = kScale * kScale, kSmallest = 1 / kLargest;
  Modified<R> h;
  const auto give_up = [&] {
    h = {-1, 0, 0, 0, 0};
    *d1 = *d2 = *x1 = 0;
  };
  const R p2 = *d2 * y1;
  if (*d1 < 0) {
    give_up();
  } else if (p2 == 0) {
    param[0] = -2;  // the identity: nothing else is written
    return;
  } else {
    const R p1 = *d1 * *x1, q1 = p1 * *x1, q2 = p2 * y1;
    if (std::abs(q1) > std::abs(q2)) {
      h.h21 = -y1 / *x1, h.h12 = p2 / p1;
      const R u = 1 - h.h12 * h.h21;
      if (u > 0) {
        *d1 /= u, *d2 /= u, *x1 *= u;
      } else {
        give_up();
      }
    } else if (q2 < 0) {
      give_up();
    } else {
      h.flag = 1, h.h11 = p1 / p2, h.h22 = *x1 / y1;
      const R u = 1 + h.h11 * h.h22, swapped = *d2 / u;
      *d2 = *d1 / u, *d1 = swapped, *x1 = y1 * u;
    }
    while (*d1 != 0 && (*d1 <= kSmallest || *d1 >= kLargest)) {
      h.make_explicit();
      const R scale = *d1 <= kSmallest ? kScale : 1 / kScale;
      *d1 *= scale * scale, *x1 /= scale, h.h11 /= scale, h.h12 /= scale;
    }
    while (*d2 != 0 && (std::abs(*d2) <= kSmallest || std::abs(*d2) >= kLargest)) {
      h.make_explicit();
      const R scale = std::abs(*d2) <= kSmallest ? kScale : 1 / kScale;
      *d2 *= scale * scale, h.h21 /= scale, h.h22 /= scale;
    }
  }
  param[0] = h.flag;
  if (h.flag != 0) param[1] = h.h11, param[4] = h.h22;
  if (h.flag != 1) param[2] = h.h21, param[3] = h.h12;
}

template void make_rotation(float*, float*, float*, float*);
template void make_rotation(double*, double*, double*, double*);
template void make_rotation(std::complex<float>*, const std::complex<float>*, float*, std::complex<float>*);
template void make_rotation(std::complex<double>*, const std::complex<double>*, double*, std::complex<double>*);
template void make_modified_rotation(float*, float*, float*, float, float[5]);
template void make_modified_rotation(double*, double*, double*, double, double[5]);

}  // namespace maya::cublas
