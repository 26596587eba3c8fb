// SPDX-License-Identifier: BSD-3-Clause
// Computes and verifies checksums of TCP, UDP and ICMP in software.
#include <netinet/in.h>
#include <string.h>
#include "pipeline/wire/checksum.h"

uint16_t checksum_fold(uint32_t sum)
{
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

// Ones' complement in 64 bits: what carries out comes back in.
static uint64_t add_carry(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

// Sums 16-bit words as they lie in memory (RFC 1071 section 2(B): byte order does not matter),
// eight bytes at a time.
static uint64_t sum_bytes(const uint8_t *p, uint32_t length)
{
	uint64_t even = 0, odd = 0, word;

	for (; length >= 16; length -= 16, p += 16) {
		memcpy(&word, p, 8);
		even = add_carry(even, word);
		memcpy(&word, p + 8, 8);
		odd = add_carry(odd, word);
	}
	if (length >= 8) {
		memcpy(&word, p, 8);
		even = add_carry(even, word);
		length -= 8;
		p += 8;
	}
	if (length & 4) {
		uint32_t half;

		memcpy(&half, p, 4);
		odd = add_carry(odd, half);
		p += 4;
	}
	word = 0;
	if (length & 3)
		memcpy(&word, p, length & 3);
	return add_carry(add_carry(even, odd), word);
}

static uint16_t fold_wide(uint64_t wide)
{
	wide = (wide & 0xffffffff) + (wide >> 32);
	wide = (wide & 0xffffffff) + (wide >> 32);
	return checksum_fold((uint32_t)wide);
}

uint32_t checksum_bytes(const void *bytes, uint32_t length, uint32_t sum)
{
	return fold_wide(add_carry(sum_bytes(bytes, length), sum));
}

// Over an mbuf's bytes from `offset` on; a segment may end at an odd byte.
static uint32_t sum_mbuf(const struct rte_mbuf *m, uint32_t offset, uint32_t length)
{
	uint32_t sum = 0;
	bool odd = false;

	for (; m && length; m = m->next) {
		if (offset >= m->data_len) {
			offset -= m->data_len;
			continue;
		}
		uint32_t here = m->data_len - offset < length ? m->data_len - offset : length;
		uint16_t part = checksum_fold(checksum_bytes(
			rte_pktmbuf_mtod_offset(m, const uint8_t *, offset), here, 0));

		sum += odd ? (uint32_t)(uint16_t)(part << 8 | part >> 8) : part;
		odd ^= here & 1;
		length -= here;
		offset = 0;
	}
	return checksum_fold(sum);
}

static uint32_t pseudo_header(const uint8_t *ip, bool v6, uint32_t l4_length, uint8_t proto)
{
	uint32_t sum = v6 ? checksum_bytes(ip + 8, 32, 0) : checksum_bytes(ip + 12, 8, 0);
	uint16_t words[3] = {
		htons((uint16_t)(l4_length >> 16)), htons((uint16_t)l4_length), htons(proto)};

	return checksum_bytes(words, sizeof(words), sum);
}

static bool header_good(const struct rte_mbuf *m, uint32_t offset)
{
	uint8_t buffer[60];
	const uint8_t *ip = rte_pktmbuf_read(m, offset, 20, buffer);

	if (!ip)
		return false;
	if (ip[0] >> 4 != 4)
		return true; // IPv6 has none
	uint32_t length = (uint32_t)(ip[0] & 15) * 4;

	ip = rte_pktmbuf_read(m, offset, length, buffer);
	return ip && checksum_fold(checksum_bytes(ip, length, 0)) == 0xffff;
}

// Bytes of the L4 header and payload, by the IP header. 0: not all of them are here.
static uint32_t l4_length(const struct rte_mbuf *m, const struct pkt *pkt, const uint8_t *ip)
{
	bool v6 = pkt->flags & PKT_V6;
	uint32_t field = v6 ? (uint32_t)(ip[4] << 8 | ip[5]) : (uint32_t)(ip[2] << 8 | ip[3]);
	uint32_t total = v6 ? field + 40 : field;
	uint32_t before = (uint32_t)(pkt->l4_off - pkt->l3_off);

	if (!field) // large offload, in a capture: all that parse has found
		return (uint32_t)(pkt->payload_off - pkt->l4_off) + pkt->payload_len;
	return total > before && pkt->l3_off + total <= m->pkt_len ? total - before : 0;
}

static bool udp_zero(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint8_t buffer[2];
	const uint8_t *field = rte_pktmbuf_read(m, pkt->l4_off + 6u, 2, buffer);

	return field && !field[0] && !field[1];
}

static bool l4_good(const struct rte_mbuf *m, const struct pkt *pkt)
{
	bool v6 = pkt->flags & PKT_V6;
	uint8_t buffer[40];
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, buffer);
	uint32_t length = ip ? l4_length(m, pkt, ip) : 0;

	if (!length)
		return false;
	if (pkt->l4_proto == IPPROTO_UDP) {
		if (udp_zero(m, pkt))
			return !v6; // none was computed (RFC 768); IPv6 forbids that
		// parse has checked it; behind it lies padding
		length = (uint32_t)(pkt->payload_off - pkt->l4_off) + pkt->payload_len;
	}
	uint32_t sum = pkt->l4_proto == IPPROTO_ICMP ? 0 // it has no pseudo header
						     : pseudo_header(ip, v6, length, pkt->l4_proto);

	sum = checksum_fold(sum) + sum_mbuf(m, pkt->l4_off, length);
	return checksum_fold(sum) == 0xffff;
}

static bool has_checksum(const struct pkt *pkt)
{
	if (!(pkt->flags & PKT_L4_OK) || pkt->flags & PKT_FRAGMENT)
		return false;
	return pkt->l4_proto == IPPROTO_TCP || pkt->l4_proto == IPPROTO_UDP ||
	       pkt->l4_proto == IPPROTO_ICMP || pkt->l4_proto == IPPROTO_ICMPV6;
}

// A driver speaks of the outermost header. Its "good" is taken; "bad" is computed again, as some
// call a UDP checksum of 0 bad.
static bool driver_good(const struct rte_mbuf *m, const struct pkt *pkt)
{
	uint64_t l4 = m->ol_flags & RTE_MBUF_F_RX_L4_CKSUM_MASK;
	uint64_t ip = m->ol_flags & RTE_MBUF_F_RX_IP_CKSUM_MASK;
	bool v6 = pkt->flags & PKT_V6;

	if (pkt->flags & PKT_TUNNEL || l4 != RTE_MBUF_F_RX_L4_CKSUM_GOOD)
		return false;
	if (!v6)
		return ip == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
	return pkt->l4_proto != IPPROTO_UDP || !udp_zero(m, pkt);
}

// Folded it would be 0xffff: 2^16 is 1 modulo that, so a remainder tells, and costs one
// multiplication. (The sum is not 0: no header is.)
static bool sums_up(uint64_t sum)
{
	return sum % 0xffff == 0;
}

static uint32_t word32(const uint8_t *p)
{
	uint32_t word;

	memcpy(&word, p, 4);
	return word;
}

// The packet that nearly all are: IPv4 with TCP or UDP, no tunnel, in one segment, as long as it
// says. Sets *good, as the long way would; false: not such a packet.
static bool verify_plain(const struct rte_mbuf *m, const struct pkt *pkt, bool *good)
{
	bool tcp = pkt->l4_proto == IPPROTO_TCP;

	if (m->nb_segs != 1 || !(pkt->flags & PKT_L4_OK) ||
		pkt->flags & (PKT_V6 | PKT_TUNNEL | PKT_FRAGMENT | PKT_ICMP_ERROR) ||
		(!tcp && pkt->l4_proto != IPPROTO_UDP))
		return false;
	const uint8_t *ip = rte_pktmbuf_mtod_offset(m, const uint8_t *, pkt->l3_off);
	const uint8_t *l4 = rte_pktmbuf_mtod_offset(m, const uint8_t *, pkt->l4_off);
	uint32_t header = (uint32_t)(pkt->l4_off - pkt->l3_off);
	uint32_t total = (uint32_t)(ip[2] << 8 | ip[3]), length = total - header;

	if (total <= header || pkt->l3_off + total > m->data_len)
		return false;
	if (!tcp)
		length = (uint32_t)(pkt->payload_off - pkt->l4_off) + pkt->payload_len;
	// Few words of 32 bits never carry out of 64: no chain of additions that wait for each
	// other.
	uint64_t ends = (uint64_t)word32(ip + 12) + word32(ip + 16);
	uint64_t sum = ends + word32(ip) + word32(ip + 4) + word32(ip + 8);

	if (header > 20)
		sum = add_carry(sum, sum_bytes(ip + 20, header - 20));
	*good = sums_up(sum);
	if (!*good || (!tcp && !l4[6] && !l4[7]))
		return true; // no checksum was computed (RFC 768)
	sum = ends + htons((uint16_t)length) + htons(pkt->l4_proto) + word32(l4) + word32(l4 + 4);
	if (tcp)
		sum += (uint64_t)word32(l4 + 8) + word32(l4 + 12) + word32(l4 + 16);
	uint32_t summed = tcp ? 20 : 8;

	if (length > summed)
		sum = add_carry(sum, sum_bytes(l4 + summed, length - summed));
	*good = sums_up(sum);
	return true;
}

bool checksum_verify(struct rte_mbuf *m)
{
	struct pkt *pkt = pkt_of(m);

	if (pkt->flags & (PKT_CSUM_GOOD | PKT_CSUM_BAD))
		return false;
	if (driver_good(m, pkt)) {
		pkt->flags |= PKT_CSUM_GOOD;
		return false;
	}
	bool good;

	if (!verify_plain(m, pkt, &good)) {
		good = header_good(m, pkt->l3_off);
		if (pkt->flags & PKT_TUNNEL)
			good = good && header_good(m, pkt->outer_l3_off);
		good = good && (!has_checksum(pkt) || l4_good(m, pkt));
	}
	pkt->flags |= good ? PKT_CSUM_GOOD : PKT_CSUM_BAD;
	return true;
}

void checksum_fill(uint8_t *l3, uint8_t *l4, uint16_t l4_length, uint8_t l4_proto, bool v6)
{
	static const uint8_t offsets[] = {
		[IPPROTO_TCP] = 16, [IPPROTO_UDP] = 6, [IPPROTO_ICMP] = 2, [IPPROTO_ICMPV6] = 2};
	uint16_t sum;

	if (!v6) {
		memset(l3 + 10, 0, 2);
		sum = (uint16_t)~checksum_bytes(l3, (uint32_t)(l3[0] & 15) * 4, 0);
		memcpy(l3 + 10, &sum, 2);
	}
	if (l4_proto >= sizeof(offsets) || !offsets[l4_proto])
		return;
	uint8_t *field = l4 + offsets[l4_proto];

	memset(field, 0, 2);
	uint32_t pseudo = l4_proto == IPPROTO_ICMP ? 0 : pseudo_header(l3, v6, l4_length, l4_proto);

	sum = (uint16_t)~checksum_fold(checksum_bytes(l4, l4_length, pseudo));
	if (l4_proto == IPPROTO_UDP && !sum)
		sum = 0xffff;
	memcpy(field, &sum, 2);
}

// As it stands in memory; the two bytes may lie in two segments.
static void put_mbuf16(struct rte_mbuf *m, uint32_t offset, uint16_t value)
{
	const uint8_t *bytes = (const uint8_t *)&value;

	for (unsigned done = 0; m && done < 2; m = m->next) {
		for (; done < 2 && offset < m->data_len; offset++)
			*rte_pktmbuf_mtod_offset(m, uint8_t *, offset) = bytes[done++];
		offset -= m->data_len;
	}
}

void checksum_fill_tcp(struct rte_mbuf *m)
{
	const struct pkt *pkt = pkt_of(m);
	bool v6 = pkt->flags & PKT_V6;
	uint8_t room[40];
	const uint8_t *ip = rte_pktmbuf_read(m, pkt->l3_off, v6 ? 40 : 20, room);
	uint32_t length = (uint32_t)(pkt->payload_off - pkt->l4_off) + pkt->payload_len;

	if (!ip)
		return;
	put_mbuf16(m, pkt->l4_off + 16u, 0);
	uint32_t sum = pseudo_header(ip, v6, length, IPPROTO_TCP);

	put_mbuf16(m, pkt->l4_off + 16u,
		(uint16_t)~checksum_fold(
			(uint32_t)sum_mbuf(m, pkt->l4_off, length) + checksum_fold(sum)));
}
