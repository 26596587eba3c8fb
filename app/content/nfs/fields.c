// SPDX-License-Identifier: BSD-3-Clause
// Fields of calls and replies.
#include "content/nfs/fields.h"

#include "pipeline/vocab/octets.h"

#define CALL        0
#define REPLY       1
#define RPC_VERSION 2
#define PROGRAM     100003u
#define FLAVOR_GSS  6 // RPCSEC_GSS, RFC 2203
#define GSS_DATA    0
#define GSS_HEAD    16 // version, procedure, number, service
#define INTEGRITY   2
#define PRIVACY     3

#define ATTRS3_BYTES 84 // RFC 1813, fattr3
#define ATTRS3_SIZE  20
#define BITMAP_MAX   64 // words

static uint64_t be64(const uint8_t *at)
{
	return (uint64_t)octets_be32(at) << 32 | octets_be32(at + 4);
}

static uint32_t padding(uint32_t length)
{
	return (4 - length % 4) % 4;
}

// ---- what is wanted ----

static uint32_t first_bytes(char field)
{
	switch (field) {
	case '8':
	case 's':
	case '!':
	case '%':
	case 0: return 0;
	case 'O':
	case 'h': return 8;
	case 'k': return 16;
	default: return 4;
	}
}

void nfs_field_begin(struct nfs_half *half)
{
	char field = half->format ? *half->format : 0;

	half->phase = NFS_PHASE_FIRST;
	half->have = 0;
	half->want = first_bytes(field);
	half->lead = field == '8' ? 8 : field == 's' ? 16 : 0;
	half->pad = 0;
}

static void stop(struct nfs_half *half)
{
	half->format = NULL;
	nfs_field_begin(half);
}

static void go_on_with(struct nfs_half *half, const char *format)
{
	half->format = format;
	nfs_field_begin(half);
}

// An operation is over: the next one, if it is a compound.
void nfs_field_next(struct nfs_half *half)
{
	if (!half->format)
		return;
	if (*half->format)
		half->format++;
	if (!*half->format && half->values.version == 4 && half->ops) {
		half->ops--;
		half->values.index++;
		half->format = half->values.type == REPLY ? "p" : "P";
	}
	if (!*half->format)
		half->format = NULL;
	nfs_field_begin(half);
}

// ---- the head of a call or reply ----

static void take_head(struct nfs_half *half)
{
	struct nfs_values *values = &half->values;

	*values = (struct nfs_values){.xid = octets_be32(half->kept), .size = CONTENT_SIZE_UNKNOWN};
	uint32_t type = octets_be32(half->kept + 4);

	values->type = (uint8_t)type;
	if (type == CALL)
		go_on_with(half, "kc4o%");
	else if (type == REPLY)
		go_on_with(half, "r4oa%");
	else
		stop(half);
}

static bool take_call(struct nfs_half *half)
{
	const uint8_t *at = half->kept;
	uint32_t version = octets_be32(at + 8), procedure = octets_be32(at + 12);

	half->values.version = (uint8_t)version;
	half->values.op = (uint16_t)procedure;
	if (octets_be32(at) == RPC_VERSION && octets_be32(at + 4) == PROGRAM &&
		(version == 3 || version == 4) && procedure <= UINT16_MAX)
		return true;
	stop(half);
	return false;
}

// Credentials: their flavor, then length and body.
static bool take_credentials(struct nfs_half *half)
{
	struct nfs_values *values = &half->values;
	uint32_t number = octets_be32(half->kept), length;

	if (half->phase == NFS_PHASE_FIRST) {
		half->phase = NFS_PHASE_BODY;
		half->want = 8;
		return false;
	}
	if (half->phase == NFS_PHASE_BODY) {
		length = octets_be32(half->kept + 4);
		half->phase = NFS_PHASE_PAD;
		half->have = 0;
		half->want = number == FLAVOR_GSS && length >= GSS_HEAD ? GSS_HEAD : 0;
		half->pad = length - half->want + padding(length);
		if (half->want)
			return false;
		half->lead = half->pad;
		half->pad = 0;
		return !half->lead;
	}
	if (half->want) {
		uint32_t service = octets_be32(half->kept + 12);

		if (octets_be32(half->kept + 4) != GSS_DATA) {
			stop(half);
			return false;
		}
		values->integrity = service == INTEGRITY;
		values->privacy = service == PRIVACY;
	}
	half->lead = half->pad;
	half->want = half->have = half->pad = 0;
	return !half->lead;
}

// ---- unions ----

static void take_union(struct nfs_half *half, char field, uint32_t value)
{
	static const char *const opens[] = {"K", "M"}, *const modes[] = {
							       "boK", "boK", "8K", "8boK"};
	static const char *const claims[] = {"N!", "4!", "sN!", "N!", "!", "s!", "!"};
	static const char *const delegations[] = {"!", "s4444o!", "s448444o!", "Y"};
	static const char *const lists[] = {"4", "8N8AI!L"}, *const lists4[] = {"4", "8NBV!l"};
	static const char *const locks[] = {"s4", "4s48o"};
	const struct {
		char field;
		const char *const *formats;
		uint32_t n;
	} unions[] = {{'T', opens, 2}, {'M', modes, 4}, {'K', claims, 7}, {'G', delegations, 4},
		{'l', lists4, 2}, {'L', lists, 2}, {'W', locks, 2}};

	for (unsigned i = 0; i < sizeof(unions) / sizeof(unions[0]); i++) {
		if (unions[i].field != field)
			continue;
		if (value < unions[i].n) {
			go_on_with(half, unions[i].formats[value]);
		} else {
			half->wrong = true;
			stop(half);
		}
		return;
	}
	if (field == 'Y') // why none is given: of two reasons there is more
		go_on_with(half, value == 1 || value == 2 ? "4!" : "!");
	else // what CREATE makes: a link, a device, or neither
		go_on_with(half, value == 5                 ? "oobo!"
				 : value == 3 || value == 4 ? "8obo!"
							    : "obo!");
}

// ---- names, handles, attributes ----

// Length of an opaque: of its body the last `room` bytes are kept.
static void want_body(struct nfs_half *half, uint32_t room)
{
	uint32_t length = octets_be32(half->kept);

	half->phase = NFS_PHASE_BODY;
	half->have = 0;
	half->want = length < room ? length : room;
	half->lead = length - half->want;
	half->pad = padding(length);
}

static void keep_name(struct nfs_values *values, const struct nfs_half *half)
{
	values->name = (uint16_t)half->have;
	memcpy(values->name_bytes, half->kept, half->have);
}

static void keep_handle(struct nfs_values *values, const struct nfs_half *half)
{
	values->fh = (uint16_t)half->have;
	memcpy(values->handle_bytes, half->kept, half->have);
}

// Attributes of version 4 stand in the order of their numbers (RFC 7530 5.8): those before the size
// and before the handle, whose lengths do not vary.
static void keep_attributes(struct nfs_half *half)
{
	static const uint8_t lengths[20] = {
		[1] = 4, 4, 8, 8, 4, 4, 4, 16, 4, 4, 4, [13] = 4, 4, 4, 4, 4, 4};
	const uint32_t bitmap = half->values.bitmap;
	uint32_t at = 0;

	for (unsigned i = 0; i < 20; i++) {
		if (!(bitmap & 1u << i))
			continue;
		if (i == 4 && at + 8 <= half->have)
			half->values.size = be64(half->kept + at);
		if (i == 19 && at + 4 <= half->have) {
			uint32_t length = octets_be32(half->kept + at);

			if (length > NFS_HANDLE_BYTES || length > half->have - at - 4)
				return;
			half->values.fh = (uint16_t)length;
			memcpy(half->values.handle_bytes, half->kept + at + 4, length);
		}
		if (!lengths[i])
			return;
		at += lengths[i];
	}
}

// A body has come, its end or its beginning.
static bool take_body(struct nfs_half *half, char field)
{
	half->phase = NFS_PHASE_PAD;
	switch (field) {
	case 'N': keep_name(&half->values, half); break;
	case 'H':
	case 'I': keep_handle(&half->values, half); break;
	case 'V': keep_attributes(half); break;
	case 'A': half->values.size = be64(half->kept + ATTRS3_SIZE); break;
	default: break;
	}
	half->lead = half->pad;
	half->want = half->have = 0;
	return !half->lead;
}

// Opaque, or something that may be there. True: it is not.
static bool begin_body(struct nfs_half *half, char field)
{
	uint32_t number = octets_be32(half->kept);

	switch (field) {
	case 'N':
		want_body(half, NFS_NAME_BYTES);
		half->values.name_cut = half->lead;
		break;
	case 'H':
		want_body(half, NFS_HANDLE_BYTES);
		if (half->lead) // no handle is so long
			half->wrong = true;
		break;
	case 'V': // the beginning is read
		want_body(half, NFS_ATTRS_BYTES);
		half->pad += (uint32_t)half->lead;
		half->lead = 0;
		break;
	case 'A':
		half->phase = NFS_PHASE_BODY;
		half->have = 0;
		half->want = number ? ATTRS3_BYTES : 0;
		return !number;
	case 'I': // a handle follows
		if (!number)
			return true;
		if (half->phase == NFS_PHASE_FIRST && half->want == 4) {
			half->phase = NFS_PHASE_BODY;
			half->want = 8;
			return false;
		}
		break;
	default: // passed over
		half->phase = NFS_PHASE_PAD;
		half->lead = (uint64_t)number + padding(number);
		half->want = half->have = 0;
		return !half->lead;
	}
	if (!half->want && !half->lead)
		return take_body(half, field);
	return false;
}

// A handle that may be there: whether it is, its length, itself.
static bool take_handle_if(struct nfs_half *half)
{
	if (half->phase == NFS_PHASE_FIRST)
		return begin_body(half, 'I');
	if (half->phase == NFS_PHASE_BODY && half->want == 8 && !half->pad) {
		uint32_t length = octets_be32(half->kept + 4);

		half->have = 0;
		half->want = length < NFS_HANDLE_BYTES ? length : NFS_HANDLE_BYTES;
		half->lead = length - half->want;
		half->wrong |= half->lead > 0;
		if (!length)
			return take_body(half, 'I');
		half->pad = padding(length) + 4; // never 0 while a body is wanted
		return false;
	}
	half->pad -= 4;
	return take_body(half, 'I');
}

static bool take_bitmap(struct nfs_half *half)
{
	uint32_t words = octets_be32(half->kept);

	if (half->phase == NFS_PHASE_FIRST) {
		half->values.bitmap = 0;
		if (words > BITMAP_MAX) {
			half->wrong = true;
			stop(half);
			return false;
		}
		half->phase = NFS_PHASE_BODY;
		half->want = words ? 8 : 4;
		return !words;
	}
	if (half->phase == NFS_PHASE_BODY) {
		half->values.bitmap = octets_be32(half->kept + 4);
		half->phase = NFS_PHASE_PAD;
		half->lead = 4 * (uint64_t)(words - 1);
		half->want = half->have = 0;
		return !half->lead;
	}
	return true;
}

// ---- a field ----

static bool take_number(struct nfs_half *half, char field)
{
	struct nfs_values *values = &half->values;
	uint32_t number = octets_be32(half->kept);

	switch (field) {
	case 'O': values->offset = be64(half->kept); return true;
	case 'C': values->count = number; return true;
	case 'E': values->eof = number; return true;
	case 'S':
	case 'r':
	case 'a':
		if (number)
			stop(half);
		return !number;
	case 'R': half->ops = number; return true;
	case 'P':
	case 'p': {
		const char *format =
			field == 'P' ? nfs_op_arguments(number) : nfs_op_results(number);

		values->op = (uint16_t)number;
		values->eof = values->makes = values->name_cut = false;
		values->name = values->fh = 0;
		values->size = CONTENT_SIZE_UNKNOWN;
		half->wrong |= !format && number > 80; // there are no such
		go_on_with(half, format);
		return false;
	}
	default: return true;
	}
}

static bool take_opaque(struct nfs_half *half, char field)
{
	if (half->phase == NFS_PHASE_FIRST)
		return begin_body(half, field);
	return half->phase == NFS_PHASE_BODY ? take_body(half, field) : true;
}

// A bitmap that is passed over.
static bool skip_bitmap(struct nfs_half *half)
{
	if (half->phase != NFS_PHASE_FIRST)
		return true;
	half->phase = NFS_PHASE_PAD;
	half->lead = 4 * (uint64_t)octets_be32(half->kept);
	half->want = half->have = 0;
	return !half->lead;
}

static bool is_among(char field, const char *fields)
{
	return field && strchr(fields, field);
}

bool nfs_field_take(struct nfs_half *half)
{
	char field = *half->format;

	if (is_among(field, "TMKGYQWLl")) {
		if (field == 'T')
			half->values.makes = octets_be32(half->kept) == 1;
		take_union(half, field, octets_be32(half->kept));
		return false;
	}
	if (is_among(field, "oNHVA"))
		return take_opaque(half, field);
	switch (field) {
	case 'h': take_head(half); return false;
	case 'k': return take_call(half);
	case 'c': return take_credentials(half);
	case 'B': return take_bitmap(half);
	case 'I': return take_handle_if(half);
	case 'b': return skip_bitmap(half);
	default: return take_number(half, field);
	}
}
