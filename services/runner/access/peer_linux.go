package access

import "golang.org/x/sys/unix"

// credentials returns the user of the process that opened a connection.
func credentials(fd int) (int, error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return int(peer.Uid), nil
}
