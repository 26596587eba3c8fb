// SPDX-License-Identifier: BSD-3-Clause
// Each type is found by a minimal real beginning, from as many bytes as tell it and not from
// fewer; what only looks like it is not; and an answer that is given before the end stays.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "content/file_type.h"

#define COUNT(rows) (sizeof(rows) / sizeof((rows)[0]))
#define TAILS       4

struct piece {
	uint16_t at, length;
	const char *bytes;
};

struct row {
	const char *word, *group;
	uint32_t needs; // bytes of the file, if there are no more
	struct piece pieces[6];
};

struct file {
	uint8_t bytes[FILE_TYPE_BYTES + 100];
	uint32_t length;
};

// clang-format off
#define AT(at, bytes) {at, sizeof(bytes) - 1, bytes}
#define NUL4 "\0\0\0\0"
#define NUL8 NUL4 NUL4
#define NUL16 NUL8 NUL8
// a local header of a zip file: compressed size, length of the name
#define ENTRY(flags, size, length) "PK\3\4\x14\0" flags "\0" "\0\0" NUL8 size "\0\0\0" NUL4 length "\0\0\0"
#define RIFF(form) AT(0, "RIFF\x24\x10\0\0" form)
#define OGG(first) AT(0, "OggS\0\2" NUL16 "\0\0\0\0\1\x13"), AT(28, first)
#define FTYP(brand) AT(0, "\0\0\0\x18" "ftyp" brand "\0\0\2\0" "isomiso2")
#define EBML(type, size) AT(0, "\x1a\x45\xdf\xa3\x9f\x42\x86\x81\1\x42\xf7\x81\1\x42\xf2\x81\4\x42\xf3\x81\x8\x42\x82" size type)

static const struct row rows[] = {
	{"pe", "executable", 132, {AT(0, "MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff"), AT(60, "\x80\0\0\0"), AT(128, "PE\0\0\x64\x86")}},
	{"mz", "executable", 2, {AT(0, "MZ\x90\0\3\0\0\0\4\0\0\0\xff\xff"), AT(60, "\0\2\0\0")}},
	{"mz", "executable", 2, {AT(0, "MZ")}},
	{"elf", "executable", 4, {AT(0, "\x7f" "ELF\2\1\1\0")}},
	{"mach-o", "executable", 4, {AT(0, "\xcf\xfa\xed\xfe\7\0\0\1")}},
	{"mach-o", "executable", 4, {AT(0, "\xfe\xed\xfa\xce\0\0\0\x12")}},
	{"mach-o", "executable", 4, {AT(0, "\xce\xfa\xed\xfe\7\0\0\0")}},
	{"mach-o", "executable", 4, {AT(0, "\xfe\xed\xfa\xcf\1\0\0\7")}},
	{"mach-o", "executable", 8, {AT(0, "\xca\xfe\xba\xbe\0\0\0\2\1\0\0\7")}},
	{"class", "executable", 8, {AT(0, "\xca\xfe\xba\xbe\0\0\0\x3d\0\x1d")}},
	{"class", "executable", 8, {AT(0, "\xca\xfe\xba\xbe\0\3\0\x2d\0\x1d")}},
	{"jar", "executable", 50, {AT(0, ENTRY("\x8", "\0", "\x14")), AT(30, "META-INF/MANIFEST.MF")}},
	{"jar", "executable", 39, {AT(0, "PK\3\4\x14\0\0\x8\0\0" NUL16 "\x9\0\4\0META-INF/\xfe\xca\0\0")}},
	{"apk", "executable", 49, {AT(0, ENTRY("\0", "\0", "\x13")), AT(30, "AndroidManifest.xml")}},
	{"apk", "executable", 30 + 55, {AT(0, ENTRY("\0", "\0", "\x37")),
		AT(30, "META-INF/com/android/build/gradle/app-metadata.properties")}},
	{"ipa", "executable", 38, {AT(0, ENTRY("\0", "\0", "\x8")), AT(30, "Payload/")}},
	{"dex", "executable", 8, {AT(0, "dex\n035\0")}},
	{"wasm", "executable", 8, {AT(0, "\0asm\1\0\0\0")}},
	{"lnk", "executable", 20, {AT(0, "L\0\0\0\1\x14\2\0\0\0\0\0\xc0\0\0\0\0\0\0F\x9b\0\x8\0")}},
	{"lua-bytecode", "executable", 4, {AT(0, "\x1bLuaT\0\x19\x93\r\n\x1a\n")}},
	{"pyc", "executable", 8, {AT(0, "\xa7\r\r\n" NUL4 "\x5e\x46\x91\x65")}},
	{"shell", "script", 9, {AT(0, "#!/bin/sh\nset -eu\n")}},
	{"shell", "script", 20, {AT(0, "#! /usr/bin/env bash\n")}},
	{"python", "script", 28, {AT(0, "#!/usr/bin/env -S A=1 python3.11 -u\n")}},
	{"perl", "script", 15, {AT(0, "#!/usr/bin/perl -w\n")}},
	{"ruby", "script", 15, {AT(0, "#!/usr/bin/ruby\r\n")}},
	{"php", "script", 6, {AT(0, "<?php\necho 1;")}},
	{"php", "script", 14, {AT(0, "#!/usr/bin/php\n")}},
	{"javascript", "script", 19, {AT(0, "#!/usr/bin/env node\n")}},
	{"powershell", "script", 15, {AT(0, "#!/usr/bin/pwsh\n")}},
	{"lua", "script", 14, {AT(0, "#!/usr/bin/lua5.4\n")}},
	{"script", "script", 3, {AT(0, "#!/usr/bin/awk -f\n")}},
	{"reg", "script", 36, {AT(0, "Windows Registry Editor Version 5.00\r\n")}},
	{"reg", "script", 8, {AT(0, "REGEDIT4\r\n")}},
	{"reg", "script", 50, {AT(0, "\xff\xfeW\0i\0n\0d\0o\0w\0s\0 \0R\0e\0g\0i\0s\0t\0r\0y\0 \0E\0d\0i\0t\0o\0r\0 \0V\0")}},
	{"zip", "archive", 4, {AT(0, ENTRY("\0", "\3", "\5")), AT(30, "a.txtabc"), AT(38, ENTRY("\0", "\0", "\4")), AT(68, "word")}},
	{"zip", "archive", 12, {AT(0, "PK\5\6" NUL16 "\0\0")}},
	{"zip", "archive", 8, {AT(0, "PK\7\x8PK\3\4")}},
	{"docx", "document", 102, {AT(0, ENTRY("\0", "\x6", "\x13")), AT(30, "[Content_Types].xml"), AT(55, ENTRY("\0", "\0", "\x11")),
		AT(85, "word/settings.xml")}},
	{"docx", "document", 47, {AT(0, ENTRY("\x8", "\0", "\x11")), AT(30, "word/document.xml")}},
	{"xlsx", "document", 86, {AT(0, ENTRY("\0", "\2", "\x10")), AT(30, "docProps/app.xml"), AT(48, ENTRY("\0", "\0", "\x8")), AT(78, "xl/a.xml")}},
	{"pptx", "document", 50, {AT(0, ENTRY("\0", "\0", "\x14")), AT(30, "ppt/presentation.xml")}},
	{"ooxml", "document", 49, {AT(0, ENTRY("\6", "\0", "\x13")), AT(18, "\x6a\1"), AT(30, "[Content_Types].xml"), AT(411, "PK\3\4"), AT(510, "\0\0")}},
	{"odt", "document", 77, {AT(0, ENTRY("\0", "\x27", "\x8")), AT(30, "mimetypeapplication/vnd.oasis.opendocument.textPK\3\4")}},
	{"ods", "document", 84, {AT(0, ENTRY("\0", "\x2e", "\x8")), AT(30, "mimetypeapplication/vnd.oasis.opendocument.spreadsheetPK")}},
	{"odp", "document", 85, {AT(0, ENTRY("\0", "\x2f", "\x8")), AT(30, "mimetypeapplication/vnd.oasis.opendocument.presentationPK")}},
	{"odg", "document", 81, {AT(0, ENTRY("\0", "\x2b", "\x8")), AT(30, "mimetypeapplication/vnd.oasis.opendocument.graphicsPK")}},
	{"epub", "document", 58, {AT(0, ENTRY("\0", "\x14", "\x8")), AT(30, "mimetypeapplication/epub+zipPK\3\4")}},
	{"rar4", "archive", 7, {AT(0, "Rar!\x1a\7\0\xcf\x90")}},
	{"rar5", "archive", 8, {AT(0, "Rar!\x1a\7\1\0\x33")}},
	{"7z", "archive", 6, {AT(0, "7z\xbc\xaf\x27\x1c\0\4")}},
	{"gzip", "archive", 3, {AT(0, "\x1f\x8b\x08\0")}},
	{"bzip2", "archive", 10, {AT(0, "BZh91AY&SY\x12")}},
	{"bzip2", "archive", 10, {AT(0, "BZh9\x17rE8P\x90\0")}},
	{"xz", "archive", 6, {AT(0, "\xfd" "7zXZ\0\0\4")}},
	{"zstd", "archive", 4, {AT(0, "\x28\xb5\x2f\xfd\x24")}},
	{"lz4", "archive", 4, {AT(0, "\4\x22\x4d\x18\x64")}},
	{"lzip", "archive", 5, {AT(0, "LZIP\1\xc")}},
	{"lzop", "archive", 9, {AT(0, "\x89LZO\0\r\n\x1a\n\x10")}},
	{"compress", "archive", 3, {AT(0, "\x1f\x9d\x90\x41")}},
	{"tar", "archive", 263, {AT(0, "a.txt"), AT(100, "0000644\0" "0000000\0" "0000000\0" "00000000003\0"), AT(257, "ustar\0" "00")}},
	{"tar", "archive", 265, {AT(0, "a.txt"), AT(100, "0000644\0"), AT(257, "ustar  \0root")}},
	{"cpio", "archive", 98, {AT(0, "0707010000000A000081A400000000000000000000000165A0000000000003000000080000000100000000000000000000000600000000a.txt")}},
	{"cpio", "archive", 62, {AT(0, "070707000010000012100644000000000000000001000000145500000000000000600000000003a.txt")}},
	{"ar", "archive", 8, {AT(0, "!<arch>\n/               1")}},
	{"deb", "archive", 21, {AT(0, "!<arch>\ndebian-binary   1700000000")}},
	{"rpm", "archive", 4, {AT(0, "\xed\xab\xee\xdb\3\0")}},
	{"cab", "archive", 8, {AT(0, "MSCF" NUL4 "\x9a")}},
	{"arj", "archive", 11, {AT(0, "\x60\xea\x2c\0\x22\xb\1\xb\x10\0\2\x6c")}},
	{"lha", "archive", 7, {AT(0, "\x1f\x9c-lh5-\x10\0\0\0")}},
	{"ace", "archive", 14, {AT(0, "\x12\x34\x31\0\0\0\x90**ACE**\x14")}},
	{"xar", "archive", 8, {AT(0, "xar!\0\x1c\0\1\0\0")}},
	{"crx", "archive", 8, {AT(0, "Cr24\3\0\0\0\x45")}},
	{"wim", "disk-image", 8, {AT(0, "MSWIM\0\0\0\xd0")}},
	{"squashfs", "disk-image", 4, {AT(0, "hsqs\x10\0\0\0")}},
	{"vhd", "disk-image", 8, {AT(0, "conectix\0\0\0\2")}},
	{"vhdx", "disk-image", 8, {AT(0, "vhdxfileM\0i\0")}},
	{"vmdk", "disk-image", 8, {AT(0, "KDMV\1\0\0\0\3")}},
	{"vmdk", "disk-image", 21, {AT(0, "# Disk DescriptorFile\nversion=1")}},
	{"vdi", "disk-image", 68, {AT(0, "<<< Oracle VM VirtualBox Disk Image >>>\n"), AT(64, "\x7f\x10\xda\xbe\1\0")}},
	{"qcow2", "disk-image", 7, {AT(0, "QFI\xfb\0\0\0\3")}},
	{"luks", "disk-image", 7, {AT(0, "LUKS\xba\xbe\0\2")}},
	{"boot-sector", "disk-image", 512, {AT(0, "\xeb\x3c\x90mkfs.fat\0\2\4"), AT(510, "\x55\xaa")}},
	{"boot-sector", "disk-image", 512, {AT(0, "\xeb\x52\x90NTFS    \0\2\x8"), AT(510, "\x55\xaa")}},
	{"pdf", "document", 5, {AT(0, "%PDF-1.7\n%\xe2\xe3\xcf\xd3")}},
	{"pdf", "document", 7, {AT(0, "\r\n%PDF-1.4\n")}},
	{"rtf", "document", 5, {AT(0, "{\\rtf1\\ansi")}},
	{"ole2", "document", 8, {AT(0, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" NUL16 "\x3e\0\3\0\xfe\xff\x9\0")}},
	{"mobi", "document", 68, {AT(0, "A_book"), AT(60, "BOOKMOBI\0\0")}},
	{"postscript", "document", 4, {AT(0, "%!PS-Adobe-3.0\n")}},
	{"postscript", "document", 4, {AT(0, "\xc5\xd0\xd3\xc6\x20\0")}},
	{"djvu", "document", 15, {AT(0, "AT&TFORM\0\0\x12\x34" "DJVU")}},
	{"chm", "document", 8, {AT(0, "ITSF\3\0\0\0\x60")}},
	{"onenote", "document", 16, {AT(0, "\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d\xae\xb1\x53\x78\xd0\x29\x96\xd3\1")}},
	{"html", "document", 15, {AT(0, "<!DOCTYPE html>\n<html>")}},
	{"html", "document", 12, {AT(0, "\xef\xbb\xbf \t\n<hTmL>")}},
	{"html", "document", 8, {AT(0, "<script src=a>")}},
	{"html", "document", 30, {AT(0, "<?xml version=\"1.0\"?>\n<x:html>")}},
	{"xml", "document", 6, {AT(0, "<?xml version=\"1.0\"?>\n<!-- <svg --><a><svg/></a>")}},
	{"xml", "document", 10, {AT(0, "<!DOCTYPE note SYSTEM \"a.dtd\">\n<note>")}},
	{"svg", "image", 5, {AT(0, "<svg xmlns=\"http://www.w3.org/2000/svg\">")}},
	{"svg", "image", 62, {AT(0, "<?xml version=\"1.0\"?>\n<!-- a > b --><!DOCTYPE svg PUBLIC><svg >")}},
	{"eml", "document", 46, {AT(0, "Received: from a.example\n by b\nX-Note: 1\nFrom: a@a.example\n")}},
	{"mbox", "document", 41, {AT(0, "From a@b.example Thu Jan  1 00:00:00 2026\r\nX: 1\n")}},
	{"png", "image", 8, {AT(0, "\x89PNG\r\n\x1a\n\0\0\0\rIHDR")}},
	{"jpeg", "image", 4, {AT(0, "\xff\xd8\xff\xe0\0\x10JFIF")}},
	{"jpeg", "image", 4, {AT(0, "\xff\xd8\xff\xdb\0\x43")}},
	{"gif", "image", 6, {AT(0, "GIF89a\1\0")}},
	{"gif", "image", 6, {AT(0, "GIF87a\1\0")}},
	{"webp", "image", 12, {RIFF("WEBPVP8 ")}},
	{"bmp", "image", 18, {AT(0, "BM\x46\0\0\0" NUL4 "\x36\0\0\0\x28\0\0\0\2")}},
	{"tiff", "image", 4, {AT(0, "II*\0\x8\0\0\0")}},
	{"tiff", "image", 4, {AT(0, "MM\0*\0\0\0\x8")}},
	{"tiff", "image", 8, {AT(0, "II+\0\x8\0\0\0\x10")}},
	{"tiff", "image", 8, {AT(0, "MM\0+\0\x8\0\0\0")}},
	{"ico", "image", 22, {AT(0, "\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0")}},
	{"ico", "image", 22, {AT(0, "\0\0\2\0\1\0\x20\x20\0\0\0\0\0\0\xa8\x10\0\0\x16\0\0\0\x28")}},
	{"heic", "image", 12, {FTYP("heic")}},
	{"heic", "image", 12, {AT(0, "\0\0\0\x18" "ftypmif1\0\0\0\0mif1heic")}},
	{"avif", "image", 12, {FTYP("avif")}},
	{"avif", "image", 24, {AT(0, "\0\0\0\x1c" "ftypmif1\0\0\0\0mif1avifmiaf")}},
	{"jp2", "image", 12, {AT(0, "\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14")}},
	{"jp2", "image", 5, {AT(0, "\xff\x4f\xff\x51\0\x2f")}},
	{"jxl", "image", 12, {AT(0, "\0\0\0\x0cJXL \r\n\x87\n\0\0\0\x14")}},
	{"psd", "image", 6, {AT(0, "8BPS\0\1\0\0")}},
	{"xcf", "image", 9, {AT(0, "gimp xcf v011\0")}},
	{"wmf", "image", 6, {AT(0, "\xd7\xcd\xc6\x9a\0\0\1\0")}},
	{"emf", "image", 44, {AT(0, "\1\0\0\0\x6c\0\0\0"), AT(40, " EMF\0\0\1\0")}},
	{"dwg", "image", 7, {AT(0, "AC1032\0\0")}},
	{"mp3", "audio", 10, {AT(0, "ID3\4\0\0\0\0\1\x23")}},
	{"mp3", "audio", 420, {AT(0, "\xff\xfb\x90\x64\0\x0f\xf0"), AT(417, "\xff\xfb\x92\x64")}},
	{"mp3", "audio", 6, {AT(0, "\xff\xfb\xe0\x64\0\0\0\0"), AT(510, "\0\0")}},
	{"m4a", "audio", 12, {FTYP("M4A ")}},
	{"aac", "audio", 372, {AT(0, "\xff\xf1\x50\x80\x2e\x3f\xfc"), AT(369, "\xff\xf1\x50\x80\x2e\x3f\xfc")}},
	{"wav", "audio", 12, {RIFF("WAVEfmt ")}},
	{"wav", "audio", 12, {AT(0, "RF64\xff\xff\xff\xffWAVEds64")}},
	{"flac", "audio", 8, {AT(0, "fLaC\0\0\0\x22\x10")}},
	{"opus", "audio", 36, {OGG("OpusHead\1\2")}},
	{"vorbis", "audio", 35, {OGG("\1vorbis" NUL4)}},
	{"theora", "video", 35, {OGG("\x80theora\3\2")}},
	{"ogg", "audio", 5, {OGG("\x7f" "FLAC\1\0")}},
	{"aiff", "audio", 12, {AT(0, "FORM\0\1\0\0AIFFCOMM")}},
	{"aiff", "audio", 12, {AT(0, "FORM\0\1\0\0AIFCFVER")}},
	{"midi", "audio", 8, {AT(0, "MThd\0\0\0\6\0\1")}},
	{"amr", "audio", 5, {AT(0, "#!AMR\n\x3c")}},
	{"au", "audio", 6, {AT(0, ".snd\0\0\0\x18")}},
	{"ape", "audio", 6, {AT(0, "MAC \x96\xf\0\0")}},
	{"wavpack", "audio", 4, {AT(0, "wvpk\x10\0\0\0")}},
	{"playlist", "audio", 7, {AT(0, "#EXTM3U\n#EXTINF:1,a\n")}},
	{"playlist", "audio", 10, {AT(0, "[playlist]\nFile1=a\n")}},
	{"mp4", "video", 12, {FTYP("isom")}},
	{"mov", "video", 12, {FTYP("qt  ")}},
	{"mov", "video", 8, {AT(0, "\0\0\0\x6cmoov\0\0\0\x64mvhd")}},
	{"mov", "video", 8, {AT(0, "\0\x12\x34\x56mdat\0\0")}},
	{"3gp", "video", 12, {FTYP("3gp5")}},
	{"mkv", "video", 32, {EBML("matroska\x42\x87\x81\4", "\x88")}},
	{"webm", "video", 28, {EBML("webm\x42\x87\x81\4", "\x84")}},
	{"avi", "video", 12, {RIFF("AVI LIST")}},
	{"asf", "video", 16, {AT(0, "\x30\x26\xb2\x75\x8e\x66\xcf\x11\xa6\xd9\0\xaa\0\x62\xce\x6c\x10")}},
	{"flv", "video", 4, {AT(0, "FLV\1\5\0\0\0\x9")}},
	{"rm", "video", 6, {AT(0, ".RMF\0\0\0\x12")}},
	{"mpeg", "video", 5, {AT(0, "\0\0\1\xba\x44\0\4")}},
	{"mpeg", "video", 5, {AT(0, "\0\0\1\xba\x21\0\1")}},
	{"mpeg", "video", 4, {AT(0, "\0\0\1\xb3\x14")}},
	{"mpeg-ts", "video", 377, {AT(0, "\x47\x40\0\x10"), AT(188, "\x47\x50\0\x10"), AT(376, "\x47\1")}},
	{"swf", "other", 8, {AT(0, "CWS\xa\x12\x34\0\0x\x9c")}},
	{"swf", "other", 8, {AT(0, "FWS\x6\x12\x34\0\0x")}},
	{"swf", "other", 8, {AT(0, "ZWS\xd\x12\x34\0\0x")}},
	{"sqlite", "other", 16, {AT(0, "SQLite format 3\0\x10\0")}},
	{"mdb", "other", 20, {AT(0, "\0\1\0\0Standard Jet DB\0\1")}},
	{"mdb", "other", 20, {AT(0, "\0\1\0\0Standard ACE DB\0\2")}},
	{"pst", "other", 4, {AT(0, "!BDN\x12\x34\x56\x78SM")}},
	{"torrent", "other", 11, {AT(0, "d8:announce20:http://a.example/ann4:infod6:lengthi1eee")}},
	{"torrent", "other", 75, {AT(0, "d7:comment3:a b13:creation datei1700000000e5:nodesll9:127.0.0.1i1eee4:infod6:lengthi1e4:name1:aee")}},
	{"pcap", "other", 8, {AT(0, "\xd4\xc3\xb2\xa1\2\0\4\0")}},
	{"pcap", "other", 8, {AT(0, "\xa1\xb2\xc3\xd4\0\2\0\4\0")}},
	{"pcap", "other", 8, {AT(0, "\x4d\x3c\xb2\xa1\2\0\4\0\0")}},
	{"pcap", "other", 8, {AT(0, "\xa1\xb2\x3c\x4d\0\2\0\4\0")}},
	{"pcapng", "other", 12, {AT(0, "\n\r\r\n\x1c\0\0\0\x4d\x3c\x2b\x1a\1\0")}},
	{"pcapng", "other", 12, {AT(0, "\n\r\r\n\0\0\0\x1c\x1a\x2b\x3c\x4d\0\1")}},
	{"ttf", "other", 12, {AT(0, "\0\1\0\0\0\x11\1\0\0\4\0\x10" "FFTM")}},
	{"ttf", "other", 12, {AT(0, "true\0\x9\0\x80\0\3\0\x10" "cmap")}},
	{"otf", "other", 5, {AT(0, "OTTO\0\xb\0\x80")}},
	{"ttc", "other", 5, {AT(0, "ttcf\0\1\0\0")}},
	{"woff", "other", 4, {AT(0, "wOFF\0\1\0\0")}},
	{"woff2", "other", 4, {AT(0, "wOF2\0\1\0\0")}},
	{"pgp", "other", 15, {AT(0, "-----BEGIN PGP MESSAGE-----\n")}},
	{"pem", "other", 11, {AT(0, "-----BEGIN PRIVATE KEY-----\n")}},
	{"kdbx", "other", 4, {AT(0, "\x03\xd9\xa2\x9a\x67\xfb\x4b\xb5")}},
	{"registry", "other", 24, {AT(0, "regf\1\0\0\0\1\0\0\0" NUL8 "\1\0\0\0\5\0\0\0")}},
	{"minidump", "other", 6, {AT(0, "MDMP\x93\xa7\0\0")}},
	{"hdf5", "other", 8, {AT(0, "\x89HDF\r\n\x1a\n\0")}},
	{"plist", "other", 7, {AT(0, "bplist00\xd1")}},
	{"tnef", "other", 4, {AT(0, "\x78\x9f\x3e\x22\1")}},
	{"url", "other", 18, {AT(0, "[InternetShortcut]\r\nURL=http://a.example/")}},
	{"vcard", "other", 11, {AT(0, "BEGIN:VCARD\r\nVERSION:4.0")}},
	{"calendar", "other", 15, {AT(0, "BEGIN:VCALENDAR\r\nVERSION:2.0")}},
	{"webvtt", "other", 6, {AT(0, "WEBVTT\n\n00:01")}},
	{"webvtt", "other", 9, {AT(0, "\xef\xbb\xbfWEBVTT\n")}},
	{"text", "other", 1, {AT(0, "A few words.\r\n\tmore")}},
};

// What resembles a type and is none.
static const struct row near_misses[] = {
	{"mz", "", 0, {AT(0, "MZ"), AT(60, "\x80\0\0\0"), AT(128, "PE\0\1")}},
	{"mz", "", 0, {AT(0, "MZ"), AT(60, "\xff\xff\xff\xff"), AT(128, "PE\0\0")}},
	{"unknown", "", 0, {AT(0, "\x7f" "ELG\2\1\1\0")}},
	{"unknown", "", 0, {AT(0, "\xca\xfe\xba\xbe\0\0\0\0\0\0\0\0")}},
	{"unknown", "", 0, {AT(0, "\xca\xfe\xba\xbe\0\1\0\2\0\0\0\0")}},
	{"zip", "", 0, {AT(0, ENTRY("\0", "\0", "\x11")), AT(30, "word/settings.xml")}},
	{"zip", "", 0, {AT(0, ENTRY("\0", "\0", "\x12")), AT(30, "AndroidManifest.xm")}},
	{"zip", "", 0, {AT(0, ENTRY("\0", "\x10", "\x8")), AT(30, "mimetypeapplication/pdf")}},
	{"zip", "", 0, {AT(0, ENTRY("\0", "\0", "\1")), AT(26, "\xff\xff\xff\xff"), AT(30, "META-INF/")}},
	{"unknown", "", 0, {AT(0, "PK\1\2" NUL16 NUL16)}},
	{"text", "", 0, {AT(0, "Rar! is an archiver")}},
	{"text", "", 0, {AT(0, "BM is no bitmap here, only text\n")}},
	{"text", "", 0, {AT(0, "BZh91AY is text")}},
	{"text", "", 0, {AT(0, "ID3 tags are small")}},
	{"text", "", 0, {AT(0, "CWS is a word, and text follows")}},
	{"text", "", 0, {AT(0, "070701\n070702\n")}},
	{"text", "", 0, {AT(0, "The ftyp box, the moov box\n")}},
	{"text", "", 0, {AT(0, "The moov box\n")}},
	{"text", "", 0, {AT(0, "regf is how a hive begins\n")}},
	{"text", "", 0, {AT(0, "RIFF is a form, as WAVE is\n")}},
	{"text", "", 0, {AT(0, "#![allow(unused)]\nfn main() {}\n")}},
	{"text", "", 0, {AT(0, "#!\n")}},
	{"text", "", 0, {AT(0, "d8:announcX1:a")}},
	{"text", "", 0, {AT(0, "d1:ad2:id20:abcdefghij0123456789e1:q4:ping1:t2:aa1:y1:qe")}},
	{"text", "", 0, {AT(0, "d4:info3:abce")}},
	{"text", "", 0, {AT(0, "From here to there\n")}},
	{"text", "", 0, {AT(0, "From: a\nno header\nTo: b\n")}},
	{"text", "", 0, {AT(0, "HTTP/1.1 200 OK\nDate: now\nFrom: a\n")}},
	{"text", "", 0, {AT(0, "<htmlx>")}},
	{"text", "", 0, {AT(0, "<3 you\n")}},
	{"text", "", 0, {AT(0, "see <html>")}},
	{"unknown", "", 0, {AT(0, "\xff\xd8\xff\0")}},
	{"unknown", "", 0, {AT(0, "\xff\xfb\x90\x64\0\0\0\0"), AT(417, "\xff\xfb\x9e\x64")}},
	{"unknown", "", 0, {AT(0, "\xff\xfb\xe0\x64\0\x80\0\0"), AT(510, "\0\0")}},
	{"unknown", "", 0, {AT(0, "\xff\xfb\xf0\x64\0\0\0\0")}},
	{"unknown", "", 0, {AT(0, "\xff\xf1\x50\x80\x2e\x3f\xfc"), AT(369, "\xff\xf0\x50\x80")}},
	{"unknown", "", 0, {AT(0, "\0\0\1\0\0\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0")}},
	{"unknown", "", 0, {AT(0, "\0\1\0\0\0\x11\1\0\0\4\0\x11" "FFTM")}},
	{"unknown", "", 0, {AT(0, "\x1a\x45\xdf\xa3\x87\x42\x82\x84none")}},
	{"unknown", "", 0, {AT(0, "a.txt"), AT(257, "ustax\0")}},
	{"unknown", "", 0, {AT(0, "\xeb\x3c\x90mkfs.fat\0\2\4"), AT(510, "\x55\xab")}},
	{"unknown", "", 0, {AT(0, "\x47\x40\0\x10"), AT(188, "\x47"), AT(376, "\x48")}},
	{"text", "", 0, {AT(0, "Gr\xc3\xbc\xc3\x9f" "e \xf0\x9f\x98\x80")}},
	{"text", "", 0, {AT(0, "\xff\xfe" "a\0b\0")}},
	{"text", "", 0, {AT(0, "\xfe\xff\0a")}},
	{"unknown", "", 0, {AT(0, "text\1")}},
	{"unknown", "", 0, {AT(0, "text\xc3")}},
	{"unknown", "", 0, {AT(0, "\xff\xfe" "a\0b")}},
	{"unknown", "", 0, {AT(0, "\xff\xfe")}},
	{"unknown", "", 0, {AT(0, "caf\xe9")}},
};
// clang-format on

static uint32_t random_below(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % n;
}

static struct file file_of(const struct row *row)
{
	struct file file = {.length = 0};

	for (unsigned i = 0; i < COUNT(row->pieces) && row->pieces[i].length; i++) {
		const struct piece *piece = &row->pieces[i];

		memcpy(file.bytes + piece->at, piece->bytes, piece->length);
		if (file.length < piece->at + piece->length)
			file.length = piece->at + piece->length;
	}
	return file;
}

// From a heap block of exactly this size.
static file_type find_exact(const uint8_t *bytes, uint32_t length, bool whole)
{
	uint8_t *exact = malloc(length ? length : 1);

	assert_non_null(exact);
	memcpy(exact, bytes, length);
	file_type type = file_type_find(exact, length, whole);

	free(exact);
	return type;
}

static void expect_type(const char *word, const struct file *file, uint32_t length)
{
	const char *found = file_type_word(find_exact(file->bytes, length, true));

	if (strcmp(found, word))
		fail_msg("%u bytes of a %s are %s", length, word, found);
}

static void a_type_is_found_by_as_many_bytes_as_tell_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct file file = file_of(&rows[i]);

		for (uint32_t n = 0; n < rows[i].needs; n++)
			if (!strcmp(file_type_word(find_exact(file.bytes, n, true)), rows[i].word))
				fail_msg("row %u: %u bytes are a %s", i, n, rows[i].word);
		for (uint32_t n = rows[i].needs; n <= file.length; n++)
			expect_type(rows[i].word, &file, n);
		assert_string_equal(
			file_type_group(file_type_by_word(rows[i].word)), rows[i].group);
	}
}

static void what_only_looks_like_a_type_is_none(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT(near_misses); i++) {
		struct file file = file_of(&near_misses[i]);

		expect_type(near_misses[i].word, &file, file.length);
	}
}

// An answer about a beginning is the answer about all files that begin so.
static void stays(const struct file *file, uint64_t *seed)
{
	struct file longer = *file;
	file_type last = 0;

	for (uint32_t n = 0; n <= file->length; n++) {
		file_type type = find_exact(file->bytes, n, false);

		if (last && type != last)
			fail_msg("%s at %u bytes was %s", file_type_word(type), n,
				file_type_word(last));
		for (unsigned tail = 0; type && type != last && tail < TAILS; tail++) {
			uint32_t end = n + random_below(seed, sizeof(longer.bytes) - n + 1);

			for (uint32_t i = n; i < end; i++)
				longer.bytes[i] = (uint8_t)random_below(seed, 256);
			if (find_exact(longer.bytes, end, tail & 1) != type)
				fail_msg("%s of %u bytes, with %u behind it: %s",
					file_type_word(type), n, end - n,
					file_type_word(find_exact(longer.bytes, end, tail & 1)));
		}
		last = type;
	}
}

static void an_answer_stays_when_more_bytes_come(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (unsigned i = 0; i < COUNT(rows) + COUNT(near_misses); i++) {
		struct file file =
			file_of(i < COUNT(rows) ? &rows[i] : &near_misses[i - COUNT(rows)]);

		stays(&file, &seed);
		for (unsigned change = 0; change < 20; change++) {
			struct file other = file;

			other.bytes[random_below(&seed, file.length)] =
				(uint8_t)random_below(&seed, 256);
			other.length = sizeof(other.bytes);
			stays(&other, &seed);
		}
	}
}

// A beginning is enough, once it is as long as what is looked at.
static void nothing_behind_512_bytes_counts(void **state)
{
	uint64_t seed = 2;

	(void)state;
	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct file file = file_of(&rows[i]);
		file_type type = find_exact(file.bytes, FILE_TYPE_BYTES, false);

		for (uint32_t n = FILE_TYPE_BYTES; n < sizeof(file.bytes); n++)
			file.bytes[n] = (uint8_t)random_below(&seed, 256);
		assert_int_equal(find_exact(file.bytes, sizeof(file.bytes), false), type);
		assert_int_equal(find_exact(file.bytes, sizeof(file.bytes), true), type);
	}
}

// A text's last character may be cut where what is looked at ends.
static void a_long_text_is_text(void **state)
{
	struct file file = {.length = sizeof(file.bytes)};

	(void)state;
	memset(file.bytes, 'a', sizeof(file.bytes));
	memcpy(file.bytes + FILE_TYPE_BYTES - 1, "\xc3\xa9", 2);
	expect_type("text", &file, file.length);
	expect_type("unknown", &file, FILE_TYPE_BYTES);
	assert_string_equal(file_type_word(find_exact(file.bytes, FILE_TYPE_BYTES, false)), "text");
	assert_int_equal(find_exact(file.bytes, FILE_TYPE_BYTES - 1, false), 0);
}

static void every_type_has_a_row_and_a_word_of_its_own(void **state)
{
	(void)state;
	assert_true(file_type_count() >= 70);
	for (file_type type = 1; type <= file_type_count(); type++) {
		bool has_row = false;

		for (unsigned i = 0; i < COUNT(rows); i++)
			has_row |= !strcmp(rows[i].word, file_type_word(type));
		if (!has_row)
			fail_msg("no row for %s", file_type_word(type));
		assert_int_equal(file_type_by_word(file_type_word(type)), type);
	}
	assert_int_equal(file_type_by_word("unknown"), 0);
	assert_int_equal(file_type_by_word("doc"), 0);
	assert_string_equal(file_type_word(0), "unknown");
	assert_string_equal(file_type_group(0), "unknown");
	assert_string_equal(file_type_word((file_type)(file_type_count() + 1)), "unknown");
	assert_int_equal(file_type_find(NULL, 0, true), 0);
	assert_int_equal(file_type_find(NULL, 0, false), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_type_is_found_by_as_many_bytes_as_tell_it),
		cmocka_unit_test(what_only_looks_like_a_type_is_none),
		cmocka_unit_test(an_answer_stays_when_more_bytes_come),
		cmocka_unit_test(nothing_behind_512_bytes_counts),
		cmocka_unit_test(a_long_text_is_text),
		cmocka_unit_test(every_type_has_a_row_and_a_word_of_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
