// SPDX-License-Identifier: BSD-3-Clause
// The token that lets the live page act (http.token_file). It is read once, before rights are given
// away, and only its digest is kept; it is compared in constant time. The right one is always
// taken: whoever guesses must not lock out who has it, and HTTP_TOKEN_MIN bytes made at random are
// not guessed. Of wrong ones HTTP_TOKEN_TRIES are told apart from the rest, and one more each
// HTTP_TOKEN_REFILL_S, so that guesses do not fill the log and the events. Control core only.
#ifndef SLUICE_HTTP_TOKEN_H
#define SLUICE_HTTP_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_TOKEN_MIN      24 // bytes; 256 bits in hex are 64
#define HTTP_TOKEN_MAX      256
#define HTTP_TOKEN_TRIES    10
#define HTTP_TOKEN_REFILL_S 6

struct http_token {
	bool set;
	uint8_t digest[32];
	unsigned wrong;    // as counted against HTTP_TOKEN_TRIES
	uint64_t since_ns; // when the last of them was given back
};

// A file of one line. It may be read by its owner (root, or who runs this) and its group alone.
// 0, or a negative errno and a message that says what to do.
int http_token_read(struct http_token *token, const char *path, char *err, size_t err_len);

enum http_token_answer {
	HTTP_TOKEN_RIGHT,
	HTTP_TOKEN_WRONG,
	HTTP_TOKEN_THROTTLED, // wrong, and too many wrong ones came before
};
enum http_token_answer http_token_try(
	struct http_token *token, const char *text, size_t length, uint64_t now_ns);

#endif
