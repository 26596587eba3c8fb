// SPDX-License-Identifier: BSD-3-Clause
// The types of files that are known: X(symbol, word, group). A word is part of policies and events:
// it stays what it is.
#ifndef SLUICE_CONTENT_FILE_TYPE_LIST_H
#define SLUICE_CONTENT_FILE_TYPE_LIST_H

#define FILE_TYPES_PROGRAMS(X)                                                     \
	X(PE, "pe", "executable") /* Windows */                                    \
	X(MZ, "mz", "executable") /* DOS; a PE whose header is behind byte 508 */  \
	X(ELF, "elf", "executable")                                                \
	X(MACH_O, "mach-o", "executable") /* for several machines, too */          \
	X(CLASS, "class", "executable")   /* Java */                               \
	X(JAR, "jar", "executable")                                                \
	X(APK, "apk", "executable")                                                \
	X(IPA, "ipa", "executable")                                                \
	X(DEX, "dex", "executable")                                                \
	X(WASM, "wasm", "executable")                                              \
	X(LNK, "lnk", "executable") /* a shortcut of Windows runs what it names */ \
	X(PYC, "pyc", "executable") /* Python's bytecode */                        \
	X(LUA_CODE, "lua-bytecode", "executable")                                  \
	X(SHELL, "shell", "script")                                                \
	X(PYTHON, "python", "script")                                              \
	X(PERL, "perl", "script")                                                  \
	X(RUBY, "ruby", "script")                                                  \
	X(PHP, "php", "script")                                                    \
	X(JAVASCRIPT, "javascript", "script")                                      \
	X(POWERSHELL, "powershell", "script")                                      \
	X(LUA, "lua", "script")                                                    \
	X(SCRIPT, "script", "script") /* #! and another interpreter */             \
	X(REG, "reg", "script")       /* changes of the registry of Windows */

#define FILE_TYPES_ARCHIVES(X)                \
	X(ZIP, "zip", "archive")              \
	X(RAR4, "rar4", "archive")            \
	X(RAR5, "rar5", "archive")            \
	X(SEVEN_Z, "7z", "archive")           \
	X(GZIP, "gzip", "archive")            \
	X(BZIP2, "bzip2", "archive")          \
	X(XZ, "xz", "archive")                \
	X(ZSTD, "zstd", "archive")            \
	X(LZ4, "lz4", "archive")              \
	X(LZIP, "lzip", "archive")            \
	X(LZOP, "lzop", "archive")            \
	X(COMPRESS, "compress", "archive")    \
	X(TAR, "tar", "archive")              \
	X(CPIO, "cpio", "archive")            \
	X(AR, "ar", "archive")                \
	X(DEB, "deb", "archive")              \
	X(RPM, "rpm", "archive")              \
	X(CAB, "cab", "archive")              \
	X(ARJ, "arj", "archive")              \
	X(LHA, "lha", "archive")              \
	X(ACE, "ace", "archive")              \
	X(XAR, "xar", "archive")              \
	X(CRX, "crx", "archive")              \
	X(WIM, "wim", "disk-image")           \
	X(SQUASHFS, "squashfs", "disk-image") \
	X(VHD, "vhd", "disk-image")           \
	X(VHDX, "vhdx", "disk-image")         \
	X(VMDK, "vmdk", "disk-image")         \
	X(VDI, "vdi", "disk-image")           \
	X(QCOW2, "qcow2", "disk-image")       \
	X(LUKS, "luks", "disk-image")         \
	X(BOOT_SECTOR, "boot-sector", "disk-image")

#define FILE_TYPES_DOCUMENTS(X)                 \
	X(PDF, "pdf", "document")               \
	X(RTF, "rtf", "document")               \
	X(OLE2, "ole2", "document")             \
	X(OOXML, "ooxml", "document")           \
	X(DOCX, "docx", "document")             \
	X(XLSX, "xlsx", "document")             \
	X(PPTX, "pptx", "document")             \
	X(ODT, "odt", "document")               \
	X(ODS, "ods", "document")               \
	X(ODP, "odp", "document")               \
	X(ODG, "odg", "document")               \
	X(EPUB, "epub", "document")             \
	X(MOBI, "mobi", "document")             \
	X(POSTSCRIPT, "postscript", "document") \
	X(DJVU, "djvu", "document")             \
	X(CHM, "chm", "document")               \
	X(ONENOTE, "onenote", "document")       \
	X(HTML, "html", "document")             \
	X(XML, "xml", "document")               \
	X(EML, "eml", "document")               \
	X(MBOX, "mbox", "document")

#define FILE_TYPES_IMAGES(X)     \
	X(PNG, "png", "image")   \
	X(JPEG, "jpeg", "image") \
	X(GIF, "gif", "image")   \
	X(WEBP, "webp", "image") \
	X(BMP, "bmp", "image")   \
	X(TIFF, "tiff", "image") \
	X(ICO, "ico", "image")   \
	X(HEIC, "heic", "image") \
	X(AVIF, "avif", "image") \
	X(JP2, "jp2", "image")   \
	X(JXL, "jxl", "image")   \
	X(PSD, "psd", "image")   \
	X(XCF, "xcf", "image")   \
	X(SVG, "svg", "image")   \
	X(WMF, "wmf", "image")   \
	X(EMF, "emf", "image")   \
	X(DWG, "dwg", "image")

#define FILE_TYPES_MEDIA(X)                   \
	X(MP3, "mp3", "audio")                \
	X(M4A, "m4a", "audio")                \
	X(AAC, "aac", "audio")                \
	X(WAV, "wav", "audio")                \
	X(FLAC, "flac", "audio")              \
	X(OPUS, "opus", "audio")              \
	X(VORBIS, "vorbis", "audio")          \
	X(OGG, "ogg", "audio")                \
	X(AIFF, "aiff", "audio")              \
	X(MIDI, "midi", "audio")              \
	X(AMR, "amr", "audio")                \
	X(AU, "au", "audio")                  \
	X(APE, "ape", "audio")                \
	X(WAVPACK, "wavpack", "audio")        \
	X(PLAYLIST, "playlist", "audio")      \
	X(THEORA, "theora", "video")          \
	X(MP4, "mp4", "video")                \
	X(MOV, "mov", "video")                \
	X(THREE_GP, "3gp", "video")           \
	X(MKV, "mkv", "video")                \
	X(WEBM, "webm", "video")              \
	X(AVI, "avi", "video")                \
	X(ASF, "asf", "video") /* wmv, wma */ \
	X(FLV, "flv", "video")                \
	X(RM, "rm", "video")                  \
	X(MPEG, "mpeg", "video")              \
	X(MPEG_TS, "mpeg-ts", "video")

#define FILE_TYPES_OTHERS(X)                    \
	X(SWF, "swf", "other")                  \
	X(SQLITE, "sqlite", "other")            \
	X(ACCESS, "mdb", "other")               \
	X(PST, "pst", "other")                  \
	X(TORRENT, "torrent", "other")          \
	X(PCAP, "pcap", "other")                \
	X(PCAPNG, "pcapng", "other")            \
	X(TTF, "ttf", "other")                  \
	X(OTF, "otf", "other")                  \
	X(TTC, "ttc", "other")                  \
	X(WOFF, "woff", "other")                \
	X(WOFF2, "woff2", "other")              \
	X(PGP, "pgp", "other")                  \
	X(PEM, "pem", "other")                  \
	X(KDBX, "kdbx", "other")                \
	X(REGISTRY, "registry", "other")        \
	X(MINIDUMP, "minidump", "other")        \
	X(HDF5, "hdf5", "other")                \
	X(PLIST, "plist", "other") /* binary */ \
	X(TNEF, "tnef", "other")                \
	X(URL, "url", "other")                  \
	X(VCARD, "vcard", "other")              \
	X(CALENDAR, "calendar", "other")        \
	X(WEBVTT, "webvtt", "other")            \
	X(TEXT, "text", "other") /* valid UTF-8, or UTF-16 with its mark, without controls */

#define FILE_TYPES(X)           \
	FILE_TYPES_PROGRAMS(X)  \
	FILE_TYPES_ARCHIVES(X)  \
	FILE_TYPES_DOCUMENTS(X) \
	FILE_TYPES_IMAGES(X)    \
	FILE_TYPES_MEDIA(X)     \
	FILE_TYPES_OTHERS(X)

enum file_type_symbol {
	TYPE_NONE,
#define X(symbol, word, group) TYPE_##symbol,
	FILE_TYPES(X)
#undef X
		TYPE_WAIT, // more bytes may tell
};

#endif
