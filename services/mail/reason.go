package mail

import (
	"crypto/tls"
	"errors"
	"net/textproto"
	"os"
	"strconv"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"mcpgateway/services/egress"
)

// maxReason is the maximum length of a reason, in characters.
const maxReason = 300

// Reason describes why messages were not sent, as a clause for administrators. It
// contains no password.
func Reason(err error) string {
	var blocked *egress.Blocked
	var certificate *tls.CertificateVerificationError
	var rejected *gomail.SendError
	var reply *textproto.Error
	switch {
	case errors.Is(err, ErrOff):
		return ErrOff.Error()
	case errors.As(err, &blocked):
		return blocked.Error()
	case errors.As(err, &certificate):
		return "the mail server's certificate isn't trusted: " + clean(certificate.Err.Error())
	case errors.As(err, &reply):
		return "the mail server answered " + strconv.Itoa(reply.Code) + ": " + clean(reply.Msg)
	case errors.As(err, &rejected):
		return "the mail server rejected the message: " + clean(rejected.Error())
	case errors.Is(err, os.ErrDeadlineExceeded), strings.Contains(err.Error(), "deadline exceeded"), strings.Contains(err.Error(), "i/o timeout"):
		return "the mail server didn't respond within " + Timeout.String()
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		return "the mail server doesn't offer STARTTLS, which is required; use smtps:// if it has a port with TLS"
	}
	return clean(err.Error())
}

// clean returns a text of the network on one line.
func clean(text string) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " ")
	if runes := []rune(text); len(runes) > maxReason {
		return string(runes[:maxReason]) + "…"
	}
	return text
}
