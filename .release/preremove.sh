#!/bin/sh
# Stops the service before its package is removed, not before an upgrade: the
# first argument is "remove" on Debian, "0" with rpm.
set -e
case "$1" in
remove | purge | 0)
	if [ -d /run/systemd/system ]; then
		systemctl disable --now gateway.service
	fi
	;;
esac
