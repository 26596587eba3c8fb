// SPDX-License-Identifier: BSD-3-Clause
// Whether this is the sanitized build (gcc says so in one way, clang in another): 1 or 0.
#ifndef SLUICE_TEST_SANITIZED_H
#define SLUICE_TEST_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

#endif
