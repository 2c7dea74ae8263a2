package openai

import (
	"net/url"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
)

// Dialect is how a server differs from the others that speak the protocol.
type Dialect string

// The dialects. Generic is for llama.cpp, vLLM, LM Studio and whatever else.
const (
	DeepSeek   Dialect = "deepseek"
	OpenAI     Dialect = "openai"
	OpenRouter Dialect = "openrouter"
	Ollama     Dialect = "ollama"
	Generic    Dialect = "generic"
)

// The addresses of the services that have one.
const (
	DeepSeekURL   = "https://api.deepseek.com"
	OpenAIURL     = "https://api.openai.com/v1"
	OpenRouterURL = "https://openrouter.ai/api/v1"
)

// guess chooses a dialect by the address, which says more than the name of the
// configuration: provider openai with a base_url may be anything.
func guess(providerID, baseURL string) Dialect {
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" {
		if providerID == string(DeepSeek) {
			return DeepSeek
		}
		return Generic
	}
	host := u.Hostname()
	is := func(domain string) bool { return host == domain || strings.HasSuffix(host, "."+domain) }
	switch {
	case is("deepseek.com"):
		return DeepSeek
	case is("openai.com"):
		return OpenAI
	case is("openrouter.ai"):
		return OpenRouter
	case u.Port() == "11434", is("ollama.com"):
		return Ollama
	case providerID == string(DeepSeek):
		return DeepSeek // a gateway in front of it
	}
	return Generic
}

// defaultURL is where a provider of that name lives.
func defaultURL(providerID string) string {
	switch providerID {
	case string(DeepSeek):
		return DeepSeekURL
	case string(OpenRouter):
		return OpenRouterURL
	case string(Ollama):
		return "http://localhost:11434/v1"
	case string(OpenAI):
		return OpenAIURL
	}
	return ""
}

// needsKey reports whether the service behind an address answers nobody
// without a key.
func needsKey(baseURL string) bool {
	for _, u := range []string{DeepSeekURL, OpenAIURL, OpenRouterURL} {
		if strings.HasPrefix(baseURL, u) {
			return !httpx.Local(baseURL)
		}
	}
	return false
}

// resends reports whether reasoning goes back with the messages that made
// calls: DeepSeek's thinking models refuse a conversation without it.
func (d Dialect) resends() bool { return d == DeepSeek }

// maxTools is how many tools a request may offer; 0 is no bound.
func (d Dialect) maxTools() int {
	if d == OpenAI || d == DeepSeek {
		return 128
	}
	return 0
}

// Effort words, as [model.Request.ReasoningEffort] takes them. Others go to
// the server as they are.
const (
	effortOff     = "off"
	effortMinimal = "minimal"
	effortLow     = "low"
	effortMedium  = "medium"
	effortHigh    = "high"
	effortMax     = "max"
)

func normalEffort(word string) string {
	switch w := strings.ToLower(word); w {
	case "none", "disabled", "no":
		return effortOff
	case "xhigh", "maximum":
		return effortMax
	default:
		return w
	}
}

// efforts are the thought levels to offer for a model; nil when it has none.
func (d Dialect) efforts(i model.Info) []string {
	switch {
	case !i.Reasoning, strings.Contains(i.ID, "deepseek-reasoner"), strings.Contains(i.ID, "deepseek-r1"):
		return nil // it does not think, or cannot be told how much
	case d == DeepSeek:
		return []string{effortOff, effortHigh, effortMax}
	case d == OpenAI:
		return []string{effortLow, effortMedium, effortHigh}
	}
	return []string{effortOff, effortLow, effortMedium, effortHigh}
}

// effort maps a thought level to the members of a request.
func (d Dialect) effort(word string, reasons bool) []jsonvalue.Member {
	word = normalEffort(word)
	if word == "" {
		return nil
	}
	text := func(key, s string) jsonvalue.Member {
		return jsonvalue.Member{Key: key, Value: jsonvalue.String(s)}
	}
	switch d {
	case DeepSeek:
		kind := "enabled"
		if word == effortOff {
			kind = "disabled"
		}
		ms := []jsonvalue.Member{{Key: "thinking", Value: jsonvalue.Object(text("type", kind))}}
		switch word {
		case effortHigh, effortMax: // the only two steps it knows
			ms = append(ms, text("reasoning_effort", word))
		}
		return ms
	case OpenRouter:
		if word == effortOff {
			return []jsonvalue.Member{{Key: "reasoning", Value: jsonvalue.Object(jsonvalue.Member{Key: "enabled", Value: jsonvalue.Bool(false)})}}
		}
		if word == effortMax {
			word = "xhigh"
		}
		return []jsonvalue.Member{{Key: "reasoning", Value: jsonvalue.Object(text("effort", word))}}
	case OpenAI:
		if !reasons {
			return nil // refused by models that do not think
		}
		switch word {
		case effortOff:
			word = "none"
		case effortMax:
			word = "xhigh"
		}
		return []jsonvalue.Member{text("reasoning_effort", word)}
	case Ollama:
		switch word {
		case effortOff:
			word = "none"
		case effortMax:
			word = effortHigh
		case effortMinimal:
			word = effortLow
		}
		return []jsonvalue.Member{text("reasoning_effort", word)}
	}
	// llama.cpp and vLLM hand this to the model's template; others ignore it.
	think := jsonvalue.Object(jsonvalue.Member{Key: "enable_thinking", Value: jsonvalue.Bool(word != effortOff)})
	ms := []jsonvalue.Member{{Key: "chat_template_kwargs", Value: think}}
	switch word {
	case effortOff:
	case effortMinimal:
		ms = append(ms, text("reasoning_effort", effortLow))
	case effortMax:
		ms = append(ms, text("reasoning_effort", effortHigh))
	case effortLow, effortMedium, effortHigh:
		ms = append(ms, text("reasoning_effort", word))
	}
	return ms
}
