// SPDX-License-Identifier: BSD-3-Clause
// Tells binary files apart that share their first bytes, or whose first bytes say too little.
#include "content/file_type_kind.h"
#include "content/file_type.h"

#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))

enum head_match head_has(
	const struct file_head *head, uint32_t at, const char *bytes, uint32_t n, const char *mask)
{
	for (uint32_t i = 0; i < n; i++) {
		if (at + i >= head->length)
			return head->is_all || at + n > FILE_TYPE_BYTES ? HEAD_NO : HEAD_PART;
		if ((head->bytes[at + i] ^ (uint8_t)bytes[i]) & (mask ? (uint8_t)mask[i] : 0xff))
			return HEAD_NO;
	}
	return HEAD_YES;
}

// Of bytes that are there.
static uint32_t le16(const struct file_head *head, uint32_t at)
{
	return head->bytes[at] | (uint32_t)head->bytes[at + 1] << 8;
}

static uint32_t le32(const struct file_head *head, uint32_t at)
{
	return le16(head, at) | le16(head, at + 2) << 16;
}

static uint32_t be16(const struct file_head *head, uint32_t at)
{
	return (uint32_t)head->bytes[at] << 8 | head->bytes[at + 1];
}

static uint32_t be32(const struct file_head *head, uint32_t at)
{
	return be16(head, at) << 16 | be16(head, at + 2);
}

// The header of a PE is where the one of DOS says (Microsoft, "PE Format").
enum file_type_symbol kind_mz(const struct file_head *head)
{
	if (head->length < 64)
		return head_lacks(head, TYPE_MZ);
	uint32_t at = le32(head, 60);

	if (at > FILE_TYPE_BYTES - 4)
		return TYPE_MZ;
	switch (head_has(head, at, "PE\0\0", 4, NULL)) {
	case HEAD_YES: return TYPE_PE;
	case HEAD_PART: return TYPE_WAIT;
	default: return TYPE_MZ;
	}
}

// A class says its version here, 45 at least (JVM specification, 4.1), a Mach-O how many machines
// it is for.
enum file_type_symbol kind_cafebabe(const struct file_head *head)
{
	if (head->length < 8)
		return head_lacks(head, TYPE_NONE);
	if (be16(head, 6) >= 45)
		return TYPE_CLASS;
	return be16(head, 4) || !be16(head, 6) ? TYPE_NONE : TYPE_MACH_O;
}

// A name in a zip file, or how it begins where it ends with '/'.
struct zip_name {
	const char *name;
	enum file_type_symbol type;
	bool in_package; // only behind one of the names that Office's packages begin with
};

// clang-format off
static const struct zip_name zip_names[] = {
	{"word/document.xml", TYPE_DOCX, false},
	{"xl/workbook.xml", TYPE_XLSX, false},
	{"ppt/presentation.xml", TYPE_PPTX, false},
	{"word/", TYPE_DOCX, true},
	{"xl/", TYPE_XLSX, true},
	{"ppt/", TYPE_PPTX, true},
	{"[Content_Types].xml", TYPE_OOXML, false},
	{"docProps/app.xml", TYPE_OOXML, false},
	{"docProps/core.xml", TYPE_OOXML, false},
	{"AndroidManifest.xml", TYPE_APK, false},
	{"classes.dex", TYPE_APK, false},
	{"META-INF/com/android/", TYPE_APK, false},
	{"META-INF/", TYPE_JAR, false},
	{"Payload/", TYPE_IPA, false},
};

static const struct zip_name zip_mimetypes[] = {
	{"application/epub+zip", TYPE_EPUB, false},
	{"application/vnd.oasis.opendocument.text", TYPE_ODT, false},
	{"application/vnd.oasis.opendocument.spreadsheet", TYPE_ODS, false},
	{"application/vnd.oasis.opendocument.presentation", TYPE_ODP, false},
	{"application/vnd.oasis.opendocument.graphics", TYPE_ODG, false},
};
// clang-format on

static enum file_type_symbol zip_named(const uint8_t *name, uint32_t length, bool in_package)
{
	for (unsigned i = 0; i < COUNT(zip_names); i++) {
		const struct zip_name *row = &zip_names[i];
		uint32_t n = (uint32_t)strlen(row->name);
		bool holds = n <= length && !memcmp(name, row->name, n) &&
			     (n == length || row->name[n - 1] == '/');

		if (holds && (in_package || !row->in_package))
			return row->type;
	}
	return TYPE_NONE;
}

// Whose first file is "mimetype", not compressed: ODF 1.2, part 3, section 3.3; EPUB OCF, 3.3.
static enum file_type_symbol zip_mimetype(const struct file_head *head, uint32_t at)
{
	enum file_type_symbol type = TYPE_ZIP;

	for (unsigned i = 0; i < COUNT(zip_mimetypes); i++) {
		const char *text = zip_mimetypes[i].name;

		switch (head_has(head, at, text, (uint32_t)strlen(text), NULL)) {
		case HEAD_YES: return zip_mimetypes[i].type;
		case HEAD_PART: type = TYPE_WAIT; break;
		default: break;
		}
	}
	return type;
}

// The names of the first files, as far as their headers are here (APPNOTE 4.3.7).
enum file_type_symbol kind_zip(const struct file_head *head)
{
	enum file_type_symbol known = TYPE_ZIP, type;
	uint64_t next = 0;

	while (next + 30 <= FILE_TYPE_BYTES) {
		uint32_t at = (uint32_t)next;

		if (at + 30 > head->length)
			return head_lacks(head, known);
		uint32_t flags = le16(head, at + 6), size = le32(head, at + 18);
		uint32_t n = le16(head, at + 26), content = at + 30 + n + le16(head, at + 28);

		if (memcmp(head->bytes + at, "PK\3\4", 4) || at + 30 + n > FILE_TYPE_BYTES)
			return known;
		if (at + 30 + n > head->length)
			return head_lacks(head, known);
		if (!at && n == 8 && !memcmp(head->bytes + 30, "mimetype", 8))
			return zip_mimetype(head, content);
		type = zip_named(head->bytes + at + 30, n, known == TYPE_OOXML);
		if (type != TYPE_NONE && type != TYPE_OOXML)
			return type;
		if (type == TYPE_OOXML)
			known = TYPE_OOXML;
		if (flags & 8 && !size) // which is said behind the content
			return known;
		next = (uint64_t)content + size;
	}
	return known;
}

// Brands (ISO/IEC 14496-12, 4.3; mp4ra.org).
static enum file_type_symbol brand_type(const uint8_t *brand)
{
	static const struct {
		const char *brand;
		enum file_type_symbol type;
	} rows[] = {
		{"qt  ", TYPE_MOV},
		{"M4A", TYPE_M4A},
		{"M4B", TYPE_M4A},
		{"M4P", TYPE_M4A},
		{"F4A", TYPE_M4A},
		{"3gp", TYPE_THREE_GP},
		{"3g2", TYPE_THREE_GP},
		{"heic", TYPE_HEIC},
		{"heix", TYPE_HEIC},
		{"heim", TYPE_HEIC},
		{"heis", TYPE_HEIC},
		{"hevc", TYPE_HEIC},
		{"hevx", TYPE_HEIC},
		{"avif", TYPE_AVIF},
		{"avis", TYPE_AVIF},
	};

	for (unsigned i = 0; i < COUNT(rows); i++)
		if (!memcmp(brand, rows[i].brand, strlen(rows[i].brand)))
			return rows[i].type;
	return TYPE_NONE;
}

enum file_type_symbol kind_ftyp(const struct file_head *head)
{
	if (head->length < 12)
		return head_lacks(head, TYPE_NONE);
	enum file_type_symbol type = brand_type(head->bytes + 8);
	uint32_t size = be32(head, 0);

	if (type != TYPE_NONE)
		return type;
	if (memcmp(head->bytes + 8, "mif1", 4) && memcmp(head->bytes + 8, "msf1", 4))
		return TYPE_MP4;
	// images: one of the compatible brands says of which codec
	for (uint32_t at = 16; at + 4 <= size && at + 4 <= FILE_TYPE_BYTES; at += 4) {
		if (at + 4 > head->length)
			return head_lacks(head, TYPE_HEIC);
		type = brand_type(head->bytes + at);
		if (type == TYPE_HEIC || type == TYPE_AVIF)
			return type;
	}
	return TYPE_HEIC;
}

// A number of EBML at *at, which goes behind it (RFC 8794, section 4); with its marker as an
// identifier has it.
static enum head_match ebml_number(
	const struct file_head *head, uint32_t *at, bool marker, uint64_t *number)
{
	uint32_t n = 1;

	if (*at >= head->length)
		return head->is_all ? HEAD_NO : HEAD_PART;
	uint8_t first = head->bytes[*at];

	while (n <= 8 && !(first & 0x100 >> n))
		n++;
	if (n > (marker ? 4 : 8))
		return HEAD_NO;
	if (*at + n > head->length)
		return head->is_all || *at + n > FILE_TYPE_BYTES ? HEAD_NO : HEAD_PART;
	*number = marker ? first : first & (0xff >> n);
	for (uint32_t i = 1; i < n; i++)
		*number = *number << 8 | head->bytes[*at + i];
	*at += n;
	return HEAD_YES;
}

// DocType, an element of the header (RFC 8794, section 11.2.4).
static enum file_type_symbol ebml_document(const struct file_head *head, uint32_t at)
{
	enum head_match webm = head_has(head, at, "webm", 4, NULL);
	enum head_match matroska = head_has(head, at, "matroska", 8, NULL);

	if (webm == HEAD_YES)
		return TYPE_WEBM;
	if (matroska == HEAD_YES)
		return TYPE_MKV;
	return webm == HEAD_PART || matroska == HEAD_PART ? TYPE_WAIT : TYPE_NONE;
}

enum file_type_symbol kind_ebml(const struct file_head *head)
{
	uint64_t size, id, end;
	enum head_match found;
	uint32_t at = 4;

	found = ebml_number(head, &at, false, &size);
	if (found != HEAD_YES)
		return found == HEAD_PART ? TYPE_WAIT : TYPE_NONE;
	end = size < FILE_TYPE_BYTES ? at + size : FILE_TYPE_BYTES;
	while (at < end) {
		found = ebml_number(head, &at, true, &id);
		if (found == HEAD_YES)
			found = ebml_number(head, &at, false, &size);
		if (found != HEAD_YES)
			return found == HEAD_PART ? TYPE_WAIT : TYPE_NONE;
		if (id == 0x4282)
			return ebml_document(head, at);
		if (size > FILE_TYPE_BYTES)
			break;
		at += (uint32_t)size;
	}
	return TYPE_NONE;
}

// The number of tables, and what is worked out of it (OpenType, "Table Directory").
enum file_type_symbol kind_ttf(const struct file_head *head)
{
	uint32_t n, log = 0;

	if (head->length < 12)
		return head_lacks(head, TYPE_NONE);
	n = be16(head, 4);
	while (n >> (log + 1))
		log++;
	return n && n <= 128 && be16(head, 6) == 16u << log && be16(head, 8) == log &&
			       be16(head, 10) == 16 * n - (16u << log)
		       ? TYPE_TTF
		       : TYPE_NONE;
}

// Sizes of the header behind the file's.
enum file_type_symbol kind_bmp(const struct file_head *head)
{
	static const uint32_t sizes[] = {12, 40, 52, 56, 64, 108, 124};

	if (head->length < 18)
		return head_lacks(head, TYPE_NONE);
	for (unsigned i = 0; i < COUNT(sizes); i++)
		if (!le32(head, 6) && le32(head, 14) == sizes[i])
			return TYPE_BMP;
	return TYPE_NONE;
}

// Icons and cursors: the first image lies behind the directory.
enum file_type_symbol kind_icon(const struct file_head *head)
{
	if (head->length < 22)
		return head_lacks(head, TYPE_NONE);
	uint32_t type = le16(head, 2), n = le16(head, 4);
	bool holds = (type == 1 || type == 2) && n && n < 256 && le32(head, 14) >= 40 &&
		     le32(head, 18) >= 6 + 16 * n && le32(head, 18) < 1u << 24;

	return holds ? TYPE_ICO : TYPE_NONE;
}

// ADTS (ISO/IEC 13818-7, 6.2): the second frame must be here.
static enum file_type_symbol adts_type(const struct file_head *head)
{
	if (head->length < 6)
		return head_lacks(head, TYPE_NONE);
	const uint8_t *bytes = head->bytes;
	uint32_t next = (bytes[3] & 3u) << 11 | (uint32_t)bytes[4] << 3 | bytes[5] >> 5;

	if ((bytes[2] >> 2 & 0xf) > 12 || next < 7)
		return TYPE_NONE;
	switch (head_has(head, next, (const char *)bytes, 3, "\xff\xff\xfd")) {
	case HEAD_YES: return TYPE_AAC;
	case HEAD_PART: return TYPE_WAIT;
	default: return TYPE_NONE;
	}
}

// The length of a frame of MPEG audio layer III (ISO/IEC 11172-3, 2.4.2.3; 13818-3); 0: none.
static uint32_t mp3_frame_length(const uint8_t *bytes)
{
	static const uint16_t rates[2][16] = {
		{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0},
		{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
	};
	static const uint32_t samples[3] = {44100, 48000, 32000};
	unsigned version = bytes[1] >> 3 & 3, sampling = bytes[2] >> 2 & 3;
	bool first = version == 3;

	if (version == 1 || sampling == 3 || (bytes[3] & 3) == 2)
		return 0;
	uint32_t per_second = samples[sampling] >> (first ? 0 : version == 2 ? 1 : 2);
	uint32_t bits = rates[first][bytes[2] >> 4] * 1000u;

	return bits ? (first ? 144 : 72) * bits / per_second + (bytes[2] >> 1 & 1) : 0;
}

// Behind the first frame is the second; where that is beyond what is looked at, the first needs no
// bits of one before it.
enum file_type_symbol kind_audio_frames(const struct file_head *head)
{
	if (head->length < 4)
		return head_lacks(head, TYPE_NONE);
	const uint8_t *bytes = head->bytes;

	if ((bytes[1] & 0xf6) == 0xf0)
		return adts_type(head);
	if ((bytes[1] & 0xe6) != 0xe2)
		return TYPE_NONE;
	uint32_t next = mp3_frame_length(bytes), side = bytes[1] & 1 ? 4 : 6;
	bool first = (bytes[1] >> 3 & 3) == 3;
	enum head_match match;

	if (!next)
		return TYPE_NONE;
	if (next + 3 <= FILE_TYPE_BYTES) // version, layer and sampling rate stay
		match = head_has(head, next, (const char *)bytes, 3, "\xff\xfe\x0c");
	else
		match = head_has(head, side, "\0\0", 2, first ? "\xff\x80" : "\xff\0");
	return match == HEAD_YES ? TYPE_MP3 : match == HEAD_PART ? TYPE_WAIT : TYPE_NONE;
}

// A version, and a length that text does not have there.
enum file_type_symbol kind_swf(const struct file_head *head)
{
	if (head->length < 8)
		return head_lacks(head, TYPE_NONE);
	uint32_t length = le32(head, 4);

	return head->bytes[3] && head->bytes[3] <= 50 && length > 8 && length < 1u << 27
		       ? TYPE_SWF
		       : TYPE_NONE;
}

// A jump over the parameters of FAT or NTFS, a size of sectors, and the mark at the end.
enum file_type_symbol kind_boot_sector(const struct file_head *head)
{
	const uint8_t *bytes = head->bytes;

	if (head->length && bytes[0] != 0xeb && bytes[0] != 0xe9)
		return TYPE_NONE;
	if (head->length < FILE_TYPE_BYTES)
		return head_lacks(head, TYPE_NONE);
	uint32_t sector = le16(head, 11);
	bool holds = (bytes[0] == 0xe9 || bytes[2] == 0x90) && sector >= 512 && sector <= 4096 &&
		     !(sector & (sector - 1)) && bytes[510] == 0x55 && bytes[511] == 0xaa;

	return holds ? TYPE_BOOT_SECTOR : TYPE_NONE;
}
