// SPDX-License-Identifier: BSD-3-Clause
// The same as p2p_forms for binary messages: eDonkey and Kad, Gnutella, Soulseek.
#include "lib/classify/classify_forms.h"

#define USER_HASH "\x9b\x12\xe0\x47\x5d\x0e\x31\xfc\x66\x0d\xb3\x94\x2a\x7e\x6f\x58"
#define CONTACT   HASH16 "\x07\x02\0\xc0\x40\x12\x36\x12\x02"
#define BLOCKS    "\0\0\0\0\0\xd0\x02\0\0\0\0\0\0\xd0\x02\0\0\xa0\x05\0\0\0\0\0" // 2 blocks of 184,320
#define BLOCKS64                                                   \
	"\0\0\0\0\x01\0\0\0\0\xd0\x02\0\x01\0\0\0\0\0\0\0\0\0\0\0" \
	"\0\xd0\x02\0\x01\0\0\0\0\xa0\x05\0\x01\0\0\0\0\0\0\0\0\0\0\0"

static void test_edonkey(void **state)
{
	// one frame, from the middle, of either side
	static const struct form forms[] = {
		// a packed part of which 20 octets are here, of a file of more than 4 GiB, too
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\0\x20\0\0" HASH20),
		FORM("\xc5\x31\0\0\0\xa1" HASH16 "\0\0\x01\0\x02\0\0\0\0\x20\0\0" HASH20),
		FORM("\xc5\x25\0\0\0\xa2" HASH16 "\0\0\x01\0\x02\0\0\0\x04\0\x01\0\x02\0\0\0data"),
		FORM("\xe3\x29\0\0\0\x47" HASH16 BLOCKS),
		FORM("\xc5\x41\0\0\0\xa3" HASH16 BLOCKS64),
		// hints: a hash, a name, bits of 9 parts, a server's words
		FORM("\xe3\x11\0\0\0\x4f" HASH16),
		FORM("\xe3\x11\0\0\0\x54" HASH16),
		FORM("\xe3\x1b\0\0\0\x59" HASH16 "\x08\0song.mp3"),
		FORM("\xe3\x15\0\0\0\x50" HASH16 "\x09\0\xff\x01"),
		FORM("\xe3\x0f\0\0\0\x38\x0c\0hello there."),
	};
	static const struct form others[] = {
		// more than there is of it; too large a block; a start behind the end
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\x10\0\0\0" HASH20),
		FORM("\xc5\x2d\0\0\0\x40" HASH16 "\0\0\x01\0\0\0\x20\0" HASH20),
		FORM("\xe3\x29\0\0\0\x47" HASH16
		     "\0\0\0\0\0\xd0\x02\0\0\0\0\0\0\xd0\x03\0\0\xa0\x05\0\0\0\0\0"),
		FORM("\xe3\x29\0\0\0\x47" HASH16
		     "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
		FORM("\xe3\x29\0\0\0\x47" HASH16 ZERO8 ZERO8 ZERO8),
		// no hash, another length of the name, words that are none
		FORM("\xe3\x11\0\0\0\x4f" ZERO8 ZERO8),
		FORM("\xe3\x1b\0\0\0\x59" HASH16 "\x09\0song.mp3"),
		FORM("\xe3\x0f\0\0\0\x38\x0c\0hello\0there."),
		FORM("\xe3\x0f\0\0\0\x38\x0b\0hello there."),
	};

	(void)state;
	STREAM(forms, "edonkey");
	NEVER(others, "edonkey");
	rig_random(rig, IPPROTO_TCP, LITERAL("\xc5\x2d\0"), "edonkey");
	rig_random(rig, IPPROTO_TCP, LITERAL("\xe3\x29\0\0\0\x47"), "edonkey");
}

static void test_edonkey_datagrams(void **state)
{
	static const struct form forms[] = {
		// Kad of the first generation: bootstrap's answer
		FORM("\xe4\x08\x02\0" CONTACT CONTACT),
		FORM("\xe5\x08\x78\xda\x65" HASH16),
		FORM("\xe5\x40\x78\x9c\x65" HASH16),
		// servers' answers alone: status, description (both forms), result
		FORM("\xe3\x97\x12\x34\xaa\x55\x10\x27\0\0\x40\x42\x0f\0"),
		FORM("\xe3\xa3\x08\0a server\x09\0its words"),
		FORM("\xe3\xa3\xff\xf0\x12\x34\x01\0\0\0\x02\x01\0\x01\x04\0name"),
		FORM("\xe3\x99" HASH16 "\x07\x02\0\xc0\x36\x12\x01\0\0\0\x02\x01\0\x01\x04\0name"),
		// clients: connect to me
		FORM("\xc5\x95\x36\x12" USER_HASH "\x07"),
	};
	// opcode and length alone: nothing, twice a hint
	static const struct form weak[] = {
		// Kad of the first generation: bootstrap, hello, its answer
		FORM("\xe4\0" CONTACT),
		FORM("\xe4\x10" CONTACT),
		FORM("\xe4\x18" CONTACT),
		FORM("\xe4\x22" HASH16 "\0"),
		FORM("\xe4\x4b" HASH16 "\x07"),
		FORM("\xe4\x4b" HASH16 "\x07\x01"),
		FORM("\xe4\x51" HASH16 USER_HASH "\x36\x12"),
		FORM("\xe4\x52" HASH16 HASH16 "\x36\x12"),
		FORM("\xe4\x5a" HASH16 USER_HASH "\x36\x12\x03"),
		FORM("\xe3\x9b" HASH16 "\x02\x07\x02\0\xc0\x36\x12\x09\x02\0\xc0\x36\x12"),
		FORM("\xc5\x90" HASH16),
		FORM("\xc5\x90" HASH16 "\x09\0\xff\x01\x03\0"),
		FORM("\xc5\x94" HASH16 USER_HASH "\x03\0"),
	};
	static const struct form others[] = {
		FORM("\xe4\x10" HASH16 "\x07\x02\0\xc0\x40\x12\x36\x12\x05"), // a type that is none
		FORM("\xe4\x10" HASH16 "\x07\x02\0\xc0\0\0\x36\x12\x02"),     // no port
		FORM("\xe4\x10" ZERO8 ZERO8 "\x07\x02\0\xc0\x40\x12\x36\x12\x02"),
		FORM("\xe4\x08\x03\0" CONTACT CONTACT),
		FORM("\xe4\x22" HASH16 "\x01"),
		FORM("\xe4\x4b" HASH16 "\x65"),
		FORM("\xe4\x52" HASH16 ZERO8 ZERO8 "\x36\x12"),
		FORM("\xe5\x08\x78\xda\x61" HASH16), // a block that is stored
		FORM("\xe5\x08\x58\x85\x65" HASH16), // a window that nobody has
		FORM("\xe3\x97\x12\x34\xaa\x56\x10\x27\0\0\x40\x42\x0f\0"),
		FORM("\xe3\x97\x12\x34\xaa\x55\x40\x42\x0f\0\x10\x27\0\0"), // more users than files
		FORM("\xe3\xa3\x08\0a server\x08\0its words"),
		FORM("\xe3\x9b" HASH16 "\x03\x07\x02\0\xc0\x36\x12\x09\x02\0\xc0\x36\x12"),
		FORM("\xc5\x90" HASH16 "\x09\0\xff\x03\0"),
		FORM("\xc5\x95\x36\x12" HASH16 "\x07"),
	};
	static const char search[] = "\xe4\x30" HASH16 "\0", found[] = "\xe4\x38" HASH16 "\x01\0";
	static const char publish[] = "\xe4\x40" HASH16 "\x01\0" HASH16 "\x01\0",
			  published[] = "\xe4\x48" HASH16 "\x01";
	// the second is no answer to the first: of another file, or without tags
	static const struct form strangers[][2] = {
		{FORM("\xe3\x9a" HASH16), FORM("\xe3\x9b" ZERO8 ZERO8 "\x01 and so on")},
		{FORM("\xe3\x98\x01\x04\0"),
			FORM("\xe3\x99" HASH16 "\x07\x02\0\xc0\x36\x12\0\0\0\x01")},
	};
	static const struct form exchanges[][2] = {
		{FORM(search), FORM(found)},
		{FORM(publish), FORM(published)},
	};

	(void)state;
	DATAGRAMS(forms, "edonkey");
	NO_DATAGRAMS(others, "edonkey");
	NO_DATAGRAMS(weak, "edonkey");
	for (size_t i = 0; i < N_OF(weak); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

		for (unsigned n = 0; n < 2; n++)
			rig_feed(&flow, 0, weak[i].text, weak[i].length);
		assert_string_equal(rig_app(&flow), "edonkey");
		assert_int_equal(flow.verdict.confidence, CONFIDENCE_PARTIAL);
		rig_end(&flow);
	}
	for (size_t i = 0; i < N_OF(strangers); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

		for (unsigned half = 0; half < 2; half++)
			rig_feed(&flow, half, strangers[i][half].text, strangers[i][half].length);
		assert_string_equal(rig_app(&flow), "");
		rig_end(&flow);
	}
	for (size_t i = 0; i < N_OF(exchanges); i++) {
		struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

		rig_feed(&flow, 0, exchanges[i][0].text, exchanges[i][0].length);
		assert_string_equal(rig_app(&flow), "");
		rig_feed(&flow, 1, exchanges[i][1].text, exchanges[i][1].length);
		assert_string_equal(rig_app(&flow), "edonkey");
		rig_end(&flow);
		// the answer alone is none
		assert_string_equal(rig_first(rig, IPPROTO_UDP, 1, exchanges[i][1].text,
					    exchanges[i][1].length),
			"");
	}
	// a port of its own proves a contact
	struct rig_flow own = rig_flow(rig, IPPROTO_UDP, 0x1240, 40001);

	rig_feed(&own, 0, LITERAL("\xe4\x10" CONTACT));
	assert_int_equal(own.verdict.confidence, CONFIDENCE_DPI);
	rig_end(&own);
	static const char *const begin[] = {
		"\xe4\x10", "\xe4\x4b", "\xe4\x51", "\xe3\x9b", "\xc5\x90"};

	for (size_t i = 0; i < N_OF(begin); i++)
		rig_random(rig, IPPROTO_UDP, begin[i], 2, "edonkey");
}

#define MD5     "9e8d841b85194ee7f744743a8f23d4a8"
#define SEARCH  "\x31\0\0\0\x05\0\0\0alice\x2a\0\0\0\x09\0\0\0some song"
#define CONNECT "\x05\0\0\0alice\x01\0\0\0P"

static void test_soulseek(void **state)
{
	static const struct form forms[] = {
		// the server's answers to a login
		FORM("\x35\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" MD5),
		FORM("\x36\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" MD5 "\x01"),
		FORM("\x14\0\0\0\x01\0\0\0\0\x0b\0\0\0INVALIDPASS"),
		FORM("\x10\0\0\0\x01\0\0\0\0\x07\0\0\0SVRFULL"),
		// from the middle: searches, from the server and handed down; the tree
		FORM("\x23\0\0\0\x5d\0\0\0\x03" SEARCH),
		FORM("\x1f\0\0\0\x03" SEARCH),
		FORM("\x05\0\0\0\x04\0\0\0\0\x1f\0\0\0\x03" SEARCH),
		FORM("\x05\0\0\0\x04\x02\0\0\0\x0a\0\0\0\x05\x05\0\0\0alice"),
		// connect to: from the server, and to it
		FORM("\x1f\0\0\0\x12\0\0\0" CONNECT "\x07\x02\0\xc0\xba\x08\0\0\x2a\0\0\0\0"),
		FORM("\x16\0\0\0\x12\0\0\0\x2a\0\0\0" CONNECT),
		// between peers: packed results, files
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9c\x65" HASH16 "\0"),
		FORM("\x19\0\0\0\x2b\0\0\0\x11\0\0\0@@abc\\A\\song.flac"),
		FORM("\x1d\0\0\0\x2c\0\0\0\x11\0\0\0@@abc\\A\\song.flac\x03\0\0\0"),
		FORM("\x29\0\0\0\x28\0\0\0\x01\0\0\0\x2a\0\0\0\x11\0\0\0@@abc\\A\\song.flac"
		     "\0\0\x10\0\0\0\0\0"),
		FORM("\x23\0\0\0\x32\0\0\0\x11\0\0\0@@abc\\A\\song.flac\x06\0\0\0Banned"),
		// what comes behind the first message in the distributed network
		FORM("\x05\0\0\0\0ABCD\x05\0\0\0\x04\0\0\0\0"),
		FORM("\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0D\0\0\0\0"),
	};
	static const struct form others[] = {
		FORM("\x35\0\0\0\x01\0\0\0\x01\x04\0\0\0hi\r\n\x07\x02\0\xc0\x20\0\0\0" HASH16
				HASH16),
		FORM("\x14\0\0\0\x01\0\0\0\0\x0b\0\0\0\0NVALIDPASS"),
		FORM("\x12\0\0\0\x01\0\0\0\0\x09\0\0\0NOT FOUND"), // words of anybody
		FORM("\x24\0\0\0\x5d\0\0\0\x03" SEARCH "x"),
		FORM("\x20\0\0\0\x03" SEARCH "x"),
		FORM("\x05\0\0\0\x04\x02\0\0\0\x0a\0\0\0\x05\x06\0\0\0alice"),
		FORM("\x1f\0\0\0\x12\0\0\0\x05\0\0\0alice\x01\0\0\0X\x07\x02\0\xc0\xba\x08\0\0\x2a"
		     "\0\0\0\0"),
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9b\x65" HASH16 "\0"),
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9c\x61" HASH16 "\0"), // a block that is stored
		FORM("\x18\0\0\0\x09\0\0\0\x78\x9c\xf5" HASH16 "\0"), // 287 codes
		// MongoDB's wire protocol: length, number, what it answers (0x178), OP_MSG, a
		// section
		FORM("\x26\0\0\0\x09\0\0\0\x78\x01\0\0\xdd\x07\0\0\0\0\0\0\0\x11\0\0\0\x01ok\0\0\0"
		     "\0"
		     "\0\0\0\xf0\x3f\0"),
		FORM("\x19\0\0\0\x2b\0\0\0\x11\0\0\0@@abc/A/song.flac"), // no folder
		FORM("\x1a\0\0\0\x2b\0\0\0\x11\0\0\0@@abc\\A\\song.flac!"),
	};

	(void)state;
	STREAM(forms, "soulseek");
	NEVER(others, "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x23\0\0\0\x5d\0\0\0\x03\x31"), "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x19\0\0\0\x2b\0\0\0"), "soulseek");
	rig_random(rig, IPPROTO_TCP, LITERAL("\x05\0\0\0\x04"), "soulseek");
}

// Soulseek's obfuscation: a key, turned right by 31 bits before each four octets (aioslsk's
// description, with its example).
static size_t obfuscate(uint8_t *out, uint32_t key, const char *text, size_t length)
{
	memcpy(out, &key, 4);
	for (size_t i = 0; i < length; i++) {
		if (i % 4 == 0)
			key = key >> 31 | key << 1;
		out[4 + i] = (uint8_t)((uint8_t)text[i] ^ key >> 8 * (i % 4));
	}
	return 4 + length;
}

static void test_soulseek_obfuscated(void **state)
{
	static const char init[] = "\x13\0\0\0\x01\x05\0\0\0alice\x01\0\0\0P\x2a\0\0\0";
	static const char pierce[] = "\x05\0\0\0\0ABCD";
	static const char wrong[] = "\x13\0\0\0\x01\x06\0\0\0alice\x01\0\0\0P\x2a\0\0\0";
	uint8_t bytes[64];
	size_t length = obfuscate(bytes, 0x4aee9414, "\x08\0\0\0\x79\0\0\0\xe8\x03\0\0", 12);

	(void)state;
	assert_memory_equal(
		bytes, "\x14\x94\xee\x4a\x20\x28\xdd\x95\x28\x50\xba\x2b\x4a\xa3\x74\x57", length);
	for (uint32_t key = 1; key; key *= 2) {
		length = obfuscate(bytes, key ^ 0x5a17c396, init, sizeof(init) - 1);
		rig_cuts(rig, IPPROTO_TCP, 0, bytes, length, "soulseek");
		length = obfuscate(bytes, key ^ 0x5a17c396, pierce, sizeof(pierce) - 1);
		assert_string_equal(rig_first(rig, IPPROTO_TCP, 0, bytes, length), "soulseek");
		length = obfuscate(bytes, key ^ 0x5a17c396, wrong, sizeof(wrong) - 1);
		assert_string_not_equal(rig_first(rig, IPPROTO_TCP, 0, bytes, length), "soulseek");
	}
	rig_random(rig, IPPROTO_TCP, LITERAL(""), "soulseek");
}

#define PING  HASH16 "\0\x03\x04\0\0\0\0"
#define QUERY HASH16 "\x80\x03\x04\x08\0\0\0\0\0a song"
#define LNI   "\x50\x07LNI\x42NA\x07\x02\0\xc0"
#define G2PI  "\x08PI"
#define Q2    "\x48\x0dQ2" HASH16

static void test_gnutella_messages(void **state)
{
	static const struct form datagrams[] = {
		FORM(HASH16 "\0\x01\0\0\0\0\0"),                                 // a ping of any id
		FORM("\x07\x32\0\x01" ZERO8 "\0\0\0\0\x41\x01\0\x04\0\0\0data"), // reliable: data
		FORM("\0\x03\0\0\x05\0\0" ZERO8 "\0\x41\x01\0\0\0\0\0"),         // SYN
	};
	static const struct form no_datagrams[] = {
		FORM("abcdabcdabcdabcd\0\x01\0\0\0\0\0"), FORM(HASH16 "\0\x01\x01\0\0\0\0"),
		FORM(HASH16 "\0\x08\0\0\0\0\0"),
		FORM("\x07\x52\0\x01" ZERO8 "\0\0\0\0\x41\x01\0\x04\0\0\0data"), // no such kind
		FORM("\x07\x3d\0\x01" ZERO8
		     "\0\0\0\0\x41\x01\0\x04\0\0\0data"), // more than is room
	};
	// from the middle only: at a beginning there is a handshake
	static const struct form chains[] = {
		FORM(PING QUERY),
		FORM(QUERY),
		FORM(LNI G2PI G2PI),
		FORM(G2PI LNI),
	};
	static const struct form others[] = {
		FORM(QUERY "and something else"),
		FORM(HASH16 "\x80\x03\x0d\x08\0\x01\0\0\0a song"),
		FORM(HASH16 "\x82\x03\x04\x08\0\0\0\0\0a song"),
		FORM("abcdabcdabcdabcd\x80\x03\x04\x08\0\0\0\0\0a song"),
		FORM(G2PI G2PI G2PI "and something else that is none of it"),
		FORM("\x50\x07LNX\x42NA\x07\x02\0\xc0" G2PI G2PI "\x08PO\x08PO\x08PO\x08PO"),
	};

	(void)state;
	DATAGRAMS(datagrams, "gnutella");
	NO_DATAGRAMS(no_datagrams, "gnutella");
	for (size_t i = 0; i < N_OF(chains); i++)
		for (unsigned half = 0; half < 2; half++) {
			char padded[64] = {0};
			struct form form = {padded, chains[i].length};

			memcpy(padded, chains[i].text, chains[i].length);
			assert_string_equal(
				rig_first(rig, IPPROTO_TCP, half, padded, form.length), "");
			assert_string_equal(first_midstream(&form, half, form.length), "gnutella");
		}
	NEVER(others, "gnutella");
	rig_random(rig, IPPROTO_UDP, LITERAL(HASH16 "\x41\x01"), "gnutella");
}

#define PPS_ID "\x11\x22\x33\x44\x55\x66\x77\x88"

static const char *ppstream_on(uint16_t port, const char *text, size_t length)
{
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, port);

	rig_feed(&flow, 0, text, length);
	const char *found = rig_app(&flow);

	rig_end(&flow);
	return found;
}

static void test_ppstream(void **state)
{
	// 0x55 with a number and zeros; 0x44 with the client's name
	static const struct form forms[] = {
		FORM("\x19\0\x55\x72\x71" PPS_ID "\x1b\xa0\0\0\0\0\0\0more"),
		FORM("\x21\0\x44\x74\x71" PPS_ID PPS_ID "PPStream\x01\x02\x03\x04"),
	};
	// a magic that is not known: with the port alone
	static const struct form port[] = {
		FORM("\x19\0\x55\xb3\x71\0\0\0\0\x11\x22\x33\x44\x55\0\0\0\0\0\0\0more"),
		FORM("\x19\0\x44\xb2\x71" PPS_ID "\0\0\x01\0\x03\0\0\0more"),
	};
	static const struct form others[] = {
		FORM("\x19\0\x55\x72\x71" PPS_ID "\x1b\xa0\0\0\0\0\0\x01more"),
		FORM("\x1a\0\x44\xb2\x71" PPS_ID "\0\0\x01\0\x03\0\0\0more"),
		FORM("\x19\0\x44\xb2\x71" PPS_ID "\0\0\x02\0\x03\0\0\0more"),
	};
	static const char old[] = "\x15\x80\x51\x10" HASH20,
			  answer[] = "\x1b\x80\x01\x02" HASH20 "abc";
	struct rig_flow flow = rig_flow(rig, IPPROTO_UDP, 40000, 40001);

	(void)state;
	DATAGRAMS(forms, "ppstream");
	NO_DATAGRAMS(port, "ppstream");
	for (size_t i = 0; i < N_OF(port); i++)
		assert_string_equal(ppstream_on(17788, port[i].text, port[i].length), "ppstream");
	for (size_t i = 0; i < N_OF(others); i++)
		assert_string_not_equal(
			ppstream_on(17788, others[i].text, others[i].length), "ppstream");
	// an older client, and its answer; neither is enough alone, nor is the same side twice
	assert_string_not_equal(ppstream_on(17788, LITERAL(old)), "ppstream");
	assert_string_not_equal(ppstream_on(17788, LITERAL(answer)), "ppstream");
	rig_feed(&flow, 0, LITERAL(old));
	rig_feed(&flow, 0, LITERAL(old));
	assert_string_equal(rig_app(&flow), "");
	rig_feed(&flow, 1, LITERAL(answer));
	assert_string_equal(rig_app(&flow), "ppstream");
	rig_end(&flow);
	rig_random(rig, IPPROTO_UDP, LITERAL("\x15\x80"), "ppstream");
	rig_random(rig, IPPROTO_UDP, LITERAL("\x19\0\x55"), "ppstream");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edonkey),
		cmocka_unit_test(test_edonkey_datagrams),
		cmocka_unit_test(test_ppstream),
		cmocka_unit_test(test_soulseek),
		cmocka_unit_test(test_soulseek_obfuscated),
		cmocka_unit_test(test_gnutella_messages),
	};

	rig = rig_new();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	rig_free(rig);
	return failed;
}
