// Command sbom writes the software bill of materials of a Go binary: the
// modules that are linked into it, as CycloneDX 1.6 JSON. Equal binaries have
// equal documents.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/google/uuid"
)

func main() {
	out := flag.String("o", "", "file to write")
	version := flag.String("version", "", "version of the binary")
	date := flag.String("date", "", "time of the commit, RFC 3339")
	flag.Parse()
	if err := write(*out, *version, *date, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func write(out, version, date, binary string) error {
	if out == "" || binary == "" {
		return errors.New("usage: sbom -o FILE -version VERSION -date TIME BINARY")
	}
	at, err := time.Parse(time.RFC3339, date)
	if err != nil {
		return fmt.Errorf("-date: %w", err)
	}
	content, err := os.ReadFile(binary) //nolint:gosec // the caller names it
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	document, err := json.MarshalIndent(bomOf(info, version, at, sha256.Sum256(content)), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(document, '\n'), 0o644) //nolint:gosec // it's published
}

// bom is a CycloneDX document (https://cyclonedx.org/docs/1.6/json/).
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	SerialNumber string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version"`
	PURL    string `json:"purl,omitempty"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// bomOf returns the bill of a binary with a digest. Its serial number follows
// from the digest.
func bomOf(info *debug.BuildInfo, version string, at time.Time, digest [sha256.Size]byte) bom {
	own := component{
		Type: "application", Ref: info.Main.Path, Name: info.Main.Path, Version: version,
		Hashes: []hash{{"SHA-256", hex.EncodeToString(digest[:])}},
	}
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", SerialNumber: "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, digest[:]).String(), Version: 1,
		Metadata: metadata{at.UTC().Format(time.RFC3339), own},
	}
	modules := append([]*debug.Module{{Path: "std", Version: strings.TrimPrefix(info.GoVersion, "go")}}, info.Deps...)
	var refs []string
	for _, m := range modules {
		if m.Replace != nil {
			m = m.Replace
		}
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		c := component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version, PURL: purl}
		// h1: is the SHA-256 of the list of the module's files (golang.org/ref/mod#go-sum-files).
		if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) == sha256.Size {
			c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
		}
		b.Components = append(b.Components, c)
		refs = append(refs, purl)
	}
	b.Dependencies = []dependency{{own.Ref, refs}}
	return b
}
