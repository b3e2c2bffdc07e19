package connecting

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"

	"mcpgateway/services/fault"
	"mcpgateway/services/rawjson"
)

// statePurpose distinguishes these request states from other sealed tokens.
const statePurpose = "connection request"

// state binds the request that continues a call to the call. It is sealed,
// because the client, which returns it, is not trusted.
type state struct {
	Project string `json:"p"`
	Caller  string `json:"c"`
	Server  string `json:"s"`
	Method  string `json:"m"`
	Digest  []byte `json:"d"`
	Expires int64  `json:"e"` // Unix time in seconds
}

func (p *Prompter) seal(c *Call) string {
	s := p.stateOf(c)
	s.Expires = p.now().Add(StateLifetime).Unix()
	plain, _ := json.Marshal(s) // text and numbers only
	return p.tokens.SealToken(statePurpose, plain)
}

func (p *Prompter) stateOf(c *Call) state {
	return state{Project: c.ProjectID, Caller: c.Caller, Server: c.Server.ID, Method: c.Method, Digest: digest(c.Params)}
}

// digest returns a hash of params without the members that may change when the
// call is continued. It does not depend on the order of members.
func digest(params *rawjson.Object) []byte {
	decoder := json.NewDecoder(bytes.NewReader(params.Bytes()))
	decoder.UseNumber()
	var members map[string]any
	if decoder.Decode(&members) != nil {
		return nil
	}
	for _, name := range []string{"requestState", "inputResponses", "_meta"} {
		delete(members, name)
	}
	sorted, err := json.Marshal(members)
	if err != nil {
		return nil
	}
	sum := sha256.Sum256(sorted)
	return sum[:]
}

// Continue continues a call if the client's request state is one of Prompt. It
// removes the state from the params and waits for the connection if the user
// accepted. declined reports that the user didn't want to connect. It returns
// INVALID_PARAMETER for the state of another call and for an expired one.
func (p *Prompter) Continue(ctx context.Context, c *Call) (declined bool, err error) {
	given, ok := c.Params.String("requestState")
	if !ok || !c.Stateless {
		return false, nil
	}
	plain, notOurs := p.tokens.OpenToken(statePurpose, given)
	if notOurs != nil {
		return false, nil //nolint:nilerr // a state of the server, or of a parked call
	}
	var s state
	if json.Unmarshal(plain, &s) != nil {
		return false, errState()
	}
	want := p.stateOf(c)
	if s.Project != want.Project || s.Caller != want.Caller || s.Server != want.Server || s.Method != want.Method || len(want.Digest) == 0 || !bytes.Equal(s.Digest, want.Digest) {
		return false, errState()
	}
	if p.now().Unix() >= s.Expires {
		return false, fault.Invalid("requestState has expired. Send the request again without it.")
	}
	action, _ := c.Params.Object("inputResponses").Object(inputName).String("action")
	c.Params.Delete("requestState")
	c.Params.Delete("inputResponses")
	if action != "accept" {
		return true, nil
	}
	_, err = p.Wait(ctx, c.Server, c.UserID)
	return false, err
}

func errState() *fault.Fault {
	return fault.Invalid("requestState belongs to another call. Send the one of this call's result.")
}
