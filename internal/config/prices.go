package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Price is what a model costs, in Model.Currency for a million tokens.
type Price struct{ Input, Cached, Output float64 }

func pricesKey() *key {
	return &key{
		name: "prices", typ: "mapping of a model's name to {input, cached, output}", initial: "{}",
		doc: "What a million tokens cost, by the provider's name of the model; with it the editor is told what a session has cost. `cached` is input that the provider had in its cache, and costs as much as `input` unless it is given.",
		read: func(_ *reader, n *node) (change, error) {
			v, err := readPrices(n)
			return func(c *Config) { c.Model.Prices = v }, err
		},
	}
}

func readPrices(n *node) (map[string]Price, error) {
	if n.kind == kindNull {
		return nil, nil
	}
	if n.kind != kindMap {
		return nil, fmt.Errorf("expected a mapping of models to prices such as {deepseek-chat: {input: 0.28, cached: 0.028, output: 0.42}}, got %s", describe(n))
	}
	out := map[string]Price{}
	for _, e := range n.entries {
		p := Price{Cached: -1}
		number := func(to *float64) func(*node) error {
			return func(n *node) (err error) { *to, err = parsePrice(n); return err }
		}
		err := fields(e.value, "a price such as {input: 0.28, output: 0.42}", map[string]func(*node) error{
			"input": number(&p.Input), "cached": number(&p.Cached), "output": number(&p.Output),
		})
		if err != nil {
			return nil, at(e.value, fmt.Errorf("%s: %w", e.key, err))
		}
		if p.Cached < 0 {
			p.Cached = p.Input
		}
		out[e.key] = p
	}
	return out, nil
}

func parsePrice(n *node) (float64, error) {
	if n.kind == kindNumber {
		if v, err := strconv.ParseFloat(strings.TrimSpace(n.text), 64); err == nil && v >= 0 && !math.IsInf(v, 0) {
			return v, nil
		}
	}
	return 0, fmt.Errorf("expected a price that is not negative, such as 0.28, got %s", describe(n))
}

func currencyKey() *key {
	return &key{
		name: "currency", typ: "text", initial: "USD", doc: "The currency of `model.prices`, as its three letters.",
		read: func(_ *reader, n *node) (change, error) {
			v, err := parseText(n)
			if err == nil && (len(v) != 3 || strings.ToUpper(v) != v || strings.Trim(v, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "") {
				err = errors.New("expected the three letters of a currency, such as USD or EUR")
			}
			return func(c *Config) { c.Model.Currency = v }, err
		},
	}
}
