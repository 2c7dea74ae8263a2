package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
)

// The ways to authenticate. A key is looked for where it always is; the second
// way runs the program once more in a terminal; the third sends the requests to a
// gateway of the client, which has keys of its own.
const (
	authByKey     = "key"
	authByLogin   = "login"
	authByGateway = "gateway"
)

// The keys under _meta by which clients and agents agreed on what the protocol
// does not define: a terminal for a login before it had terminal methods, and
// gateways.
const (
	metaTerminalAuth = "terminal-auth"
	metaGateway      = "gateway"
)

// AuthBackend is implemented by a Backend whose model wants a key that people can
// give and take back.
type AuthBackend interface {
	// LogIn looks for the key again after Logout, or after somebody stored one. The
	// error says how to give one.
	LogIn(ctx context.Context) error
	// CanLogout says whether there is anything to log out of.
	CanLogout() bool
	// Logout removes the stored key and uses none until LogIn, also none from the
	// environment. What runs goes on; sessions stay open, and their next request to
	// the model fails.
	Logout(ctx context.Context) error
	// LoginCommand is this program with the arguments that store a key; args are
	// those behind what the client starts it with.
	LoginCommand() (program string, all, args []string)
	// GatewayProtocol names the protocol that a gateway would have to speak; "" when
	// none can stand for the model's server.
	GatewayProtocol() string
	// UseGateway sends the requests to the model there, with these headers. The error
	// holds nothing of the headers.
	UseGateway(baseURL string, headers map[string]string) error
}

// authCapabilities advertise logout where there is something to log out of.
func (s *Server) authCapabilities() protocol.AuthCapabilities {
	if b, ok := s.opt.Backend.(AuthBackend); ok && b.CanLogout() {
		return protocol.AuthCapabilities{Logout: protocol.Yes()}
	}
	return protocol.AuthCapabilities{}
}

// authMethods are offered when the model wants a key, or when the client has a
// gateway.
func (s *Server) authMethods(caps protocol.ClientCapabilities) []protocol.AuthMethod {
	var methods []protocol.AuthMethod
	b, more := s.opt.Backend.(AuthBackend)
	if hint := s.opt.Backend.AuthHint(); hint != "" {
		methods = append(methods, protocol.AgentAuth(authByKey, "Key from the environment or the key store", hint))
		if login, ok := s.loginMethod(caps, b); ok {
			methods = append(methods, login)
		}
	}
	if more && caps.AuthMeta.Bool(metaGateway) && b.GatewayProtocol() != "" {
		m := protocol.AgentAuth(authByGateway, "Gateway of the editor", "Sends the requests to the model through a gateway that the editor names.")
		m.Meta = protocol.NewMeta(metaGateway, map[string]string{"protocol": b.GatewayProtocol()})
		methods = append(methods, m)
	}
	return methods
}

// loginMethod runs `dsh-acp login` in a terminal, for clients that have one for
// it: by the protocol's own kind of method, by the older convention, or by both.
func (s *Server) loginMethod(caps protocol.ClientCapabilities, b AuthBackend) (m protocol.AuthMethod, ok bool) {
	const name, about = "Log in with a key", "Stores a key for this user alone."
	program, all, args := "", []string(nil), []string{"login"}
	if b != nil {
		program, all, args = b.LoginCommand()
	}
	legacy := caps.Meta.Bool(metaTerminalAuth) && program != ""
	switch {
	case caps.TerminalAuth:
		m = protocol.TerminalAuth(authByLogin, name, about, args, nil)
	case legacy:
		m = protocol.AgentAuth(authByLogin, name, about)
	default:
		return m, false
	}
	if legacy {
		m.Meta = protocol.NewMeta(metaTerminalAuth, struct {
			Command string            `json:"command"`
			Args    []string          `json:"args"`
			Env     map[string]string `json:"env"`
			Label   string            `json:"label"`
		}{program, all, map[string]string{}, "dsh-acp login"})
	}
	return m, true
}

// handleAuthenticate looks for the key once more, as somebody may have stored one
// meanwhile, or takes a gateway into use. Sessions that are open go on with it.
func (s *Server) handleAuthenticate(_ context.Context, req *wire.Request) {
	p, perr := protocol.DecodeAuthenticate(req.Params)
	if perr != nil {
		s.fail(req, perr)
		return
	}
	b, more := s.opt.Backend.(AuthBackend)
	caps := s.capabilities()
	// With a gateway no key is wanted, but the method is offered all the same: it
	// leads back.
	wanted := s.opt.Backend.AuthHint() != "" || more && b.CanLogout()
	switch {
	case p.MethodID == authByKey && wanted,
		// A login in a terminal of the older kind is over when it is named here.
		p.MethodID == authByLogin && wanted && !caps.TerminalAuth && caps.Meta.Bool(metaTerminalAuth):
		wire.Go(req, func(ctx context.Context) (any, error) {
			check := s.opt.Backend.CheckAuth
			if more {
				check = b.LogIn
			}
			if err := check(ctx); err != nil {
				return nil, protocol.AuthRequired(err.Error()).WithDetails(err.Error())
			}
			return protocol.Empty{}, nil
		})
	case p.MethodID == authByGateway && more && b.GatewayProtocol() != "":
		url, headers, err := gatewayOf(p.Meta)
		if err == nil {
			err = b.UseGateway(url, headers)
		}
		if err != nil {
			s.fail(req, protocol.InvalidParams("_meta."+metaGateway, err.Error()))
			return
		}
		s.reply(req, protocol.Empty{})
	default:
		s.fail(req, protocol.InvalidParams("methodId", "is not a method that this agent offers for authenticate: \""+p.MethodID+"\""))
	}
}

// gatewayOf reads what a client says of its gateway. Its error quotes nothing:
// headers hold keys.
func gatewayOf(meta protocol.Meta) (url string, headers map[string]string, err error) {
	var g struct {
		BaseURL string            `json:"baseUrl"`
		Headers map[string]string `json:"headers"`
	}
	if raw := meta[metaGateway]; raw == nil || json.Unmarshal(raw, &g) != nil {
		return "", nil, errors.New("must be an object with a text baseUrl and headers, an object of texts")
	}
	return g.BaseURL, g.Headers, nil
}

// handleLogout takes back what authenticate gave.
func (s *Server) handleLogout(_ context.Context, req *wire.Request) {
	b, can := s.opt.Backend.(AuthBackend)
	if !can || !b.CanLogout() {
		s.fail(req, protocol.MethodNotFound(req.Method))
		return
	}
	if perr := protocol.DecodeLogout(req.Params); perr != nil {
		s.fail(req, perr)
		return
	}
	wire.Go(req, func(ctx context.Context) (any, error) {
		if err := b.Logout(ctx); err != nil {
			return nil, protocol.InternalError("the stored key could not be removed: " + err.Error()).WithDetails(err.Error())
		}
		return protocol.Empty{}, nil
	})
}
