// SPDX-License-Identifier: BSD-3-Clause
// Removes what a gateway leaves behind: XDP programs, promiscuous mode, the files of EAL.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "process/again.h"
#include "config/eal_args.h"
#include "process/launcher_process.h"
#include "base/log.h"

#define XDP_PINS "/sys/fs/bpf/xdp"

// As EAL chooses it (eal_create_runtime_dir).
static void eal_directory(const char *file_prefix, char *out, size_t out_len)
{
	const char *base = getenv("RUNTIME_DIRECTORY");

	if (!base)
		base = geteuid() == 0 ? "/var/run" : getenv("XDG_RUNTIME_DIR");
	snprintf(out, out_len, "%s/dpdk/%s", base ? base : "/tmp", file_prefix);
}

void launcher_plan_init(
	struct launcher_plan *plan, const struct gateway *gateway, const char *file_prefix)
{
	plan->gateway = gateway;
	plan->daemon = getpid();
	eal_directory(file_prefix, plan->eal_dir, sizeof(plan->eal_dir));
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		struct launcher_port *port = &plan->ports[plan->n_ports];
		const char *device = gateway->ports[i].device;
		char driver[64];

		device_driver_of(device, driver, sizeof(driver));
		port->xdp = strcmp(driver, "net_af_xdp") == 0;
		if ((!port->xdp && strcmp(driver, "net_af_packet") != 0) ||
			!device_arg_of(device, "iface", port->interface, sizeof(port->interface)))
			continue;
		link_query(port->interface, &port->before);
		plan->n_ports++;
	}
}

void launcher_plan_ports_taken(struct launcher_plan *plan, const struct launcher_ports *ports)
{
	const struct gateway *gateway = plan->gateway;

	if (plan->ports_taken)
		return;
	for (unsigned i = 0; i < plan->n_ports; i++)
		link_query(plan->ports[i].interface, &plan->ports[i].taken);
	for (unsigned i = 0; i < gateway->n_ports; i++) {
		if (again_kind_of(gateway->ports[i].device) == AGAIN_TAP)
			memcpy(plan->taps[i], ports->interface[i], IF_NAMESIZE - 1);
	}
	plan->ports_taken = true;
}

// An interface that left this network namespace and came back has the program of its driver, for
// sockets that are dead.
static void take_off_our_own(const struct launcher_plan *plan, const char *interface)
{
	struct link_state now;

	for (unsigned i = 0; i < plan->n_ports; i++) {
		const struct launcher_port *port = &plan->ports[i];

		if (port->xdp && strcmp(port->interface, interface) == 0 &&
			link_query(interface, &now) == 0 && now.xdp_id &&
			now.xdp_id == port->taken.xdp_id && now.xdp_id != port->before.xdp_id)
			link_xdp_detach(&now);
	}
}

// -1: none. The one before goes: it held promiscuous mode for sockets that are dead.
static void keep_listener(struct launcher_plan *plan, unsigned port, int listener)
{
	if (plan->listeners[port])
		close(plan->listeners[port] - 1);
	plan->listeners[port] = listener + 1;
}

void launcher_plan_again(struct launcher_plan *plan, const struct again_request *request, int fd)
{
	struct again_sockets sockets = {.answer = {.error = -EINVAL}};
	const struct gateway *gateway = plan->gateway;
	int listener = -1;

	if (request->port < gateway->n_ports) {
		const struct gateway_port *port = &gateway->ports[request->port];
		const char *tap = plan->taps[request->port];
		char interface[IF_NAMESIZE];

		if (*tap) {
			again_open(port->device, tap, port->mtu, &sockets, &listener);
		} else if (again_interface_of(port->device, interface)) {
			take_off_our_own(plan, interface);
			again_open(port->device, interface, port->mtu, &sockets, &listener);
		}
		// Of one that failed the port may still go by what it had.
		if (!sockets.answer.error)
			keep_listener(plan, request->port, listener);
	}
	sockets.answer.sequence = request->sequence;
	sockets.answer.port = request->port;
	int rc = again_send_sockets(fd, &sockets);
	again_close(&sockets);
	if (rc < 0) { // too many descriptors under way: an answer there must be
		sockets.answer.error = rc;
		sockets.answer.step = AGAIN_TAKE;
		again_send_sockets(fd, &sockets);
	}
}

// libxdp pins what it attaches where bpffs is mounted.
static void remove_pins(const struct link_state *link)
{
	char path[128];

	snprintf(path, sizeof(path), XDP_PINS "/dispatch-%u-%u", link->ifindex, link->xdp_id);
	DIR *pins = opendir(path);
	if (!pins)
		return;
	for (const struct dirent *entry; (entry = readdir(pins));)
		unlinkat(dirfd(pins), entry->d_name, 0); // "." and ".." refuse
	closedir(pins);
	rmdir(path);
}

static void clean_port(const struct launcher_plan *plan, const struct launcher_port *port)
{
	struct link_state now;

	// By its number: it may have been renamed, and another one have its name.
	if (link_query_index(port->before.ifindex, &now) < 0 || !now.ifindex)
		return; // gone, with all that was on it
	if (!port->before.promiscuous && now.promiscuous)
		link_promiscuous_clear(&now);
	if (!port->xdp)
		return;
	// Ours is what hangs there since the ports were taken; after a death in between, what did
	// not hang there before. A program that was there first is its owner's.
	bool ours = plan->ports_taken ? now.xdp_id == port->taken.xdp_id : !port->before.xdp_id;
	if (!now.xdp_id || !ours || now.xdp_id == port->before.xdp_id)
		return;
	int rc = link_xdp_detach(&now);
	if (rc < 0)
		log_warning("%s: its XDP program cannot be taken off: %s; do it by hand: ip link "
			    "set dev %s xdp off",
			now.name, strerror(-rc), now.name);
	else
		remove_pins(&now);
}

void launcher_remove_socket(const char *path, int type)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;

	if (strlen(path) >= sizeof(address.sun_path) || lstat(path, &st) < 0 ||
		!S_ISSOCK(st.st_mode))
		return;
	memcpy(address.sun_path, path, strlen(path) + 1);
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	bool dead = connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 &&
		    errno == ECONNREFUSED;
	close(fd);
	if (dead && unlink(path) < 0)
		log_debug("%s: %s", path, strerror(errno));
}

static void remove_pidfile(const struct launcher_plan *plan)
{
	const char *path = plan->gateway->paths.pidfile;
	char text[32] = "";

	if (!path)
		return;
	// In a folder of the gateway's user: a pipe there shall not stop us.
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	// Unlocked, and with the number of the one that ended: no other gateway's.
	if (flock(fd, LOCK_EX | LOCK_NB) == 0 && read(fd, text, sizeof(text) - 1) > 0 &&
		strtol(text, NULL, 10) == plan->daemon)
		unlink(path);
	close(fd);
}

// With our prefix another program may run, too: only sockets that nobody answers go.
void launcher_clean_eal(const struct launcher_plan *plan)
{
	char path[sizeof(plan->eal_dir) + 256 + 2];
	DIR *names = opendir(plan->eal_dir);

	if (!names)
		return;
	for (const struct dirent *entry; (entry = readdir(names));) {
		if (strncmp(entry->d_name, "dpdk_telemetry", strlen("dpdk_telemetry")) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", plan->eal_dir, entry->d_name);
		struct stat st;
		if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && access(path, F_OK) < 0)
			unlink(path); // the plain name that points at a socket of the past
		else
			launcher_remove_socket(path, SOCK_SEQPACKET);
	}
	closedir(names);
	rmdir(plan->eal_dir); // if it is empty
}

void launcher_clean(struct launcher_plan *plan)
{
	for (unsigned i = 0; i < plan->gateway->n_ports; i++)
		keep_listener(plan, i, -1);
	for (unsigned i = 0; i < plan->n_ports; i++)
		clean_port(plan, &plan->ports[i]);
	launcher_remove_socket(plan->gateway->paths.control, SOCK_STREAM);
	if (plan->gateway->http.listen &&
		strncmp(plan->gateway->http.listen, "unix:", strlen("unix:")) == 0)
		launcher_remove_socket(plan->gateway->http.listen + strlen("unix:"), SOCK_STREAM);
	remove_pidfile(plan);
}
