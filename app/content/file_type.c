// SPDX-License-Identifier: BSD-3-Clause
// The table of types, and how it is asked: the first row that holds is the answer, and no answer is
// given while a row before it may still hold.
//
// The order of the rows, by which one byte string has one answer:
// 1. bytes at the very beginning, 4 at least or checked by a function; what has more of them stands
//    before what has less (deb before ar);
// 2. forms of text that a function knows;
// 3. bytes that stand later only (tar at 257), which whatever begins like something else has by
//    chance;
// 4. any text.
#include "content/file_type.h"
#include "content/file_type_kind.h"
#include "content/file_type_list.h"
#include "content/file_type_text.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

struct magic {
	uint16_t at, length;
	const char *bytes;
	const char *mask; // NULL: all ones
};

#define MAGIC_MAX 3

struct row {
	enum file_type_symbol type;    // where there is no function
	struct magic magic[MAGIC_MAX]; // all of them hold
	file_kind *kind;
};

// clang-format off
#define AT(at, bytes) {at, sizeof(bytes) - 1, bytes, NULL}
#define MASKED(at, bytes, mask) {at, sizeof(bytes) - 1, bytes, mask}
#define IS(type, bytes) {TYPE_##type, {AT(0, bytes)}, NULL}
#define BOTH(type, ...) {TYPE_##type, {__VA_ARGS__}, NULL}
#define ASK(function, bytes) {TYPE_NONE, {AT(0, bytes)}, function}

static const struct row rows[] = {
	// programs
	ASK(kind_mz, "MZ"),
	IS(ELF, "\x7f" "ELF"),
	IS(MACH_O, "\xfe\xed\xfa\xce"),
	IS(MACH_O, "\xfe\xed\xfa\xcf"),
	IS(MACH_O, "\xce\xfa\xed\xfe"),
	IS(MACH_O, "\xcf\xfa\xed\xfe"),
	ASK(kind_cafebabe, "\xca\xfe\xba\xbe"),
	BOTH(DEX, AT(0, "dex\n0"), AT(7, "\0")),
	IS(WASM, "\0asm\1\0\0\0"),
	IS(LNK, "L\0\0\0\1\x14\2\0\0\0\0\0\xc0\0\0\0\0\0\0F"),
	IS(LUA_CODE, "\x1bLua"),
	BOTH(PYC, MASKED(1, "\x0c\r\n\0\0\0\0", "\xfc\xff\xff\xfc\xff\xff\xff")),
	// archives
	ASK(kind_zip, "PK\3\4"),
	IS(ZIP, "PK\5\6\0\0\0\0\0\0\0\0"), // without files
	IS(ZIP, "PK\7\x8" "PK\3\4"),     // the first of several parts
	IS(RAR4, "Rar!\x1a\7\0"),
	IS(RAR5, "Rar!\x1a\7\1\0"),
	IS(SEVEN_Z, "7z\xbc\xaf\x27\x1c"),
	IS(GZIP, "\x1f\x8b\x08"),
	BOTH(BZIP2, AT(0, "BZh"), AT(4, "1AY&SY")),
	BOTH(BZIP2, AT(0, "BZh"), AT(4, "\x17rE8P\x90")), // without content
	IS(XZ, "\xfd" "7zXZ\0"),
	IS(ZSTD, "\x28\xb5\x2f\xfd"),
	IS(LZ4, "\4\x22\x4d\x18"),
	IS(LZIP, "LZIP\1"),
	IS(LZOP, "\x89LZO\0\r\n\x1a\n"),
	BOTH(COMPRESS, MASKED(0, "\x1f\x9d\0", "\xff\xff\x60")),
	BOTH(CPIO, AT(0, "07070"), MASKED(5, "0", "\xfc"), AT(94, "0000")), // 070701, 070702
	BOTH(CPIO, AT(0, "070707"), AT(59, "000")),
	IS(DEB, "!<arch>\ndebian-binary"),
	IS(AR, "!<arch>\n"),
	IS(RPM, "\xed\xab\xee\xdb"),
	IS(CAB, "MSCF\0\0\0\0"),
	BOTH(ARJ, AT(0, "\x60\xea"), MASKED(3, "\0\0", "\xf0\xc0"), AT(10, "\2")),
	IS(XAR, "xar!\0\x1c\0\1"),
	BOTH(CRX, AT(0, "Cr24"), MASKED(4, "\0\0\0\0", "\xf8\xff\xff\xff")),
	IS(WIM, "MSWIM\0\0\0"),
	IS(SQUASHFS, "hsqs"),
	IS(VHD, "conectix"),
	IS(VHDX, "vhdxfile"),
	BOTH(VMDK, AT(0, "KDMV"), MASKED(4, "\0\0\0\0", "\xf8\xff\xff\xff")),
	IS(VMDK, "# Disk DescriptorFile"),
	IS(QCOW2, "QFI\xfb\0\0\0"),
	IS(LUKS, "LUKS\xba\xbe\0"),
	// documents
	IS(PDF, "%PDF-"),
	IS(RTF, "{\\rtf"),
	IS(OLE2, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
	IS(POSTSCRIPT, "%!PS"),
	IS(POSTSCRIPT, "\xc5\xd0\xd3\xc6"), // with a preview
	BOTH(DJVU, AT(0, "AT&TFORM"), AT(12, "DJV")),
	IS(CHM, "ITSF\3\0\0\0"),
	IS(ONENOTE, "\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3"),
	// images
	IS(PNG, "\x89PNG\r\n\x1a\n"),
	BOTH(JPEG, MASKED(0, "\xff\xd8\xff\xc0", "\xff\xff\xff\xc0")),
	IS(GIF, "GIF87a"),
	IS(GIF, "GIF89a"),
	BOTH(WEBP, AT(0, "RIFF"), AT(8, "WEBP")),
	ASK(kind_bmp, "BM"),
	IS(TIFF, "II*\0"),
	IS(TIFF, "MM\0*"),
	IS(TIFF, "II+\0\x8\0\0\0"),
	IS(TIFF, "MM\0+\0\x8\0\0"),
	ASK(kind_icon, "\0\0\1\0"),
	ASK(kind_icon, "\0\0\2\0"),
	IS(JP2, "\0\0\0\x0cjP  \r\n\x87\n"),
	IS(JP2, "\xff\x4f\xff\x51\0"),
	IS(JXL, "\0\0\0\x0cJXL \r\n\x87\n"),
	BOTH(PSD, MASKED(0, "8BPS\0\0", "\xff\xff\xff\xff\xff\xfc")),
	IS(XCF, "gimp xcf "),
	IS(WMF, "\xd7\xcd\xc6\x9a\0\0"),
	BOTH(EMF, AT(0, "\1\0\0\0"), AT(40, " EMF")),
	BOTH(DWG, MASKED(0, "AC1000\0", "\xff\xff\xff\xff\xf0\xf0\xff")),
	// audio and video
	BOTH(MP3, AT(0, "ID3"), MASKED(3, "\0\0", "\xf8\xff"), MASKED(6, "\0\0\0\0", "\x80\x80\x80\x80")),
	BOTH(WAV, AT(0, "RIFF"), AT(8, "WAVE")),
	BOTH(WAV, AT(0, "RF64"), AT(8, "WAVE")),
	BOTH(FLAC, AT(0, "fLaC"), MASKED(4, "\0\0\0\x22", "\x7f\xff\xff\xff")),
	BOTH(OPUS, AT(0, "OggS\0"), AT(28, "OpusHead")),
	BOTH(VORBIS, AT(0, "OggS\0"), AT(28, "\1vorbis")),
	BOTH(THEORA, AT(0, "OggS\0"), AT(28, "\x80theora")),
	IS(OGG, "OggS\0"),
	BOTH(AIFF, AT(0, "FORM"), AT(8, "AIFF")),
	BOTH(AIFF, AT(0, "FORM"), AT(8, "AIFC")),
	IS(MIDI, "MThd\0\0\0\6"),
	IS(AMR, "#!AMR"),
	BOTH(AU, AT(0, ".snd\0\0")),
	BOTH(APE, AT(0, "MAC "), AT(5, "\x0f")),
	IS(WAVPACK, "wvpk"),
	IS(PLAYLIST, "#EXTM3U"),
	IS(PLAYLIST, "[playlist]"),
	BOTH(AVI, AT(0, "RIFF"), AT(8, "AVI ")),
	ASK(kind_ebml, "\x1a\x45\xdf\xa3"),
	IS(ASF, "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c"),
	IS(FLV, "FLV\1"),
	IS(RM, ".RMF\0\0"),
	BOTH(MPEG, MASKED(0, "\0\0\1\xba\x40", "\xff\xff\xff\xff\xc0")), // MPEG-2
	BOTH(MPEG, MASKED(0, "\0\0\1\xba\x21", "\xff\xff\xff\xff\xf1")),
	IS(MPEG, "\0\0\1\xb3"),
	ASK(kind_audio_frames, "\xff"),
	// others
	ASK(kind_swf, "FWS"),
	ASK(kind_swf, "CWS"),
	ASK(kind_swf, "ZWS"),
	IS(SQLITE, "SQLite format 3\0"),
	IS(ACCESS, "\0\1\0\0Standard Jet DB\0"),
	IS(ACCESS, "\0\1\0\0Standard ACE DB\0"),
	IS(PST, "!BDN"),
	IS(PCAP, "\xa1\xb2\xc3\xd4\0\2\0\4"),
	IS(PCAP, "\xd4\xc3\xb2\xa1\2\0\4\0"),
	IS(PCAP, "\xa1\xb2\x3c\x4d\0\2\0\4"),
	IS(PCAP, "\x4d\x3c\xb2\xa1\2\0\4\0"),
	BOTH(PCAPNG, AT(0, "\n\r\r\n"), AT(8, "\x1a\x2b\x3c\x4d")),
	BOTH(PCAPNG, AT(0, "\n\r\r\n"), AT(8, "\x4d\x3c\x2b\x1a")),
	ASK(kind_ttf, "\0\1\0\0"),
	ASK(kind_ttf, "true"),
	BOTH(OTF, AT(0, "OTTO\0")),
	IS(TTC, "ttcf\0"),
	IS(WOFF, "wOFF"),
	IS(WOFF2, "wOF2"),
	IS(PGP, "-----BEGIN PGP "),
	IS(PEM, "-----BEGIN "),
	IS(KDBX, "\x03\xd9\xa2\x9a"),
	BOTH(REGISTRY, AT(0, "regf"), AT(20, "\1\0\0\0")),
	IS(MINIDUMP, "MDMP\x93\xa7"),
	IS(HDF5, "\x89HDF\r\n\x1a\n"),
	IS(PLIST, "bplist0"),
	IS(TNEF, "\x78\x9f\x3e\x22"),
	IS(URL, "[InternetShortcut]"),
	IS(VCARD, "BEGIN:VCARD"),
	IS(CALENDAR, "BEGIN:VCALENDAR"),
	IS(WEBVTT, "WEBVTT"),
	IS(WEBVTT, "\xef\xbb\xbfWEBVTT"),
	IS(REG, "Windows Registry Editor Version 5.00"),
	IS(REG, "REGEDIT4"),
	IS(REG, "\xff\xfeW\0i\0n\0d\0o\0w\0s\0 \0R\0e\0g\0i\0s\0t\0r\0y\0 \0E\0d\0i\0t\0o\0r\0 \0"),
	// forms of text
	ASK(kind_script, "#!"),
	ASK(kind_torrent, "d"),
	ASK(kind_mbox, "From "),
	{TYPE_NONE, {{0}}, kind_markup},
	{TYPE_NONE, {{0}}, kind_mail},
	// later bytes
	{TYPE_NONE, {AT(0, "\0\0"), AT(4, "ftyp")}, kind_ftyp},
	BOTH(MOV, MASKED(0, "\0", "\xe0"), AT(4, "moov")),
	BOTH(MOV, MASKED(0, "\0", "\xe0"), AT(4, "mdat")),
	BOTH(LHA, AT(2, "-lh"), AT(6, "-")),
	BOTH(ACE, AT(7, "**ACE**")),
	BOTH(MOBI, AT(60, "BOOKMOBI")),
	BOTH(VDI, AT(64, "\x7f\x10\xda\xbe")),
	BOTH(TAR, AT(257, "ustar\0")),
	BOTH(TAR, AT(257, "ustar  \0")), // GNU
	BOTH(MPEG_TS, AT(0, "G"), AT(188, "G"), AT(376, "G")),
	{TYPE_NONE, {{0}}, kind_boot_sector},
	{TYPE_NONE, {{0}}, kind_text},
};

static const struct {
	const char *word, *group;
} types[] = {
	{"unknown", "unknown"},
#define X(symbol, word, group) {word, group},
	FILE_TYPES(X)
#undef X
};
// clang-format on

static enum file_type_symbol row_type(const struct row *row, const struct file_head *head)
{
	bool part = false;

	for (unsigned i = 0; i < MAGIC_MAX && row->magic[i].length; i++) {
		const struct magic *magic = &row->magic[i];

		switch (head_has(head, magic->at, magic->bytes, magic->length, magic->mask)) {
		case HEAD_NO: return TYPE_NONE;
		case HEAD_PART: part = true; break;
		default: break;
		}
	}
	if (part)
		return TYPE_WAIT;
	return row->kind ? row->kind(head) : row->type;
}

file_type file_type_find(const uint8_t *bytes, uint32_t length, bool whole)
{
	const struct file_head head = {
		.bytes = bytes,
		.length = length < FILE_TYPE_BYTES ? length : FILE_TYPE_BYTES,
		.is_all = whole || length >= FILE_TYPE_BYTES,
		.is_whole = whole && length <= FILE_TYPE_BYTES,
	};

	for (unsigned i = 0; head.length && i < COUNT(rows); i++) {
		enum file_type_symbol type = row_type(&rows[i], &head);

		if (type != TYPE_NONE)
			return type == TYPE_WAIT ? TYPE_NONE : (file_type)type;
	}
	return TYPE_NONE;
}

const char *file_type_word(file_type type)
{
	return types[type < COUNT(types) ? type : 0].word;
}

const char *file_type_group(file_type type)
{
	return types[type < COUNT(types) ? type : 0].group;
}

file_type file_type_by_word(const char *word)
{
	for (unsigned i = 1; i < COUNT(types); i++)
		if (!strcmp(types[i].word, word))
			return (file_type)i;
	return 0;
}

unsigned file_type_count(void)
{
	return COUNT(types) - 1;
}
