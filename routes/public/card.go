package public

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"slices"
	"strings"
	"sync"

	"github.com/gofiber/fiber/v2"

	"mcpgateway/routes/public/cardimage"
	"mcpgateway/services/fault"
	"mcpgateway/static"
	"mcpgateway/views/public"
	"mcpgateway/web"
)

// cardCache is the Cache-Control of pictures of servers.
const cardCache = "public, max-age=86400"

// maxCards is the maximum number of pictures in memory, each of about 30 KiB.
const maxCards = 64

// cards draws pictures of servers, one at a time, and retains the last ones. It
// is safe for concurrent use.
type cards struct {
	mark func() (image.Image, error)
	sem  chan struct{} // held while a picture is drawn

	mu    sync.Mutex
	order []cardimage.Card
	drawn map[cardimage.Card][]byte
}

func newCards() *cards {
	return &cards{mark: sync.OnceValues(productMark), sem: make(chan struct{}, 1), drawn: map[cardimage.Card][]byte{}}
}

// productMark returns the product's sign.
func productMark() (image.Image, error) {
	const name = "apple-touch-icon.png"
	raw, _ := static.Open(strings.Split(static.URL(name), "/")[2], name)
	return png.Decode(bytes.NewReader(raw))
}

// picture returns the picture of a card as PNG.
func (d *cards) picture(ctx context.Context, c cardimage.Card) ([]byte, error) {
	if raw := d.known(c); raw != nil {
		return raw, nil
	}
	select {
	case d.sem <- struct{}{}:
		defer func() { <-d.sem }()
	case <-ctx.Done():
		return nil, fault.Internal(ctx.Err())
	}
	if raw := d.known(c); raw != nil {
		return raw, nil
	}
	mark, err := d.mark()
	if err != nil {
		return nil, fault.Internal(err)
	}
	raw, err := cardimage.Draw(c, mark)
	if err != nil {
		return nil, fault.Internal(err)
	}
	d.keep(c, raw)
	return raw, nil
}

func (d *cards) known(c cardimage.Card) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.drawn[c]
}

// keep stores a picture, instead of the oldest one if there are too many.
func (d *cards) keep(c cardimage.Card, raw []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.order) == maxCards {
		delete(d.drawn, d.order[0])
		d.order = slices.Delete(d.order, 0, 1)
	}
	d.order, d.drawn[c] = append(d.order, c), raw
}

// Card serves GET /registry/:publisher/:server/card.png: the picture that other
// sites show for a link to the server's page.
func (r *Registry) Card(c *fiber.Ctx) error {
	s, err := r.entry(c)
	if err != nil {
		return err
	}
	card := cardOf(s)
	if web.Unchanged(c, web.ETag(card.Title, card.Publisher, card.Text, card.Facts), cardCache) {
		return nil
	}
	raw, err := r.cards.picture(c.UserContext(), card)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, "image/png")
	return c.Send(raw)
}

// cardOf returns the content of a server's picture.
func cardOf(s public.CatalogEntry) cardimage.Card {
	title, publisher, text, facts := s.CardTexts()
	return cardimage.Card{Title: title, Publisher: publisher, Text: text, Facts: facts}
}
