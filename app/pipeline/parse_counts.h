// SPDX-License-Identifier: BSD-3-Clause
// What the packets of a burst are, counted while they are parsed. The lcore's own.
#ifndef SLUICE_PARSE_COUNTS_H
#define SLUICE_PARSE_COUNTS_H

#include <netinet/in.h>
#include "pipeline/lcore/lcore.h"

// Of one burst; added to the lcore's counters once.
struct parsed {
	uint64_t bytes;
	unsigned multiseg, vlan, ip, ipv6, tunnel, undecoded;
};

// parse follows what it can: a packet whose flow is still that of a tunnel was not decoded.
#define UNDECODED_TUNNELS (1ull << IPPROTO_GRE | 1ull << IPPROTO_IPIP | 1ull << IPPROTO_IPV6)

static inline void count_parsed(
	struct parsed *parsed, const struct rte_mbuf *m, const struct pkt *pkt)
{
	parsed->bytes += m->pkt_len;
	parsed->multiseg += m->nb_segs > 1;
	parsed->vlan += pkt->n_vlan > 0;
	if (pkt->class != PKT_IP)
		return;
	parsed->ip++;
	if (likely(!(pkt->flags & (PKT_V6 | PKT_TUNNEL)) && pkt->l4_proto < IPPROTO_IPV6 &&
		    pkt->l4_proto != IPPROTO_IPIP))
		return;
	parsed->ipv6 += (pkt->flags & PKT_V6) != 0;
	parsed->tunnel += (pkt->flags & PKT_TUNNEL) != 0;
	parsed->undecoded += pkt->l4_proto < 64 && UNDECODED_TUNNELS >> pkt->l4_proto & 1;
}

static inline void add_parsed(struct lcore *lcore, const struct parsed *parsed)
{
	struct stats *stats = &lcore->stats;

	stats->multiseg_pkts += parsed->multiseg;
	stats->vlan_pkts += parsed->vlan;
	stats->ipv4_pkts += parsed->ip - parsed->ipv6;
	stats->ipv6_pkts += parsed->ipv6;
	stats->tunnel_pkts += parsed->tunnel;
	stats->tunnel_undecoded_pkts += parsed->undecoded;
}

#endif
