// SPDX-License-Identifier: BSD-3-Clause
// The program sluice-scan looks for viruses in files of a gateway, in jailed children, with
// libclamav.
#include "scan/program/program.h"

int main(int argc, char **argv)
{
	return scan_program(argc, argv, scan_clam_scan);
}
