package access

// NewPasswordsBy returns passwords whose hashes are computed by derive, so
// that tests can count, hold and speed them up.
func NewPasswordsBy(derive func(password, salt []byte, time, memory uint32, threads uint8, length uint32) []byte) *Passwords {
	return newPasswords(derive)
}
