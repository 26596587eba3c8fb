# SPDX-License-Identifier: BSD-3-Clause
"""Labels of the captures that are held to be wrong, and what they are read as.

Who scores says how many labels were read otherwise.
- The labeller of most captures counted all names below qq.com as QQ. Tencent gives weixin.qq.com and wx.qq.com to WeChat
  (developers.weixin.qq.com), and so do config/signatures.
- It took Skype's login, which begins with the heads of two empty records, for TLS, although no hello is in it (Baset and
  Schulzrinne, "An Analysis of the Skype Peer-to-Peer Internet Telephony Protocol", 2006).
"""

WECHAT = (".weixin.qq.com", ".wx.qq.com")
SKYPE_LOGINS = {("skype/ndpihist__skype_no_unknown.pcap", port) for port in ("51307", "51312", "51315", "51317")}


def _truth(row):
    host = "." + (row["raw"].split() or [""])[-1]
    if row["app"] == "qq" and row["class"] == "im" and host.endswith(WECHAT):
        return {"app": "wechat"}
    if row["app"] == "tls" and (row["pcap"], row["sport"]) in SKYPE_LOGINS:
        return {"app": "skype", "class": "im"}
    return {}


def corrected(rows):
    """The rows of labels.csv as they are scored, and how many of them say something else there."""
    out, n = [], 0
    for row in rows:
        truth = _truth(row)
        out.append({**row, **truth})
        n += bool(truth)
    return out, n
