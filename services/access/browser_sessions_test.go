package access_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/accesstest"
	"mcpgateway/services/fault"
	"mcpgateway/services/secrets"
)

func TestSession(t *testing.T) {
	t.Run("random cookie stored as hash", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			ada := w.add(t, email, models.RoleAdmin)
			cookie := w.signIn(t, email)
			raw, err := base64.RawURLEncoding.DecodeString(cookie)
			if err != nil || len(raw) != 32 {
				t.Fatalf("cookie has %d bytes, %v", len(raw), err)
			}
			var row models.BrowserSession
			if err := w.db.First(&row).Error; err != nil {
				t.Fatal(err)
			}
			if string(row.Hash) != string(accesstest.SHA256(string(raw))) || strings.Contains(fmt.Sprintf("%v", row), cookie) || bytes.Contains(row.Hash, raw) {
				t.Errorf("stored %+v", row)
			}
			info, err := w.people.Session(t.Context(), cookie)
			if err != nil || info.Person.ID != ada.ID || info.ID != row.ID || info.IP != address || info.UserAgent != "browser" ||
				!info.AuthenticatedAt.Equal(w.Now()) || !info.ExpiresAt.Equal(w.Now().Add(access.SessionLifetime)) || len(info.CSRF) < 32 || strings.Contains(info.CSRF, cookie) {
				t.Errorf("Session() = %+v, %v", info, err)
			}
			other, err := w.people.Session(t.Context(), w.signIn(t, email))
			if err != nil || other.CSRF == info.CSRF || other.ID == info.ID {
				t.Errorf("sessions share values: %+v, %v", other, err)
			}
			for _, wrong := range []string{"", "x", cookie[:42], cookie + "A", strings.Repeat("A", 43), cookie[:20] + "\n" + cookie[21:], base64.RawURLEncoding.EncodeToString(row.Hash)} {
				if w.live(t, wrong) {
					t.Errorf("Session(%q) succeeded", wrong)
				}
			}
		})
	})
	t.Run("new sign-in in the same browser", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, email, models.RoleViewer)
		old := w.signIn(t, email)
		in, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: address, Cookie: old})
		if err != nil || in.Cookie.Reveal() == old || w.live(t, old) || !w.live(t, in.Cookie.Reveal()) {
			t.Errorf("old session live = %v, %v", w.live(t, old), err)
		}
	})
	t.Run("step-up renews cookie but not expiry", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			w.add(t, email, models.RoleAdmin)
			old := w.signIn(t, email)
			before, err := w.people.Session(t.Context(), old)
			if err != nil {
				t.Fatal(err)
			}
			w.Advance(access.StepUpIdle)
			accesstest.Want(t, w.people.NeedStepUp(before.ConfirmedUntil), fault.CodeStepUpRequired)
			f := accesstest.Want(t, second(w.people.StepUp(t.Context(), secrets.NewValue("wrong"), access.Browser{IP: address, Cookie: old})), fault.CodeValidationFailed)
			if f.Fields["password"] == "" || !w.live(t, old) {
				t.Errorf("wrong password: %+v", f)
			}
			in, err := w.people.StepUp(t.Context(), secrets.NewValue(password), access.Browser{IP: address, Cookie: old})
			if err != nil {
				t.Fatal(err)
			}
			after, err := w.people.Session(t.Context(), in.Cookie.Reveal())
			if err != nil || in.Cookie.Reveal() == old || w.live(t, old) || after.ID != before.ID || !after.ExpiresAt.Equal(before.ExpiresAt) || after.CSRF != before.CSRF || after.CSRF != in.Session.CSRF {
				t.Errorf("session after step-up = %+v, %v", after, err)
			}
			if err := w.people.NeedStepUp(after.ConfirmedUntil); err != nil {
				t.Error(err)
			}
			if last := w.lastAudit(t); last.Action != "step_up" || last.ActorID != after.Person.ID {
				t.Errorf("last audit entry = %+v", last)
			}
			accesstest.Want(t, second(w.people.StepUp(t.Context(), secrets.NewValue(password), access.Browser{IP: address, Cookie: old})), fault.CodeUnauthorized)
		})
	})
	t.Run("maximum sessions", func(t *testing.T) {
		eachPeople(t, func(t *testing.T, w *peopleWorld) {
			ada := w.add(t, email, models.RoleAdmin)
			first := w.signIn(t, email)
			for n := 2; n <= access.MaxSessions+1; n++ {
				w.Advance(time.Millisecond)
				w.signIn(t, email)
				if live := w.live(t, first); live != (n <= access.MaxSessions) {
					t.Fatalf("first of %d sessions live = %v", n, live)
				}
			}
			list, err := w.people.Sessions(t.Context(), ada.ID)
			if err != nil || len(list) != access.MaxSessions || list[0].CreatedAt.Before(list[1].CreatedAt) || list[0].CSRF != "" {
				t.Errorf("Sessions() has %d sessions, %v", len(list), err)
			}
		})
	})
	t.Run("last use written once a minute", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, email, models.RoleAdmin)
		cookie, begun := w.signIn(t, email), w.Now()
		for _, step := range []struct{ advance, seen time.Duration }{{time.Minute - time.Millisecond, 0}, {time.Millisecond, time.Minute}, {30 * time.Second, time.Minute}} {
			w.Advance(step.advance)
			if !w.live(t, cookie) {
				t.Fatal("session ended")
			}
			var row models.BrowserSession
			if err := w.db.First(&row).Error; err != nil || !row.LastSeenAt.Equal(begun.Add(step.seen)) {
				t.Errorf("last seen %v, want %s after the sign-in (%v)", row.LastSeenAt, step.seen, err)
			}
		}
	})
}

func TestExpiredSessionIsDeleted(t *testing.T) {
	for _, tt := range []struct {
		name string
		age  time.Duration
		want int64
	}{
		{"before SessionMemory", access.SessionIdle + access.SessionMemory - time.Millisecond, 1},
		{"at SessionMemory", access.SessionIdle + access.SessionMemory, 0},
		{"after SessionMemory", access.SessionIdle + access.SessionMemory + time.Millisecond, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachPeople(t, func(t *testing.T, w *peopleWorld) {
				w.add(t, email, models.RoleAdmin)
				w.signIn(t, email)
				w.Advance(tt.age)
				if err := w.people.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
				var n int64
				if err := w.db.Model(&models.BrowserSession{}).Count(&n).Error; err != nil || n != tt.want {
					t.Errorf("%d rows left, want %d (%v)", n, tt.want, err)
				}
			})
		})
	}
}

func TestExpiredSessionKeepsUser(t *testing.T) {
	w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
	ada := w.add(t, email, models.RoleViewer)
	old, ended := w.signIn(t, email), w.signIn(t, email)
	before, err := w.people.Session(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	accesstest.Want(t, second(w.people.ExpiredSession(t.Context(), old)), fault.CodeUnauthorized)
	if err := w.people.SignOut(t.Context(), ended); err != nil {
		t.Fatal(err)
	}
	w.Advance(access.SessionIdle)
	info, err := w.people.ExpiredSession(t.Context(), old)
	if err != nil || info.Person.ID != ada.ID || info.ID != before.ID || info.CSRF != before.CSRF {
		t.Errorf("ExpiredSession() = %+v, %v", info, err)
	}
	accesstest.Want(t, second(w.people.ExpiredSession(t.Context(), ended)), fault.CodeUnauthorized)
	accesstest.Want(t, second(w.people.ExpiredSession(t.Context(), "no cookie of ours")), fault.CodeUnauthorized)
	in, err := w.people.SignIn(t.Context(), email, secrets.NewValue(password), access.Browser{IP: address, Cookie: old})
	if err != nil || in.Session.CSRF != before.CSRF || in.Session.ID == before.ID {
		t.Errorf("sign-in in the same browser = %+v, %v, want the old CSRF token", in.Session, err)
	}
	w.Advance(access.SessionIdle)
	if err := w.people.Disable(t.Context(), ada.ID); err != nil {
		t.Fatal(err)
	}
	accesstest.Want(t, second(w.people.ExpiredSession(t.Context(), in.Cookie.Reveal())), fault.CodeUnauthorized)
}

func TestStepUpExpiry(t *testing.T) {
	const idle, life = access.StepUpIdle, access.StepUpLifetime
	for _, tt := range []struct {
		name     string
		steps    []time.Duration // between requests; the last one checks NeedStepUp
		watched  bool            // the requests before are automatic ones of an open page
		required bool
	}{
		{"before idle expiry", []time.Duration{idle - time.Millisecond}, false, false},
		{"at idle expiry", []time.Duration{idle}, false, true},
		{"after idle expiry", []time.Duration{idle + time.Millisecond}, false, true},
		{"in use", []time.Duration{idle - time.Millisecond, idle - time.Millisecond}, false, false},
		{"request after expiry", []time.Duration{idle, time.Millisecond}, false, true},
		{"open page", []time.Duration{idle / 2, idle / 2}, true, true},
		{"before absolute expiry", append(slicesOf(life/16, 15), life/16-time.Millisecond), false, false},
		{"at absolute expiry", slicesOf(life/16, 16), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			eachPeople(t, func(t *testing.T, w *peopleWorld) {
				w.add(t, email, models.RoleAdmin)
				cookie := w.signIn(t, email)
				var info access.SessionInfo
				for i, step := range tt.steps {
					w.Advance(step)
					request := w.people.Session
					if tt.watched && i < len(tt.steps)-1 {
						request = w.people.WatchingSession
					}
					var err error
					if info, err = request(t.Context(), cookie); err != nil {
						t.Fatal(err)
					}
				}
				if err := w.people.NeedStepUp(info.ConfirmedUntil); (err != nil) != tt.required {
					t.Errorf("NeedStepUp() = %v, want required %v", err, tt.required)
				}
			})
		})
	}
}

func TestSessionKill(t *testing.T) {
	t.Run("age", func(t *testing.T) {
		for _, c := range []struct {
			name  string
			steps []time.Duration
			live  bool
		}{
			{"before idle expiry", []time.Duration{access.SessionIdle - time.Millisecond}, true},
			{"at idle expiry", []time.Duration{access.SessionIdle}, false},
			{"idle again", []time.Duration{access.SessionIdle - time.Millisecond, access.SessionIdle}, false},
			{"at absolute expiry", slicesOf(access.SessionLifetime/16, 16), false},
			{"before absolute expiry", append(slicesOf(access.SessionLifetime/16, 15), access.SessionLifetime/16-time.Millisecond), true},
		} {
			t.Run(c.name, func(t *testing.T) {
				eachPeople(t, func(t *testing.T, w *peopleWorld) {
					ada := w.add(t, email, models.RoleAdmin)
					cookie := w.signIn(t, email)
					live := true
					for _, step := range c.steps {
						w.Advance(step)
						live = w.live(t, cookie)
					}
					if live != c.live {
						t.Errorf("session live = %v", live)
					}
					if list, err := w.people.Sessions(t.Context(), ada.ID); err != nil || (len(list) == 1) != c.live {
						t.Errorf("Sessions() has %d sessions, %v", len(list), err)
					}
					_, err := w.people.ExpiredSession(t.Context(), cookie)
					if (err == nil) == c.live {
						t.Errorf("ExpiredSession() = %v", err)
					}
				})
			})
		}
	})
	for _, c := range []struct {
		name   string
		others bool // also ends the user's other sessions
		kill   func(t *testing.T, w *peopleWorld, ada access.User, cookie string) error
	}{
		{"sign-out", false, func(t *testing.T, w *peopleWorld, _ access.User, cookie string) error {
			return w.people.SignOut(t.Context(), cookie)
		}},
		{"session ended", false, func(t *testing.T, w *peopleWorld, ada access.User, cookie string) error {
			info, err := w.people.Session(t.Context(), cookie)
			if err != nil {
				return err
			}
			return w.people.EndSession(t.Context(), ada.ID, info.ID)
		}},
		{"sign-out everywhere", true, func(t *testing.T, w *peopleWorld, ada access.User, _ string) error {
			return w.people.SignOutEverywhere(t.Context(), ada.ID)
		}},
		{"password changed", true, func(t *testing.T, w *peopleWorld, _ access.User, cookie string) error {
			in, err := w.people.ChangePassword(t.Context(), secrets.NewValue(password), secrets.NewValue("another long secret"), access.Browser{IP: address, Cookie: cookie})
			if err == nil && !w.live(t, in.Cookie.Reveal()) {
				t.Error("session that changed the password ended")
			}
			return err
		}},
		{"password reset", true, func(t *testing.T, w *peopleWorld, ada access.User, _ string) error {
			return w.resetPassword(t, ada.ID, "another long secret")
		}},
		{"user disabled", true, func(t *testing.T, w *peopleWorld, ada access.User, _ string) error {
			return w.people.Disable(t.Context(), ada.ID)
		}},
		{"user deleted", true, func(t *testing.T, w *peopleWorld, ada access.User, _ string) error {
			return w.people.Delete(t.Context(), ada.ID)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			modelstest.EachDSN(t, func(t *testing.T, dsn string) {
				k := accesstest.NewClock()
				w, replica := joinPeople(t, dsn, k), joinPeople(t, dsn, k)
				ada := w.add(t, email, models.RoleViewer)
				w.add(t, "bob@example.com", models.RoleAdmin)
				cookie, other, stranger := w.signIn(t, email), w.signIn(t, email), w.signIn(t, "bob@example.com")
				if err := c.kill(t, w, ada, cookie); err != nil {
					t.Fatal(err)
				}
				if replica.live(t, cookie) || replica.live(t, other) == c.others || !replica.live(t, stranger) {
					t.Errorf("live: own %v, other %v, other user's %v", replica.live(t, cookie), replica.live(t, other), replica.live(t, stranger))
				}
			})
		})
	}
	t.Run("session of other user", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, email, models.RoleAdmin)
		bob := w.add(t, "bob@example.com", models.RoleAdmin)
		info, err := w.people.Session(t.Context(), w.signIn(t, email))
		if err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, w.people.EndSession(t.Context(), bob.ID, info.ID), fault.CodeNotFound)
	})
	t.Run("disabled and enabled user", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, "bob@example.com", models.RoleAdmin)
		ada := w.add(t, email, models.RoleMember)
		cookie := w.signIn(t, email)
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		accesstest.Want(t, w.try(t, email, password, address), fault.CodeUnauthorized)
		if err := w.people.Enable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		if w.live(t, cookie) {
			t.Error("old session is live again")
		}
		w.signIn(t, email)
	})
	t.Run("changed role", func(t *testing.T) {
		w := joinPeople(t, modelstest.SQLite(t), accesstest.NewClock())
		w.add(t, "bob@example.com", models.RoleAdmin)
		ada := w.add(t, email, models.RoleAdmin)
		cookie := w.signIn(t, email)
		if err := w.people.SetRole(t.Context(), ada.ID, models.RoleMember); err != nil {
			t.Fatal(err)
		}
		if info, err := w.people.Session(t.Context(), cookie); err != nil || info.Person.Role != models.RoleMember {
			t.Errorf("role = %q, %v", info.Person.Role, err)
		}
	})
}

func slicesOf(d time.Duration, n int) []time.Duration {
	out := make([]time.Duration, n)
	for i := range out {
		out[i] = d
	}
	return out
}
