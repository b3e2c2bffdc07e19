// Package certificates parses the PEM texts of TLS and of signing keys that
// administrators enter. Its errors never contain a part of a key.
package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// MaxPEM is the maximum length of a PEM text in bytes.
const MaxPEM = 64 << 10

// minRSA is the minimum size of an RSA key for signatures in bits (RFC 7518,
// section 3.3).
const minRSA = 2048

// Authorities returns the certificate authorities in a PEM text. The error
// completes the sentence "The certificates …".
func Authorities(text string) (*x509.CertPool, error) {
	if len(text) > MaxPEM {
		return nil, fmt.Errorf("are larger than %d KiB", MaxPEM>>10)
	}
	pool, rest, count := x509.NewCertPool(), []byte(text), 0
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, errors.New("contain something else: enter only CERTIFICATE blocks in PEM format")
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, errors.New("contain an invalid certificate")
		}
		pool.AddCert(certificate)
		count++
	}
	if count == 0 {
		return nil, errors.New("are not in PEM format: enter text that starts with -----BEGIN CERTIFICATE-----")
	}
	return pool, nil
}

// Pair returns a certificate with its private key, both as PEM text. The error
// completes the sentence "The pair …".
func Pair(certificate, key string) (tls.Certificate, error) {
	if len(certificate) > MaxPEM || len(key) > MaxPEM {
		return tls.Certificate{}, fmt.Errorf("is larger than %d KiB", MaxPEM>>10)
	}
	if _, err := Authorities(certificate); err != nil {
		return tls.Certificate{}, errors.New("has a certificate that is not in PEM format")
	}
	if _, err := privateKey(key); err != nil {
		return tls.Certificate{}, fmt.Errorf("has a private key that %w", err)
	}
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	if err != nil {
		return tls.Certificate{}, errors.New("doesn't match: the private key belongs to another certificate")
	}
	return pair, nil
}

// SigningKey returns a private key and the algorithm of its signatures: RS256
// for RSA keys of at least 2,048 bits, ES256 for keys on the curve P-256 (RFC
// 7518, section 3). The error completes the sentence "The private key …".
func SigningKey(text string) (key crypto.Signer, algorithm string, err error) {
	if len(text) > MaxPEM {
		return nil, "", fmt.Errorf("is larger than %d KiB", MaxPEM>>10)
	}
	if key, err = privateKey(text); err != nil {
		return nil, "", err
	}
	switch k := key.(type) {
	case *rsa.PrivateKey:
		if k.N.BitLen() < minRSA {
			return nil, "", fmt.Errorf("has %d bits: use an RSA key of at least %d bits", k.N.BitLen(), minRSA)
		}
		return key, "RS256", nil
	case *ecdsa.PrivateKey:
		if k.Curve == elliptic.P256() {
			return key, "ES256", nil
		}
	}
	return nil, "", errors.New("has an unsupported type: use an RSA key, or an EC key on the curve P-256")
}

// privateKey returns the only private key in a PEM text: PKCS #8, PKCS #1 or SEC
// 1. Parameters of a curve may precede it.
func privateKey(text string) (crypto.Signer, error) {
	rest := []byte(text)
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, errors.New("is not in PEM format: enter text that starts with -----BEGIN PRIVATE KEY-----")
		}
		var key any
		var err error
		switch block.Type {
		case "EC PARAMETERS":
			continue
		case "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		case "ENCRYPTED PRIVATE KEY":
			return nil, errors.New("is encrypted: remove its passphrase first")
		default:
			return nil, errors.New("is not a private key in PEM format")
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok || block.Headers["DEK-Info"] != "" {
			return nil, errors.New("is invalid or encrypted")
		}
		return signer, nil
	}
}
