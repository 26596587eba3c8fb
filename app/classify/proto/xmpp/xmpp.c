// SPDX-License-Identifier: BSD-3-Clause
// XMPP (RFC 6120, RFC 6121) over TCP, and BOSH (XEP-0124) by its name space. A stream is one XML
// document: its opening tag names the name spaces. What is not well-formed XML is refused, as a
// peer must (RFC 6120 4.9.3.13): text that merely talks of XMPP is not XMPP.
#include "classify/app_proto.h"
#include "classify/proto/xmpp/xml.h"
#include "classify/proto/xmpp/offers.h"

static bool is_our_space(struct text value)
{
	static const char *const spaces[] = {"jabber:", "urn:ietf:params:xml:ns:xmpp",
		"urn:xmpp:", "http://etherx.jabber.org/", "http://jabber.org/",
		"http://affinix.com/jabber/", NULL};

	for (unsigned i = 0; spaces[i]; i++)
		if (text_begins(value, spaces[i]))
			return true;
	return false;
}

struct tag {
	enum xml_parse end;
	unsigned spaces;    // attributes that name a name space of XMPP
	unsigned addresses; // to, from
	unsigned others;    // id, type
};

static struct tag parse_tag(struct text *rest)
{
	struct tag tag = {0};
	struct xml_attribute attribute;

	while ((tag.end = xml_take_attribute(rest, &attribute)) == XML_ATTRIBUTE) {
		if (text_begins(attribute.name, "xmlns") && is_our_space(attribute.value))
			tag.spaces++;
		else if (text_is(attribute.name, "to") || text_is(attribute.name, "from"))
			tag.addresses += text_contains_byte(attribute.value, '.') ||
					 text_contains_byte(attribute.value, '@');
		else if (text_is(attribute.name, "id") || text_is(attribute.name, "type"))
			tag.others++;
	}
	return tag;
}

// The elements inside name their name space, mostly the first of them.
static bool child_is_ours(struct text rest)
{
	for (unsigned n = 0; n < 4 && text_contains_byte(rest, '<'); n++) {
		text_take(&rest, '<');
		xml_take_name(&rest);
		if (parse_tag(&rest).spaces)
			return true;
	}
	return false;
}

static enum verify verify_stream(struct tag tag)
{
	if (tag.end == XML_WRONG)
		return VERIFY_NO;
	if (tag.end == XML_SHORT)
		return tag.spaces ? VERIFY_DPI : VERIFY_MORE;
	return tag.spaces ? VERIFY_YES : VERIFY_NO;
}

// A stanza without the stream's opening: midstream, or behind a TLS proxy.
static enum verify verify_stanza(struct tag tag, struct text rest)
{
	if (tag.end == XML_WRONG)
		return VERIFY_NO;
	if (tag.spaces || (tag.addresses && tag.others) || tag.addresses == 2)
		return VERIFY_DPI;
	if (tag.end == XML_DONE && child_is_ours(rest))
		return VERIFY_DPI;
	return VERIFY_MORE;
}

static enum verify verify_xml(struct text rest)
{
	static const char *const stanzas[] = {"iq", "message", "presence", "auth", "challenge",
		"failure", "proceed", "response", "starttls", "stream:error", "stream:features",
		"success", NULL};
	struct text name;

	rest = xml_skip_space(rest);
	if (text_begins(rest, "<?xml")) {
		if (!text_contains_byte(rest, '>'))
			return VERIFY_MORE;
		text_take(&rest, '>');
		rest = xml_skip_space(rest);
	}
	if (!rest.length)
		return VERIFY_MORE;
	if (text_begins(rest, "</stream:stream>"))
		return VERIFY_DPI;
	if (rest.at[0] != '<')
		return VERIFY_NO;
	rest = text_from(rest, 1);
	name = xml_take_name(&rest);
	if (!rest.length)
		return VERIFY_MORE;
	struct tag tag = parse_tag(&rest);

	if (text_is(name, "stream:stream") || text_is(name, "flash:stream"))
		return verify_stream(tag);
	return text_is_among(name, stanzas) ? verify_stanza(tag, rest) : VERIFY_NO;
}

// BOSH: the body element of an HTTP request or answer is in this name space.
static bool is_bosh(struct text half)
{
	return text_contains(half, "<body ") &&
	       text_contains(half, "http://jabber.org/protocol/httpbind");
}

static enum verify verify(const struct probe *probe)
{
	struct text half = probe_text(probe);

	if (half.length && half.at[0] == 5)
		return xmpp_bytestream(probe);

	if (text_begins(half, "POST ") || text_begins(half, "HTTP/1."))
		return is_bosh(half) ? VERIFY_DPI : VERIFY_NO;
	return verify_xml(half);
}

const struct app_proto app_proto_xmpp = {
	.name = "xmpp",
	.title = "XMPP (Jabber)",
	.group = "chat",
	.category = APP_CATEGORY_IM,
	.verify = verify,
	.decode = xmpp_offers_decode,
	.alpns = {"xmpp-client", "xmpp-server"},
	.tcp_ports = {5222, 5269, 5298},
};
