# SPDX-License-Identifier: BSD-3-Clause
"""sluicectl: the operator's side of the control socket (docs/control-socket.md). See README.md."""
