// SPDX-License-Identifier: BSD-3-Clause
// A secondary flow that a control connection announces: FTP's data, DCC, what
// messengers and Gnutella pass from one user to the other. It inherits the application, and whose
// file it is.
//
// Who announces may lie. A decoder tells only of flows one end of which is an end of the flow that
// tells: who speaks may name itself as the one that will accept (then `peer` may be anybody); of a
// third party it may only say that the end which hears it will connect there (`peer` is that end).
// So nobody can have a flow between two others taken for what it is not.
#ifndef SLUICE_EXPECTATION_H
#define SLUICE_EXPECTATION_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// X(symbol, word).
#define EXPECTED_AS(X)                                                                     \
	X(FTP_DATA, "ftp-data")           /* RFC 959, RFC 2428 */                          \
	X(TFTP, "tftp")                   /* the server's answer from a port of its own */ \
	X(DCC, "dcc")                     /* of IRC */                                     \
	X(BYTESTREAM, "socks5")           /* XEP-0065, XEP-0260 */                         \
	X(MSNFTP, "msnftp")               /* MSN: the older way */                         \
	X(MSN_DIRECT, "msn-direct")       /* MSN: the bridge TCPv1 */                      \
	X(OFT, "oft")                     /* OSCAR: files between clients */               \
	X(GNUTELLA_PUSH, "gnutella-push") /* PUSH, answered by GIV */                      \
	X(SOULSEEK_FILE, "soulseek-file") /* a transfer that is offered */                 \
	X(MEDIA, "media")                 /* of a call: RTP, RTCP */

enum expected_as {
#define X(symbol, word) EXPECTED_##symbol,
	EXPECTED_AS(X)
#undef X
		EXPECTED_AS_MAX
};

static inline const char *expected_as_word(unsigned as)
{
	static const char *const words[] = {
#define X(symbol, word) word,
		EXPECTED_AS(X)
#undef X
	};
	return as < EXPECTED_AS_MAX ? words[as] : "?";
}

// Whose file, and which. Names that are longer are cut; NUL behind them, always. Events and hints
// carry a label whole: their bounds are its own.
#define TRANSFER_USER_BYTES 52
#define TRANSFER_FILE_BYTES 128

enum transfer_what {
	TRANSFER_NOT_SAID, // nor is `half`; a file, where it has a name
	TRANSFER_FILE,
	TRANSFER_LISTING, // of a folder: not a file
	TRANSFER_CHAT,    // lines of text both ways; `half` is that of who is `user`
	TRANSFER_WHAT_MAX,
};

struct transfer_label {
	char user[TRANSFER_USER_BYTES]; // who is logged in, or offers; "": not said
	uint8_t what;                   // enum transfer_what
	uint8_t half;                   // of the announced flow (enum half) that carries it
	bool begins_cut; // the beginning of `file` is missing, in the place of its end
	bool coded;      // its bytes are not the file's, but coded (FTP's MODE, DCC inside TLS)
	char file[TRANSFER_FILE_BYTES]; // as it was written; "": not said, or not a file
	uint64_t size;                  // bytes of the whole file; 0: not said
	uint64_t range_from;            // offset in the file of the first byte that comes
};

struct expectation {
	uint8_t address[16]; // of the side that will accept the connection (IPv4: v4-mapped)
	uint8_t peer[16];    // of the side that will connect; all 0: anybody
	uint16_t port;       // host order
	uint16_t app;
	uint8_t l4_proto;
	uint8_t as;     // enum expected_as
	uint8_t amends; // more of what was reported before (same ends); nothing where that is over
	// One end alone has said so (TFTP's requests are answered on the announced flow), or has
	// named a third one's address: names no application of the flow that comes; its content is
	// decoded so, until it is found to be of another. The first is set by the pipeline.
	uint8_t claimed;
	uint32_t ttl_s;
	// Number of the file that `label` is of in records of the flow that announces (item_id.h);
	// 0: it has none there.
	uint32_t item;
	struct transfer_label label;
};

// A copy that fits. Never inside a character of UTF-8.
static inline void transfer_text_set(char *out, size_t size, const uint8_t *from, size_t length)
{
	size_t n = length < size ? length : size - 1;

	while (n && n < length && (from[n] & 0xc0) == 0x80)
		n--;
	if (n)
		memcpy(out, from, n);
	memset(out + n, 0, size - n);
}

#endif
