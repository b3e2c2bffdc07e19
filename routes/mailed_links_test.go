package routes_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/routes/routestest"
	"mcpgateway/services/access"
	"mcpgateway/services/secrets"
)

// acceptMail starts an SMTP server that accepts every message and returns its
// address.
func acceptMail(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go speakSMTP(conn)
		}
	}()
	return listener.Addr().String()
}

func speakSMTP(conn net.Conn) {
	defer conn.Close()
	fmt.Fprint(conn, "220 ready\r\n")
	message := false
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		line := lines.Text()
		switch {
		case message && line != ".":
			continue
		case strings.HasPrefix(line, "DATA"):
			message = true
			fmt.Fprint(conn, "354 go on\r\n")
			continue
		case strings.HasPrefix(line, "QUIT"):
			fmt.Fprint(conn, "221 bye\r\n")
			return
		}
		message = false
		fmt.Fprint(conn, "250 ok\r\n")
	}
}

// TestPageOfMailedLink checks that the page names the receiver of a link that was
// sent, and offers the link too.
func TestPageOfMailedLink(t *testing.T) {
	a := routestest.New(t, modelstest.SQLite(t), "GATEWAY_SMTP_URL=smtp://"+acceptMail(t)+"?from=gateway@example.com", "GATEWAY_EGRESS_ALLOW=127.0.0.1")
	if _, err := a.Services.People.Create(t.Context(), access.NewUser{Email: formAdmin, Role: models.RoleAdmin, Password: secrets.NewValue(password)}); err != nil {
		t.Fatal(err)
	}
	joined, err := a.Services.People.Create(t.Context(), access.NewUser{Email: "mary@example.com", Role: models.RoleMember, Password: secrets.NewValue(password)})
	if err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, a)
	reset := "/admin/people/" + joined.ID
	for _, tt := range []struct {
		name, path, mail string
		form             url.Values
		shown, never     string
	}{
		{"sent invitation", "/admin/people", "1", values("email", "grace@example.com", "role", "member"), "Mailed to grace@example.com.", "Send it to"},
		{"copied invitation", "/admin/people", "", values("email", "alan@example.com", "role", "member"), "Send it to alan@example.com.", "Mailed to"},
		{"sent reset", reset + "/reset", "1", url.Values{}, "Mailed to mary@example.com.", "Give it to"},
		{"copied reset", reset + "/reset", "", url.Values{}, "Give it to mary only", "Mailed to"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.form.Set("mail", tt.mail)
			created := b.post(t, tt.path, tt.form)
			got := b.send(t, created.Location, nil)
			if got.Status != http.StatusOK || !strings.Contains(got.Body, tt.shown) || strings.Contains(got.Body, tt.never) || !strings.Contains(got.Body, "http://127.0.0.1:8080/") {
				t.Errorf("%d %q: page has %q: %v, %q: %v", created.Status, created.Flash, tt.shown, strings.Contains(got.Body, tt.shown), tt.never, strings.Contains(got.Body, tt.never))
			}
		})
	}
}
