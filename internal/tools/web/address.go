package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Resolver looks up the addresses of a name.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

type systemResolver struct{}

func (systemResolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, network, host)
}

// Allow is a list of private targets that may be reached.
type Allow struct {
	prefixes []allowed
	names    []allowed
}

type allowed struct {
	prefix netip.Prefix
	name   string
	port   string // "" means any
}

// ParseAllow reads entries such as 10.0.0.0/8, 127.0.0.1, localhost:3000,
// [::1]:8080 and wiki.corp. A name allows whatever it stands for.
func ParseAllow(entries []string) (Allow, error) {
	var a Allow
	for _, e := range entries {
		text := strings.ToLower(strings.TrimSpace(e))
		if p, err := netip.ParsePrefix(text); err == nil {
			a.prefixes = append(a.prefixes, allowed{prefix: p.Masked()})
			continue
		}
		host, port := text, ""
		if h, p, err := net.SplitHostPort(text); err == nil {
			if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
				return Allow{}, fmt.Errorf("%q: the port is not a number from 1 to 65535", e)
			}
			host, port = h, p
		}
		if ip, err := netip.ParseAddr(strings.Trim(host, "[]")); err == nil {
			ip = ip.Unmap().WithZone("")
			a.prefixes = append(a.prefixes, allowed{prefix: netip.PrefixFrom(ip, ip.BitLen()), port: port})
			continue
		}
		name, err := asciiHost(host)
		if err != nil || name == "" || strings.ContainsAny(name, "/*?@ ") {
			return Allow{}, fmt.Errorf("%q is neither a host, a host with a port, an address nor a network such as 10.0.0.0/8", e)
		}
		a.names = append(a.names, allowed{name: name, port: port})
	}
	return a, nil
}

// named says whether every address of a name may be reached.
func (a Allow) named(host, port string) bool {
	for _, n := range a.names {
		if n.name == host && (n.port == "" || n.port == port) {
			return true
		}
	}
	return false
}

func (a Allow) address(ip netip.Addr, port string) bool {
	for _, p := range a.prefixes {
		if p.prefix.Contains(ip) && (p.port == "" || p.port == port) {
			return true
		}
	}
	return false
}

// loopback says whether any address of this machine itself may be reached at a
// port, which is what the name localhost may lead to.
func (a Allow) loopback(port string) bool {
	own := netip.PrefixFrom(netip.AddrFrom4([4]byte{127}), 8)
	for _, p := range a.prefixes {
		if (p.port == "" || p.port == port) && (p.prefix.Overlaps(own) || p.prefix.Contains(netip.IPv6Loopback())) {
			return true
		}
	}
	return false
}

// refusedNetworks are those that are no public internet. Mapped forms of IPv4
// addresses are unwrapped before.
var refusedNetworks = sync.OnceValue(func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range [...]string{
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
		"192.0.0.0/24", "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
		"224.0.0.0/4", "240.0.0.0/4",
		"168.63.129.16/32", // a cloud's service for its machines, on a public address
		"::/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16",
		"64:ff9b:1::/48", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
	} {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
})

// public says whether an address belongs to the public internet.
func public(ip netip.Addr) bool {
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	ip = ip.Unmap()
	for _, p := range refusedNetworks() {
		if p.Contains(ip) {
			return false
		}
	}
	if v4, ok := embedded(ip); ok {
		return public(v4)
	}
	return true
}

// embedded is the IPv4 address inside an IPv6 address of a network that leads to
// it: NAT64 and 6to4.
func embedded(ip netip.Addr) (netip.Addr, bool) {
	if !ip.Is6() {
		return netip.Addr{}, false
	}
	b := ip.As16()
	switch {
	case [12]byte(b[:12]) == [12]byte{0, 0x64, 0xff, 0x9b}:
		return netip.AddrFrom4([4]byte(b[12:])), true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// privateError is a target that is not reached.
type privateError struct {
	host string
	ip   netip.Addr
}

// Error names the target and the way out.
func (e *privateError) Error() string {
	what := e.host
	if e.ip.IsValid() && e.ip.String() != e.host {
		what += " (" + e.ip.String() + ")"
	}
	return what + " is a private or local address, which is not reached; the user can allow it with web.allow_private in the configuration"
}

// addresses are those of a host that may be dialled. The error says why there
// are none.
func (w *Web) addresses(ctx context.Context, host, port string) ([]netip.Addr, error) {
	var found []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		found = []netip.Addr{ip}
	} else if found, err = w.opt.Resolver.LookupNetIP(ctx, "ip", host); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("the host " + host + " has no address")
	}
	named := w.opt.Allow.named(host, port)
	var out []netip.Addr
	for _, ip := range found {
		if ip = ip.Unmap(); named || w.opt.Allow.address(ip, port) || public(ip) {
			out = append(out, ip)
		}
	}
	if len(out) == 0 {
		return nil, &privateError{host: host, ip: found[0].Unmap()}
	}
	return out, nil
}

// dial connects to an address that was checked, and to no other: the name is
// looked up once, so that a second answer cannot lead elsewhere.
func (w *Web) dial(ctx context.Context, network, target string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, err
	}
	host = strings.ToLower(host)
	ips, err := w.addresses(ctx, host, port)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		// Once more, of what is really connected to.
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if ip := at.Addr().Unmap(); !w.opt.Allow.named(host, port) && !w.opt.Allow.address(ip, port) && !public(ip) {
			return &privateError{host: host, ip: ip}
		}
		return nil
	}}
	var failure error
	for _, ip := range ips {
		conn, err := d.DialContext(ctx, network, net.JoinHostPort(ip.String(), port))
		if err == nil {
			return conn, nil
		}
		if failure == nil {
			failure = err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

// checkTarget refuses a target that a proxy would be asked for. Names are looked
// up here too, as far as they can be: behind a proxy often they cannot.
func (w *Web) checkTarget(ctx context.Context, u *url.URL) error {
	host, port := u.Hostname(), portOf(u)
	if _, err := netip.ParseAddr(host); err != nil && !w.opt.Allow.named(host, port) {
		for _, suffix := range []string{"localhost", "local", "internal", "intranet", "lan", "home.arpa", "corp"} {
			if host == suffix || strings.HasSuffix(host, "."+suffix) {
				return &privateError{host: host}
			}
		}
		if !strings.Contains(host, ".") {
			return &privateError{host: host}
		}
	}
	_, err := w.addresses(ctx, host, port)
	var private *privateError
	if errors.As(err, &private) {
		return err
	}
	return ctx.Err() // a name that only the proxy can look up is the proxy's
}

// local says whether a target was only reached because it is allowed.
func (w *Web) local(host, port string) bool {
	if w.opt.Allow.named(host, port) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && !public(ip)
}
