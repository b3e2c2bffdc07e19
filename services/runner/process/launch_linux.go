package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

const dataLimit = unix.RLIMIT_DATA

// attributes give a program its own session and process group. The kernel kills
// it when the thread that started it ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// prepare applies to this thread what the kernel keeps for the program.
func (l launch) prepare() error {
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("bind to the runner: %w", err)
	}
	if os.Getppid() != l.Parent {
		return errors.New("the runner has ended")
	}
	if err := unix.CloseRange(3, 1<<32-1, unix.CLOSE_RANGE_CLOEXEC); err != nil { // inherited from the runner's parent
		return fmt.Errorf("close descriptors: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	// A program that can't have a lower priority runs with the present one.
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	if l.Confined {
		return confine(l.Writable)
	}
	return nil
}

// writing are the Landlock rights that change files or directories.
const writing = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM

// confine restricts writing by this thread, and by the program that it executes,
// to directories and the null device (Linux 5.13 and later). It returns an error
// if the kernel lacks Landlock or a directory does not exist.
func confine(writable []string) error {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errors.New("the kernel has no Landlock, which sandbox needs")
	}
	rights := uint64(writing)
	if version >= 2 {
		rights |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		rights |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: rights}
	ruleset, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Handled_access_fs), 0)
	if errno != 0 {
		return fmt.Errorf("set up the sandbox: %w", errno)
	}
	defer unix.Close(int(ruleset))
	for _, dir := range writable {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return fmt.Errorf("sandbox.write: %w", err)
		}
		if err := allow(int(ruleset), resolved, rights); err != nil {
			return fmt.Errorf("sandbox.write: %w", err)
		}
	}
	device := rights & (unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE)
	if err := allow(int(ruleset), os.DevNull, device); err != nil {
		return fmt.Errorf("set up the sandbox: %w", err)
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0, 0); errno != 0 {
		return fmt.Errorf("enter the sandbox: %w", errno)
	}
	return nil
}

// allow adds a rule for everything beneath a path.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}
