// SPDX-License-Identifier: BSD-3-Clause
#include "steps.h"
#include <stddef.h>

uint64_t steps;

void __sanitizer_cov_trace_pc(void);
void *__real_memchr(const void *at, int byte, size_t length);
void *__real_memcpy(void *to, const void *from, size_t length);
void *__real_memmove(void *to, const void *from, size_t length);
void *__real_memmem(const void *at, size_t length, const void *word, size_t word_length);
int __real_memcmp(const void *a, const void *b, size_t length);
void *__real_memset(void *to, int byte, size_t length);
void *__wrap_memchr(const void *at, int byte, size_t length);
void *__wrap_memcpy(void *to, const void *from, size_t length);
void *__wrap_memmove(void *to, const void *from, size_t length);
void *__wrap_memmem(const void *at, size_t length, const void *word, size_t word_length);
int __wrap_memcmp(const void *a, const void *b, size_t length);
void *__wrap_memset(void *to, int byte, size_t length);

void __sanitizer_cov_trace_pc(void)
{
	steps++;
}

void *__wrap_memchr(const void *at, int byte, size_t length)
{
	const uint8_t *found = __real_memchr(at, byte, length);

	steps += (found ? (size_t)(found - (const uint8_t *)at) : length) / 8;
	return (void *)(uintptr_t)found;
}

void *__wrap_memcpy(void *to, const void *from, size_t length)
{
	steps += length / 8;
	return __real_memcpy(to, from, length);
}

void *__wrap_memmove(void *to, const void *from, size_t length)
{
	steps += length / 8;
	return __real_memmove(to, from, length);
}

void *__wrap_memmem(const void *at, size_t length, const void *word, size_t word_length)
{
	steps += length / 8;
	return __real_memmem(at, length, word, word_length);
}

int __wrap_memcmp(const void *a, const void *b, size_t length)
{
	steps += length / 8;
	return __real_memcmp(a, b, length);
}

void *__wrap_memset(void *to, int byte, size_t length)
{
	steps += length / 8;
	return __real_memset(to, byte, length);
}
