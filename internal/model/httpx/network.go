package httpx

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// failure says what went wrong below HTTP.
func (r *Response) failure(err error) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	c, host := r.c, hostOf(r.c.BaseURL)
	// The URL in a url.Error may carry a password.
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	text := r.c.redact(oneLine(err.Error()), r.secret)
	e := &model.Error{Code: "NETWORK", Retryable: true, Err: errors.New(text)}
	var (
		dns      *net.DNSError
		op       *net.OpError
		unknown  x509.UnknownAuthorityError
		hostname x509.HostnameError
		invalid  x509.CertificateInvalidError
		record   tls.RecordHeaderError
		netErr   net.Error
	)
	switch cause := context.Cause(r.inner); {
	case cause == errFirstByte:
		e.Code = "TIMEOUT"
		e.Message = fmt.Sprintf("%s did not begin to answer within %s; try again, or choose a smaller model", c.Provider, or(c.FirstByte, DefaultFirstByte))
	case cause == errIdle:
		e.Code = "TIMEOUT"
		e.Message = fmt.Sprintf("%s stopped in the middle of its answer: nothing came for %s; try again", c.Provider, or(c.Idle, DefaultIdle))
	case cause == errProgress:
		e.Code = "TIMEOUT"
		e.Message = fmt.Sprintf("%s kept the connection open but sent no part of an answer for %s; it is probably overloaded: try again later", c.Provider, or(c.Progress, DefaultProgress))
	case errors.As(err, &unknown):
		e.Retryable = false
		e.Message = fmt.Sprintf("the certificate of %s is signed by an authority this machine does not know (self-signed, or a proxy that inspects traffic): set SSL_CERT_FILE to a PEM file with that authority's certificate", host)
	case errors.As(err, &hostname), errors.As(err, &invalid):
		e.Retryable = false
		e.Message = fmt.Sprintf("the certificate of %s is not valid: %s; check model.base_url and this machine's clock", host, text)
	case errors.As(err, &record), strings.Contains(text, "server gave HTTP response to HTTPS client"):
		e.Retryable = false
		e.Message = fmt.Sprintf("%s does not speak TLS: write http:// instead of https:// in model.base_url", host)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		e.Message = "the proxy of HTTPS_PROXY or HTTP_PROXY cannot be reached: " + text + "; check the variable, or name " + host + " in NO_PROXY"
	case strings.Contains(text, "Proxy Authentication Required"):
		e.Retryable = false
		e.Message = "the proxy wants a name and a password: put them into HTTPS_PROXY as http://NAME:PASSWORD@HOST:PORT"
	case errors.As(err, &dns):
		e.Retryable = !dns.IsNotFound
		e.Message = fmt.Sprintf("the host %s cannot be found: check model.base_url and the network", dns.Name)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Message = fmt.Sprintf("nothing listens at %s: start the server, or correct model.base_url", host)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		e.Message = fmt.Sprintf("the connection to %s broke off; try again", host)
	case errors.As(err, &netErr) && netErr.Timeout():
		e.Code = "TIMEOUT"
		e.Message = fmt.Sprintf("%s cannot be reached in time: check the network, or try again", host)
	case strings.Contains(text, "unsupported protocol scheme"):
		e.Retryable = false
		e.Message = "model.base_url must begin with http:// or https://"
	default:
		e.Message = fmt.Sprintf("the connection to %s failed: %s; try again", host, text)
	}
	return e
}

// hostOf is the part of a base URL that may be shown: no name, no password, no
// query.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" {
		return "the server"
	}
	return u.Scheme + "://" + u.Host
}

// Local reports whether a base URL names this machine.
func Local(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// round makes a wait readable.
func round(d time.Duration) time.Duration {
	if d > time.Minute {
		return d.Round(time.Second)
	}
	return d.Round(100 * time.Millisecond)
}
