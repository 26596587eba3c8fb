// SPDX-License-Identifier: BSD-3-Clause
#include "quic_craft.h"
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

static size_t put_be(uint8_t *at, uint64_t value, unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		at[i] = (uint8_t)(value >> (8 * (width - 1 - i)));
	return width;
}

static size_t put_varint(uint8_t *at, uint32_t value)
{
	if (value < 1u << 6)
		return put_be(at, value, 1);
	return value < 1u << 14 ? put_be(at, 0x4000u | value, 2)
				: put_be(at, 0x80000000u | value, 4);
}

static void must(int good)
{
	if (!good)
		abort();
}

static void seal(const struct quic_keys *keys, uint32_t number, const uint8_t *header,
	size_t header_length, const uint8_t *plain, size_t length, uint8_t *out)
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	uint8_t nonce[12];
	int n;

	memcpy(nonce, keys->iv, 12);
	for (unsigned i = 0; i < 4; i++)
		nonce[11 - i] ^= (uint8_t)(number >> (8 * i));
	must(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_gcm(), NULL, keys->key, nonce));
	must(EVP_EncryptUpdate(ctx, NULL, &n, header, (int)header_length));
	must(EVP_EncryptUpdate(ctx, out, &n, plain, (int)length));
	must(EVP_EncryptFinal_ex(ctx, out + length, &n));
	must(EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, 16, out + length));
	EVP_CIPHER_CTX_free(ctx);
}

static void mask_of(const struct quic_keys *keys, const uint8_t *sample, uint8_t mask[16])
{
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n;

	must(ctx && EVP_EncryptInit_ex(ctx, EVP_aes_128_ecb(), NULL, keys->header, NULL));
	must(EVP_EncryptUpdate(ctx, mask, &n, sample, 16));
	EVP_CIPHER_CTX_free(ctx);
}

size_t quic_seal(
	const struct quic_packet *packet, const uint8_t *frames, size_t length, uint8_t *out)
{
	uint8_t plain[4096] = {0}, mask[16];
	unsigned type = quic_is_version_2(packet->version) ? 1 : 0;
	struct quic_keys keys;
	size_t at = 0;

	must(quic_keys_derive(packet->version, packet->of_server ? QUIC_SERVER : QUIC_CLIENT,
		packet->keyed ? packet->keyed : packet->cid,
		packet->keyed ? packet->keyed_length : packet->cid_length, &keys));
	out[at++] = (uint8_t)(0xc0 | type << 4 | (packet->number_length - 1));
	at += put_be(out + at, packet->version, 4);
	out[at++] = (uint8_t)packet->cid_length;
	memcpy(out + at, packet->cid, packet->cid_length);
	at += packet->cid_length;
	out[at++] = 0;
	at += put_varint(out + at, packet->token_length);
	if (packet->token_length)
		memcpy(out + at, packet->token, packet->token_length);
	at += packet->token_length;
	size_t number_at = at + 2, head = number_at + packet->number_length; // two bytes of length

	must(length <= sizeof(plain) && packet->padded_to <= sizeof(plain));
	memcpy(plain, frames, length);
	if (head + length + 16 < packet->padded_to)
		length = packet->padded_to - head - 16;
	at += put_be(out + at, 0x4000u | (packet->number_length + length + 16), 2);
	at += put_be(out + at, packet->number, packet->number_length);
	seal(&keys, packet->number, out, at, plain, length, out + at);
	mask_of(&keys, out + number_at + 4, mask);
	out[0] ^= mask[0] & 0x0f;
	for (unsigned i = 0; i < packet->number_length; i++)
		out[number_at + i] ^= mask[1 + i];
	return at + length + 16;
}

size_t quic_crypto_frame(
	uint8_t type, uint32_t offset, const uint8_t *bytes, size_t length, uint8_t *out)
{
	size_t at = 0;

	out[at++] = type;
	at += put_varint(out + at, offset);
	at += put_varint(out + at, (uint32_t)length);
	memcpy(out + at, bytes, length);
	return at + length;
}

static size_t put_extension(uint8_t *at, unsigned type, const uint8_t *body, size_t length)
{
	put_be(at, type, 2);
	put_be(at + 2, length, 2);
	if (length)
		memcpy(at + 4, body, length);
	return 4 + length;
}

size_t quic_hello(const char *name, size_t filler, uint8_t *out)
{
	static const uint8_t ciphers[] = {0, 4, 0x13, 0x01, 0x13, 0x02, 1, 0};
	static const uint8_t alpn[] = {0, 3, 2, 'h', '3'}, versions[] = {2, 3, 4};
	size_t at = 4, n = strlen(name), begin;
	uint8_t sni[300], nothing[4096] = {0};

	must(n < 256 && filler <= sizeof(nothing));
	at += put_be(out + at, 0x0303, 2);
	memset(out + at, 0x5a, 32);
	at += 32;
	out[at++] = 0;
	memcpy(out + at, ciphers, sizeof(ciphers));
	at += sizeof(ciphers);
	begin = at;
	at += 2;
	if (filler)
		at += put_extension(out + at, 0x1234, nothing, filler);
	put_be(sni, n + 3, 2);
	sni[2] = 0;
	put_be(sni + 3, n, 2);
	memcpy(sni + 5, name, n);
	at += put_extension(out + at, 0, sni, n + 5);
	at += put_extension(out + at, 16, alpn, sizeof(alpn));
	at += put_extension(out + at, 43, versions, sizeof(versions));
	put_be(out + begin, at - begin - 2, 2);
	out[0] = 1;
	put_be(out + 1, at - 4, 3);
	return at;
}
