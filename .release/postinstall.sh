#!/bin/sh
# Creates the user of the service, which then may read the settings. The service
# is not started: its settings come first.
set -e
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers gateway.conf
elif ! id gateway >/dev/null 2>&1; then
	useradd --system --user-group --home-dir /var/lib/gateway --shell /usr/sbin/nologin gateway
fi
chgrp gateway /etc/gateway/gateway.env
chmod 0640 /etc/gateway/gateway.env
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	systemctl try-restart gateway.service
fi
