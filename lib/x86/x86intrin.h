// SPDX-License-Identifier: BSD-3-Clause
// Replaces the compiler's header of the same name for the files that include DPDK's rte_vect.h.
// That one declares the instructions of all x86 processors, which is two thirds of the compile time
// of a file that includes rte_mbuf.h. A build without AVX (pkg-config's -march=corei7) can use none
// beyond SSE4.2.
#pragma once
#if defined __AVX__ || !defined __SSE4_2__
#include_next <x86intrin.h>
#else
#include <nmmintrin.h>
#endif
