package oidc_test

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mcpgateway/models"
	"mcpgateway/models/modelstest"
	"mcpgateway/services/access"
	"mcpgateway/services/access/groups"
	"mcpgateway/services/access/oidctest"
	"mcpgateway/services/fault"
)

type object = map[string]any

// group creates a group with a claim.
func (w *world) group(t *testing.T, name, claim string, role models.Role) groups.Group {
	t.Helper()
	g, err := w.groups.Create(t.Context(), groups.Fields{Name: &name, Claim: &claim, Role: &role})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// groupsOf returns the names of the groups that count for a user.
func (w *world) groupsOf(t *testing.T, userID string) string {
	t.Helper()
	list, err := w.groups.Of(t.Context(), userID)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, g := range list {
		if g.Member.Counts {
			names = append(names, g.Name)
		}
	}
	return strings.Join(names, " ")
}

// actions returns the recorded actions with a prefix.
func (w *world) actions(t *testing.T, prefix string) []string {
	t.Helper()
	var actions []string
	if err := w.db.Model(&models.AuditEntry{}).Where("action LIKE ?", prefix+"%").Order("seq").Pluck("action", &actions).Error; err != nil {
		t.Fatal(err)
	}
	return actions
}

// overage returns the claims that Microsoft Entra ID sends in place of groups.
func overage() object {
	return object{"_claim_names": object{"groups": "src1"}, "_claim_sources": object{"src1": object{"endpoint": "https://graph.example/groups"}}}
}

// TestGroupsOfRealProvider signs in with the npm package oidc-provider, which
// sends the groups in the ID token or in the user info.
func TestGroupsOfRealProvider(t *testing.T) {
	issuer := oidctest.Start(t)
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := &clock{}
		w := join(t, dsn, issuer, c)
		w.group(t, "Engineering", "eng-id", models.RoleViewer)
		w.group(t, "Leads", "leads-id", models.RoleAdmin)
		signIn := func(login string, token, info object) (access.SignedIn, error) {
			t.Helper()
			oidctest.SetClaims(t, issuer, login, token, info)
			address, cookie := w.start(t, false)
			if !strings.Contains(address, "+groups&") && !strings.HasSuffix(address, "+groups") {
				t.Fatalf("authorization URL without the scope groups: %s", address)
			}
			return w.finish(t, cookie, callback(oidctest.NewBrowser(t).SignIn(t, address, login)))
		}
		const ada = "1|ada@example.com"
		for _, step := range []struct {
			name        string
			token, info object
			groups      string
			role        models.Role // "" for FORBIDDEN
		}{
			{"no groups", nil, nil, "", ""},
			{"unknown group", nil, object{"groups": []string{"other"}}, "", ""},
			{"overage before the first sign-in", overage(), nil, "", ""},
			{"user info", nil, object{"groups": []string{"other", "eng-id"}}, "Engineering", models.RoleViewer},
			{"ID token", object{"groups": []string{"eng-id", "leads-id"}}, object{"groups": []string{}}, "Engineering Leads", models.RoleAdmin},
			{"one string", object{"groups": "eng-id"}, nil, "Engineering", models.RoleViewer},
			{"overage", overage(), nil, "", models.RoleMember},
			{"groups again", nil, object{"groups": []string{"leads-id"}}, "Leads", models.RoleAdmin},
			{"none", nil, nil, "", models.RoleMember},
		} {
			in, err := signIn(ada, step.token, step.info)
			if step.role == "" {
				want(t, err, fault.CodeForbidden)
				if sentence := strings.Contains(err.Error(), access.GroupsOverage); sentence != (step.token != nil) {
					t.Errorf("%s: %v", step.name, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			p := in.Session.Person
			if p.Role != models.RoleMember || p.EffectiveRole != step.role || p.Email != "ada@example.com" || p.Name != "Name of ada@example.com" || p.GroupsOverage != (step.name == "overage") {
				t.Errorf("%s: signed in as %+v, want role %s", step.name, p, step.role)
			}
			if got := w.groupsOf(t, p.ID); got != step.groups {
				t.Errorf("%s: groups %q, want %q", step.name, got, step.groups)
			}
		}
		if users, err := w.people.List(t.Context()); err != nil || len(users) != 1 {
			t.Errorf("%d users, %v, want 1", len(users), err)
		}
		got := w.actions(t, "person.")
		if diff := gocmp.Diff([]string{
			"person.created", "person.groups_changed", "person.groups_changed", "person.groups_changed", // user info, ID token, one string
			"person.groups_changed", "person.groups_overage", "person.groups_changed", "person.groups_changed",
		}, got); diff != "" {
			t.Errorf("audit actions (-want +got):\n%s", diff)
		}
	})
}

func TestGroupAdmission(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := &clock{}
		f := oidctest.NewFake(t, c.Now)
		w := join(t, dsn, f.Issuer, c, "allowed.example")
		w.group(t, "Engineering", "eng", "")
		ada := w.invite(t, "ada@example.com", models.RoleViewer, "")
		boss := w.invite(t, "boss@example.com", models.RoleAdmin, "an admin's long secret")
		off := w.invite(t, "off@example.com", models.RoleMember, "")
		if err := w.people.Disable(t.Context(), off.ID); err != nil {
			t.Fatal(err)
		}
		in := []string{"eng"}
		for _, step := range []struct {
			name, subject, email string
			verified             any
			groups               []string
			id                   string // ID of the user; "" for FORBIDDEN, "new" for a new user
			stored               string // email address of a new user
			role                 models.Role
		}{
			{"no group", "1", "eve@example.com", true, []string{"other"}, "", "", ""},
			{"prefix of the value", "1", "eve@example.com", true, []string{"en"}, "", "", ""},
			{"value in other case", "1", "eve@example.com", true, []string{"Eng"}, "", "", ""},
			{"verified address", "1", "eve@example.com", true, in, "new", "eve@example.com", models.RoleMember},
			{"unverified address of an invited user", "2", "ada@example.com", false, in, "new", "", models.RoleMember},
			{"second user without an address", "3", "", nil, in, "new", "", models.RoleMember},
			{"address of a user with a password", "4", "boss@example.com", true, in, "new", "", models.RoleMember},
			{"address of a blocked user", "5", "off@example.com", true, in, "", "", ""},
			{"invited user", "6", "ada@example.com", true, in, ada.ID, "", models.RoleViewer},
			{"allowed domain", "7", "bob@allowed.example", true, in, "new", "bob@allowed.example", models.RoleViewer},
			{"admitted user without the group", "2", "", nil, nil, "known", "", models.RoleMember},
		} {
			f.Behave(oidctest.Behavior{Token: func(_, claims object) {
				claims["sub"], claims["email"], claims["email_verified"], claims["groups"] = step.subject, step.email, step.verified, step.groups
			}})
			signed, err := w.signIn(t, f)
			if step.id == "" {
				want(t, err, fault.CodeForbidden)
				continue
			}
			if err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			p := signed.Session.Person
			if p.Role != step.role || p.EffectiveRole != step.role || p.Name == "" {
				t.Errorf("%s: signed in as %+v", step.name, p)
			}
			if step.id == "new" && p.Email != step.stored || step.id != "new" && step.id != "known" && p.ID != step.id {
				t.Errorf("%s: signed in as %+v", step.name, p)
			}
			if (w.groupsOf(t, p.ID) == "Engineering") != slices.Contains(step.groups, "eng") {
				t.Errorf("%s: groups %q", step.name, w.groupsOf(t, p.ID))
			}
		}
		if p, err := w.people.Get(t.Context(), boss.ID); err != nil || p.HasIdentity {
			t.Errorf("user with a password was linked: %+v, %v", p, err)
		}
		if err := w.people.Disable(t.Context(), ada.ID); err != nil {
			t.Fatal(err)
		}
		f.Behave(oidctest.Behavior{Token: func(_, claims object) { claims["sub"], claims["groups"] = "6", in }})
		_, err := w.signIn(t, f)
		want(t, err, fault.CodeForbidden)
	})
}

// TestGroupsClaimForms covers the names and forms of the claim.
func TestGroupsClaimForms(t *testing.T) {
	c := &clock{}
	f := oidctest.NewFake(t, c.Now)
	many := func(n int) []string {
		values := slices.Repeat([]string{"other"}, n)
		values[n-1] = "a"
		return values
	}
	longest := strings.Repeat("x", groups.MaxClaim)
	for _, tt := range []struct {
		name, claim string
		token, info object
		want        string
		overage     bool
	}{
		{"path", "realm_access.roles", object{"realm_access": object{"roles": []string{"a"}}}, nil, "A", false},
		{"exact name before path", "x.y", object{"x.y": "a", "x": object{"y": "b"}}, nil, "A", false},
		{"URL", "https://example.com/groups", object{"https://example.com/groups": []string{"a"}}, nil, "A", false},
		{"path to nothing", "realm_access.roles", object{"realm_access": object{}}, nil, "", false},
		{"path through a string", "realm_access.roles", object{"realm_access": "roles"}, nil, "", false},
		{"null, then user info", "", object{"groups": nil}, object{"groups": "a"}, "A", false},
		{"empty, not user info", "", object{"groups": []string{}}, object{"groups": "a"}, "", false},
		{"invalid, not user info", "", object{"groups": 7}, object{"groups": "a"}, "", false},
		{"numbers", "", object{"groups": []any{"a", 1}}, nil, "", false},
		{"null in the array", "", object{"groups": []any{"a", nil}}, nil, "", false},
		{"object", "", object{"groups": object{"a": true}}, nil, "", false},
		{"999 values", "", object{"groups": many(groups.MaxValues - 1)}, nil, "A", false},
		{"1,000 values", "", object{"groups": many(groups.MaxValues)}, nil, "A", false},
		{"1,001 values", "", object{"groups": many(groups.MaxValues + 1)}, nil, "", false},
		{"255 bytes", "", object{"groups": []string{"a", longest[1:]}}, nil, "A", false},
		{"256 bytes", "", object{"groups": []string{"a", longest}}, nil, "A Long", false},
		{"257 bytes", "", object{"groups": []string{"a", longest + "x"}}, nil, "", false},
		{"hasgroups", "", object{"hasgroups": true}, nil, "", true},
		{"hasgroups as text", "", object{"hasgroups": "true"}, nil, "", true},
		{"hasgroups is false", "", object{"hasgroups": false}, nil, "", false},
		{"_claim_names", "", overage(), nil, "", true},
		{"_claim_names of another claim", "roles", overage(), nil, "", false},
		{"_claim_names and groups", "", mergeOf(overage(), object{"groups": "a"}), nil, "A", false},
		{"_claim_names and groups of the user info", "", overage(), object{"groups": "a"}, "A", false},
		{"_claim_names of the user info", "", nil, overage(), "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c.Advance(2 * time.Hour) // expires the cached configuration
			w := joinWith(t, modelstest.SQLite(t), f.Issuer, c, cmp.Or(tt.claim, "groups"))
			ada := w.invite(t, "ada@example.com", models.RoleMember, "")
			w.group(t, "A", "a", "")
			w.group(t, "Long", longest, "")
			if tt.info != nil {
				tt.info["sub"] = "1234"
			}
			f.Behave(oidctest.Behavior{UserInfo: tt.info, Token: func(_, claims object) {
				for name, value := range tt.token {
					claims[name] = value
				}
			}})
			in, err := w.signIn(t, f)
			if err != nil {
				t.Fatal(err)
			}
			if got := w.groupsOf(t, ada.ID); got != tt.want || in.Session.Person.GroupsOverage != tt.overage {
				t.Errorf("groups %q, overage %t, want %q, %t", got, in.Session.Person.GroupsOverage, tt.want, tt.overage)
			}
		})
	}
}

// mergeOf returns an object with the members of both.
func mergeOf(a, b object) object {
	for name, value := range b {
		a[name] = value
	}
	return a
}

func TestGroupsWithoutClaimsAreNotRead(t *testing.T) {
	c := &clock{}
	f := oidctest.NewFake(t, c.Now)
	w := join(t, modelstest.SQLite(t), f.Issuer, c)
	ada := w.invite(t, "ada@example.com", models.RoleMember, "")
	f.Behave(oidctest.Behavior{InfoDown: true, UserInfo: object{"sub": "1234"}, Token: func(_, claims object) { claims["hasgroups"] = true }})
	if in, err := w.signIn(t, f); err != nil || in.Session.Person.ID != ada.ID || in.Session.Person.GroupsOverage || f.UserInfos.Load() != 0 {
		t.Errorf("sign-in without groups: %+v, %v, %d requests for user info", in.Session.Person, err, f.UserInfos.Load())
	}
	w.group(t, "Engineering", "eng", "")
	_, err := w.signIn(t, f) // the groups can't be read: nothing is removed, and the sign-in fails
	want(t, err, fault.CodeUnavailable)
}

// TestGroupRoleEndsAtMaxAge also covers a second replica.
func TestGroupRoleEndsAtMaxAge(t *testing.T) {
	modelstest.EachDSN(t, func(t *testing.T, dsn string) {
		c := &clock{}
		f := oidctest.NewFake(t, c.Now)
		w, replica := join(t, dsn, f.Issuer, c), join(t, dsn, f.Issuer, c)
		w.invite(t, "ada@example.com", models.RoleMember, "")
		admins := w.group(t, "Admins", "admins", models.RoleAdmin)
		f.Behave(oidctest.Behavior{Token: func(_, claims object) { claims["groups"] = "admins" }})
		in, err := w.signIn(t, f)
		if err != nil {
			t.Fatal(err)
		}
		role := func() models.Role {
			t.Helper()
			session, err := replica.people.Session(t.Context(), in.Cookie.Reveal())
			if err != nil {
				t.Fatal(err)
			}
			return session.Person.EffectiveRole
		}
		if got := role(); got != models.RoleAdmin {
			t.Fatalf("role = %s, want admin", got)
		}
		viewer := models.RoleViewer
		if _, err := w.groups.Update(t.Context(), admins.ID, groups.Fields{Role: &viewer}); err != nil || role() != models.RoleViewer {
			t.Errorf("role after the group's change = %s, %v, want viewer", role(), err)
		}
		for _, tt := range []struct {
			age  time.Duration
			want models.Role
		}{{maxAge - time.Hour, models.RoleViewer}, {maxAge, models.RoleMember}} {
			c.Advance(tt.age)
			// Keep the session alive: only the age of the groups is tested.
			if err := w.db.Model(&models.BrowserSession{}).Where("1 = 1").Updates(object{"created_at": c.Now(), "last_seen_at": c.Now()}).Error; err != nil {
				t.Fatal(err)
			}
			if got := role(); got != tt.want {
				t.Errorf("role after %s = %s, want %s", tt.age, got, tt.want)
			}
			c.Advance(-tt.age)
		}
	})
}
