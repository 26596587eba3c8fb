// SPDX-License-Identifier: BSD-3-Clause
// As x86intrin.h; rte_vect.h includes this one when the compiler is clang.
#pragma once
#if defined __AVX__ || !defined __SSE4_2__
#include_next <immintrin.h>
#else
#include <nmmintrin.h>
#endif
