# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A server of XMPP with a proxy for bytestreams (XEP-0065), in clear: sourced after netns.sh, whose netns_begin has been called.

prosody_lab() { # USER...: its folder is LAB_RUN/chat; 0 where it listens
	local here=$LAB_RUN/chat who
	mkdir -p "$here/accounts/chat%2eexample/accounts"
	chmod 755 "$LAB_RUN" "$here"
	cat >"$here/prosody.lua" <<-EOT
		run_as_root = true
		pidfile = "$here/pid"
		data_path = "$here/accounts"
		log = { { levels = { min = "info" }, to = "console" } }
		interfaces = { "$LAB_SERVER4" }
		modules_enabled = { "roster"; "saslauth"; "disco"; "posix" }
		modules_disabled = { "tls"; "s2s" }
		c2s_require_encryption = false
		allow_unencrypted_plain_auth = true
		authentication = "internal_plain"
		proxy65_address = "$LAB_SERVER4"
		proxy65_ports = { 5000 }
		proxy65_interfaces = { "$LAB_SERVER4" }
		VirtualHost "chat.example"
		Component "proxy.chat.example" "proxy65"
	EOT
	for who in "$@"; do # as prosodyctl register stores it, which takes a second for each
		echo 'return { ["password"] = "pass"; };' >"$here/accounts/chat%2eexample/accounts/$who.dat"
	done
	lab_spawn prosody server prosody -F --config "$here/prosody.lua"
	lab_wait 30 prosody_listens
}
prosody_listens() { lab_exec server sh -c 'ss -ltn | grep -q :5222 && ss -ltn | grep -q :5000'; }
