package compress

import (
	"strings"

	"github.com/gofiber/fiber/v2"
)

// encodings returns the content codings of responses in order of preference.
// zstd takes a third of the time of br; br is smallest for bodies that are
// compressed once.
func encodings(unchanging bool) []string {
	if unchanging {
		return []string{"br", "zstd", "gzip"}
	}
	return []string{"zstd", "br", "gzip"}
}

// identity is the content coding of an uncompressed response.
const identity = "identity"

// acceptedEncoding returns the client's preferred content coding among those of
// responses (RFC 9110, section 12.5.3). It returns identity if the client sends
// no Accept-Encoding or rates identity higher.
func acceptedEncoding(c *fiber.Ctx, unchanging bool) string {
	rated := map[string]int{}
	for _, header := range c.Request().Header.PeekAll(fiber.HeaderAcceptEncoding) {
		for item := range strings.SplitSeq(string(header), ",") {
			coding, parameter, _ := strings.Cut(item, ";")
			coding = strings.ToLower(strings.TrimSpace(coding))
			if coding == "x-gzip" { // its old name (RFC 9110, section 8.4.1.3)
				coding = "gzip"
			}
			if _, again := rated[coding]; !again {
				rated[coding] = quality(parameter)
			}
		}
	}
	best, most := identity, max(rated[identity], 1)
	for _, coding := range encodings(unchanging) {
		rate, named := rated[coding]
		if !named {
			rate = rated["*"]
		}
		if rate > most || rate == most && best == identity {
			best, most = coding, rate
		}
	}
	return best
}

// quality returns the weight of a coding in thousandths. It returns 1000
// without a parameter, and 0, which excludes the coding, for an invalid weight.
func quality(parameter string) int {
	parameter = strings.TrimSpace(parameter)
	if parameter == "" {
		return 1000
	}
	name, value, _ := strings.Cut(parameter, "=")
	if !strings.EqualFold(name, "q") {
		return 0
	}
	whole, decimals, _ := strings.Cut(value, ".")
	if whole != "0" && whole != "1" || len(decimals) > 3 || strings.Trim(decimals, "0123456789") != "" {
		return 0
	}
	rate := 0
	for _, digit := range whole + decimals + "000"[len(decimals):] {
		rate = rate*10 + int(digit-'0')
	}
	if rate > 1000 {
		return 0
	}
	return rate
}
