package pool

import (
	"context"

	"mcpgateway/models"
	"mcpgateway/services/rawjson"
	"mcpgateway/services/upstream"
	"mcpgateway/services/upstream/listing"
	"mcpgateway/services/upstream/wire"
)

// ListTools returns the raw tool definitions of an upstream in its order, its
// description, and warnings about omitted tools. It omits elements that are not
// an object with a name, duplicate names, tools that can run only as tasks,
// tools with header annotations that revision 2026-07-28 forbids, and
// everything beyond 5,000 tools, 500 pages or 32 MiB. All pages together take
// at most the target's timeout. Faults are those of Call. An upstream without
// tools has an empty list.
func (p *Pool) ListTools(ctx context.Context, t *upstream.Target) ([][]byte, *upstream.Description, []string, error) {
	l := listing.New(listing.Tools())
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *account) error {
		s.expireDescription(maxDescriptionAge)
		return p.list(ctx, s, t, l)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return l.Items, l.About, l.Warnings, nil
}

// ListOffers returns the prompts, resources or resource templates of an
// upstream in its order, and warnings about omitted elements. It omits elements
// that are not an object with a name, uri or uriTemplate, duplicates, elements
// that cannot be stored, and everything beyond the limits of ListTools. If the
// capabilities don't name the feature, it returns an empty list and sends no
// list request. All pages together take at most the target's timeout. Faults
// are those of Call.
func (p *Pool) ListOffers(ctx context.Context, t *upstream.Target, kind models.ListingKind) ([]models.Listing, []string, error) {
	l := listing.New(listing.Offers(kind))
	err := p.with(ctx, t, ownWork, "", func(ctx context.Context, s *account) error {
		ss, err := s.acquire(ctx, t, gatewaySessionKey(), nil)
		if err != nil {
			return err
		}
		offered := ss.about.Has(l.Kind.Capability) && (l.Kind.Extension == "" || ss.about.HasExtension(l.Kind.Extension))
		s.release(ss)
		if !offered {
			return nil
		}
		return p.list(ctx, s, t, l)
	})
	if err != nil {
		return nil, nil, err
	}
	listings := make([]models.Listing, len(l.Items))
	for i, raw := range l.Items {
		listings[i] = models.Listing{ServerID: t.ServerID, Kind: kind, Ident: l.Idents[i], Position: i, Definition: string(raw)}
	}
	return listings, l.Warnings, nil
}

// list reads all pages of a list.
func (p *Pool) list(ctx context.Context, s *account, t *upstream.Target, l *listing.List) error {
	var params []byte
	for first := true; first || params != nil; first = false {
		r, ss, err := p.call(ctx, s, t, gatewaySessionKey(), &upstream.Request{Method: l.Kind.Method, Params: params, Client: ownClient()})
		if err != nil {
			return err
		}
		l.About = ss.about
		if r.Error != nil {
			if first && wire.ErrorCode(r.Error) == upstream.CodeMethodNotFound {
				return nil // the upstream does not have this kind of list
			}
			return ss.place.Invalid("failed to list its %s: %s", l.Kind.Many, wire.ErrorText(r.Error))
		}
		o, err := rawjson.ParseObject(r.Result, rawjson.Lenient)
		if err != nil {
			return ss.place.Invalid("sent invalid JSON as list of %s.", l.Kind.Many).Because(err)
		}
		elements, err := rawjson.Elements(o.Get(l.Kind.Member), rawjson.Lenient)
		if err != nil {
			return ss.place.Invalid("sent a response without a list of %s: %s", l.Kind.Many, wire.Excerpt(r.Result)).Because(err)
		}
		if full := l.Add(elements, r.Stateless); full {
			return nil
		}
		params = l.Next(o, r.Stateless)
	}
	return nil
}
