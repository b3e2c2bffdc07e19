// Package compress compresses responses in the encoding that the client
// prefers.
package compress

import (
	"bytes"
	"io"
	"strings"
	"sync"

	"mcpgateway/web/sse"

	"github.com/andybalholm/brotli"
	"github.com/gofiber/fiber/v2"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// minCompressed is the minimum size of a compressed body, in bytes.
const minCompressed = 1 << 10

// zstdWindow is the memory that clients need to decompress zstd, in bytes.
// RFC 9659 limits it to 8 MiB.
const zstdWindow = 1 << 20

// Compressor compresses the responses of the routes that it handles. It is safe
// for concurrent use.
type Compressor struct {
	zstd         *zstd.Encoder
	brotli, gzip sync.Pool // pools of encoders
	unchanging   sync.Map  // variant to func() []byte
}

// encoder compresses one body after another. Implemented by brotli.Writer and
// gzip.Writer.
type encoder interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// variant is one encoding of a body that never changes.
type variant struct{ key, encoding string }

// New returns a Compressor.
func New() *Compressor {
	p := &Compressor{zstd: newZstd(zstd.SpeedDefault)}
	p.brotli.New = func() any { return newBrotli(brotliLevel) }
	p.gzip.New = func() any { return newGzip(gzip.DefaultCompression) }
	return p
}

// brotliLevel takes about as long as the default levels of gzip and zstd.
const brotliLevel = 4

func newZstd(level zstd.EncoderLevel) *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(err) // the options are constants and valid
	}
	return e
}

func newBrotli(level int) encoder { return brotli.NewWriterLevel(nil, level) }

func newGzip(level int) encoder {
	w, err := gzip.NewWriterLevel(nil, level)
	if err != nil {
		panic(err) // the level is a constant and valid
	}
	return w
}

// Keys in a request's locals for decisions about compression.
type (
	noCompressionKey struct{}
	unchangingKey    struct{}
)

// Never excludes the response from compression. It is required for responses
// that contain a secret: their compressed size reveals what the secret has in
// common with text chosen by an attacker (BREACH).
func Never(c *fiber.Ctx) { c.Locals(noCompressionKey{}, true) }

// Once caches the compressed bodies of the response until the process ends. The
// key must determine the body. Keys must not come from clients, because each
// one occupies memory.
func Once(c *fiber.Ctx, key string) { c.Locals(unchangingKey{}, key) }

// Handler compresses the response of the following handlers if the client
// accepts an encoding. Errors, streams, small bodies and already encoded bodies
// are sent unchanged.
func (p *Compressor) Handler(c *fiber.Ctx) error {
	if err := c.Next(); err != nil {
		return err
	}
	if !varies(c) {
		return nil
	}
	c.Vary(fiber.HeaderAcceptEncoding)
	key, unchanging := c.Locals(unchangingKey{}).(string)
	encoding := acceptedEncoding(c, unchanging)
	if c.Method() == fiber.MethodHead || encoding == identity {
		return nil
	}
	weaken(c)
	body := c.Response().Body()
	if len(body) < minCompressed {
		return nil
	}
	var compressed []byte
	if unchanging {
		compressed = p.encodeOnce(variant{key, encoding}, body)
	} else {
		compressed = p.encode(encoding, body)
	}
	if len(compressed) > 0 && len(compressed) < len(body) {
		c.Set(fiber.HeaderContentEncoding, encoding)
		c.Response().SetBodyRaw(compressed)
	}
	return nil
}

// varies reports whether the response depends on Accept-Encoding. This includes
// bodies that are too small to compress, and status 304, whose entity tag
// depends on the encoding.
func varies(c *fiber.Ctx) bool {
	response := c.Response()
	switch {
	case c.Locals(noCompressionKey{}) != nil, response.IsBodyStream(), response.StatusCode() == fiber.StatusPartialContent,
		len(response.Header.ContentEncoding()) > 0, len(response.Header.Peek(fiber.HeaderContentRange)) > 0,
		strings.Contains(string(response.Header.Peek(fiber.HeaderCacheControl)), "no-transform"):
		return false
	}
	return response.StatusCode() == fiber.StatusNotModified || isText(string(response.Header.ContentType()))
}

// isText reports whether bodies of the media type compress well. Images, fonts
// and archives are compressed already, and events must not be delayed.
func isText(contentType string) bool {
	mediaType, _, _ := strings.Cut(strings.ToLower(contentType), ";")
	switch mediaType = strings.TrimSpace(mediaType); mediaType {
	case sse.MIMEEventStream:
		return false
	case "application/json", "application/javascript", "application/xml":
		return true
	}
	return strings.HasPrefix(mediaType, "text/") || strings.HasSuffix(mediaType, "+json") || strings.HasSuffix(mediaType, "+xml")
}

// weaken converts the entity tag of the response to a weak one. A strong one
// would require identical bytes in every encoding (RFC 9110, section 8.8.3.3).
func weaken(c *fiber.Ctx) {
	if tag := c.GetRespHeader(fiber.HeaderETag); strings.HasPrefix(tag, `"`) {
		c.Set(fiber.HeaderETag, "W/"+tag)
	}
}

// encodeOnce returns the same bytes for a variant every time, in the best
// compression.
func (p *Compressor) encodeOnce(v variant, body []byte) []byte {
	once, _ := p.unchanging.LoadOrStore(v, sync.OnceValue(func() []byte { return encodeBest(v.encoding, body) }))
	return once.(func() []byte)()
}

// encode returns the body in the encoding, or nil on failure.
func (p *Compressor) encode(encoding string, body []byte) []byte {
	if encoding == "zstd" {
		return p.zstd.EncodeAll(body, nil)
	}
	pool := &p.gzip
	if encoding == "br" {
		pool = &p.brotli
	}
	e := pool.Get().(encoder)
	defer pool.Put(e)
	return encodeWith(e, body)
}

// encodeBest is like encode, with slower encoders that are used once.
func encodeBest(encoding string, body []byte) []byte {
	switch encoding {
	case "zstd":
		return newZstd(zstd.SpeedBestCompression).EncodeAll(body, nil)
	case "br":
		return encodeWith(newBrotli(brotli.BestCompression), body)
	default:
		return encodeWith(newGzip(gzip.BestCompression), body)
	}
}

func encodeWith(e encoder, body []byte) []byte {
	var to bytes.Buffer
	e.Reset(&to)
	defer e.Reset(nil) // the pooled encoder must not retain the response
	if _, err := e.Write(body); err != nil {
		return nil
	}
	if err := e.Close(); err != nil {
		return nil
	}
	return to.Bytes()
}
