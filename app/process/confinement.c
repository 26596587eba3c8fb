// SPDX-License-Identifier: BSD-3-Clause
// Gives up the rights of `sluice run`, step by step.
#include "process/confinement.h"

#include <errno.h>
#include <string.h>
#include <rte_ethdev.h>
#include "config/eal_args.h"
#include "base/log.h"
#include "base/options.h"
#include "process/privileges.h"

static int exit_code(int error)
{
	return error == -EACCES || error == -EPERM ? EXIT_CODE_PERMISSION
	       : error == -ENOENT                  ? EXIT_CODE_CONFIG
						   : EXIT_CODE_FAILURE;
}

int confinement_begin(struct confinement *confinement, const struct gateway *gateway,
	const char *gateway_path, const char *policy_path, char *const *eal, unsigned n_eal,
	char *err, size_t err_len)
{
	static struct eal_args args; // large
	char prefix[128];

	confinement->gateway = gateway;
	confinement->gateway_path = gateway_path;
	confinement->policy_path = policy_path;
	int rc = identity_choose(gateway, &confinement->identity, err, err_len);
	if (rc < 0)
		return exit_code(rc);
	if (confinement->identity.folder[0])
		log_notice(
			"no user is named, and %s belongs to user \"%s\": running as that one, as "
			"the service does (--user root stays root)",
			confinement->identity.folder, confinement->identity.user);
	if (eal_args_build(gateway, eal, n_eal, 0, &args, err, err_len) < 0)
		return EXIT_CODE_CONFIG;
	eal_args_value(&args, "--file-prefix", prefix, sizeof(prefix));
	rc = launcher_start(&confinement->launcher, gateway, prefix, err, err_len);
	if (!rc)
		rc = privileges_limit(err, err_len);
	if (rc < 0)
		return exit_code(rc);
	identity_prepare(&confinement->identity, gateway);
	return -1;
}

void confinement_ports(struct confinement *confinement, const struct dataplane *dp)
{
	struct launcher_ports ports = {0};

	for (unsigned i = 0; i < dp->n_ports; i++) {
		struct rte_eth_dev_info info;

		if (rte_eth_dev_info_get(dp->ports[i].port_id, &info) == 0 && info.if_index)
			if_indextoname(info.if_index, ports.interface[i]);
	}
	launcher_report_ports(&confinement->launcher, &ports);
}

int confinement_enter(struct confinement *confinement, char *err, size_t err_len)
{
	static struct sandbox sandbox;
	const struct gateway *gateway = confinement->gateway;
	const struct identity *identity = &confinement->identity;
	int rc = 0;

	identity_give(identity, gateway->paths.control, !gateway->control_group);
	if (gateway->http.listen && strncmp(gateway->http.listen, "unix:", strlen("unix:")) == 0)
		identity_give(identity, gateway->http.listen + strlen("unix:"), false);
	// Without user and sandbox it runs as it was started: for looking for faults.
	if (identity->change || gateway->sandbox)
		rc = privileges_drop(identity, err, err_len);
	if (rc < 0)
		return exit_code(rc);
	if (identity->change || gateway->sandbox)
		identity_check(
			identity, gateway, confinement->gateway_path, confinement->policy_path);
	if (!gateway->sandbox) {
		log_notice("sandbox: off (gateway.json)");
		return -1;
	}
	sandbox_init(&sandbox, gateway, confinement->gateway_path, confinement->policy_path);
	rc = sandbox_enter(&sandbox, err, err_len);
	return rc < 0 ? EXIT_CODE_FAILURE : -1;
}

void confinement_end(struct confinement *confinement, bool badly)
{
	launcher_end(&confinement->launcher, badly);
}
