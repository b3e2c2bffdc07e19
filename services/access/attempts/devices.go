package attempts

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"time"

	"mcpgateway/services/secrets"
)

// DeviceLifetime is the maximum time since the last sign-in in a known browser.
const DeviceLifetime = 180 * 24 * time.Hour

const (
	devicePurpose = "gateway device v1"
	deviceSize    = 16  // random bytes that identify a device
	maxDevice     = 512 // bytes of a device cookie
)

// device is a browser in which a user has signed in, stored in that browser as
// a sealed cookie. It grants no access: it only gives sign-in attempts from
// that browser a separate limit, so that failures elsewhere don't lock the user
// out.
type device struct {
	ID       string `json:"id"`
	Account  string `json:"account"`   // subject of the account's limit
	IssuedAt int64  `json:"issued_at"` // Unix seconds
}

// knownDevice returns the device of a cookie that was issued for the account.
func (c *Counter) knownDevice(cookie, email string) (d device, known bool) {
	if cookie == "" || len(cookie) > maxDevice {
		return device{}, false
	}
	plain, err := c.sealer.OpenToken(devicePurpose, cookie)
	if err != nil || json.Unmarshal(plain, &d) != nil || d.Account != accountSubject(email) {
		return device{}, false
	}
	age := c.now().Sub(time.Unix(d.IssuedAt, 0))
	return d, age < DeviceLifetime
}

// IssueDevice returns the device cookie after a sign-in to the account. A known
// device keeps its ID.
func (c *Counter) IssueDevice(cookie, email string) (secrets.Value, error) {
	d, known := c.knownDevice(cookie, email)
	if !known {
		id := make([]byte, deviceSize)
		rand.Read(id) // never fails
		d = device{ID: base64.RawURLEncoding.EncodeToString(id), Account: accountSubject(email)}
	}
	d.IssuedAt = c.now().Unix()
	plain, err := json.Marshal(d)
	if err != nil {
		return secrets.Value{}, err
	}
	return secrets.NewValue(c.sealer.SealToken(devicePurpose, plain)), nil
}
