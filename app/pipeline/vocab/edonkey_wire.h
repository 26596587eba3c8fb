// SPDX-License-Identifier: BSD-3-Clause
// What eDonkey, eMule and Kad have on the wire, as eMule and aMule write it: what frames and
// datagrams begin with, bounds of files, tags. All integers are little endian. For the decoders of
// app/classify and app/content. Any core.
#ifndef SLUICE_EDONKEY_WIRE_H
#define SLUICE_EDONKEY_WIRE_H

#include <stdbool.h>
#include <stdint.h>

// The first octet of a frame, or of a datagram. Behind that of a frame its length stands in four
// octets, from the next one on: its opcode.
enum edonkey_proto {
	EDONKEY_ED2K = 0xe3,
	EDONKEY_EMULE = 0xc5,
	EDONKEY_PACKED = 0xd4,     // a frame: zlib behind the opcode
	EDONKEY_KAD = 0xe4,        // a datagram
	EDONKEY_KAD_PACKED = 0xe5, // ... with zlib behind the opcode
};

#define EDONKEY_HASH         16                // octets of a file's or a user's
#define EDONKEY_FRAME_HEADER 6                 // protocol, length, opcode
#define EDONKEY_FRAME_MAX    (2u << 20)        // no client takes longer ones
#define EDONKEY_BLOCK_MAX    184320u           // of a file that a request may ask for
#define EDONKEY_PART_BYTES   UINT64_C(9728000) // of a file, each with its digest
#define EDONKEY_SIZE_BITS    38                // of a file's size: 256 GiB

enum edonkey_tag_type {
	EDONKEY_TAG_HASH = 0x01,
	EDONKEY_TAG_STRING = 0x02, // behind its length in two octets
	EDONKEY_TAG_UINT32 = 0x03,
	EDONKEY_TAG_FLOAT = 0x04,
	EDONKEY_TAG_BOOL = 0x05,
	EDONKEY_TAG_BLOB = 0x07, // behind its length in four octets
	EDONKEY_TAG_UINT16 = 0x08,
	EDONKEY_TAG_UINT8 = 0x09,
	EDONKEY_TAG_OCTETS = 0x0a, // behind their length in one octet
	EDONKEY_TAG_UINT64 = 0x0b,
	EDONKEY_TAG_STRING_1 = 0x11, // of 1 ... 16 octets
	EDONKEY_TAG_STRING_16 = 0x20,
	EDONKEY_TAG_SHORT_NAME = 0x80, // its name is one octet, without a length
};

// Names of one octet.
enum edonkey_tag_name {
	EDONKEY_NAME = 0x01, // of a file, of a user
	EDONKEY_SIZE = 0x02,
	EDONKEY_SIZE_HIGH = 0x3a, // upper half, where the size is one of 32 bits
};

// Octets of a value whose type says how many; 0: it does not.
static inline uint32_t edonkey_value_bytes(uint8_t type)
{
	static const uint8_t sizes[] = {[EDONKEY_TAG_HASH] = 16,
		[EDONKEY_TAG_UINT32] = 4,
		[EDONKEY_TAG_FLOAT] = 4,
		[EDONKEY_TAG_BOOL] = 1,
		[EDONKEY_TAG_UINT16] = 2,
		[EDONKEY_TAG_UINT8] = 1,
		[EDONKEY_TAG_UINT64] = 8};

	if (type >= EDONKEY_TAG_STRING_1 && type <= EDONKEY_TAG_STRING_16)
		return type - EDONKEY_TAG_STRING_1 + 1u;
	return type < sizeof(sizes) ? sizes[type] : 0;
}

// Octets of the length in front of a value that has one; 0: it has none.
static inline uint32_t edonkey_value_length_bytes(uint8_t type)
{
	return type == EDONKEY_TAG_STRING   ? 2
	       : type == EDONKEY_TAG_OCTETS ? 1
	       : type == EDONKEY_TAG_BLOB   ? 4
					    : 0;
}

static inline bool edonkey_is_string(uint8_t type)
{
	return type == EDONKEY_TAG_STRING ||
	       (type >= EDONKEY_TAG_STRING_1 && type <= EDONKEY_TAG_STRING_16);
}

static inline bool edonkey_is_number(uint8_t type)
{
	return type == EDONKEY_TAG_UINT8 || type == EDONKEY_TAG_UINT16 ||
	       type == EDONKEY_TAG_UINT32 || type == EDONKEY_TAG_UINT64;
}

#endif
