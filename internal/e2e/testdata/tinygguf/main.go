// Command tinygguf writes a language model in the GGUF format that is as small
// as one can be: one layer of the llama architecture with random weights, and a
// vocabulary of bytes. What it says means nothing; it is for talking to real
// inference servers without a download.
package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
)

const (
	width   = 64
	heads   = 4
	hidden  = 128
	context = 32768
	vocab   = 259 // unknown, begin, end, and 256 bytes
	align   = 32
)

// The types of GGUF's values.
const (
	typeU32    = 4
	typeI32    = 5
	typeF32    = 6
	typeString = 8
	typeArray  = 9
)

type writer struct{ bytes.Buffer }

func (w *writer) num(v any) { _ = binary.Write(w, binary.LittleEndian, v) }
func (w *writer) str(s string) {
	w.num(uint64(len(s)))
	w.WriteString(s)
}

func (w *writer) kv(key string, typ uint32, value any) {
	w.str(key)
	w.num(typ)
	if s, ok := value.(string); ok {
		w.str(s)
		return
	}
	w.num(value)
}

type tensor struct {
	name string
	dims []uint64
	ones bool
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: tinygguf FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], model(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func model() []byte {
	tensors := []tensor{
		{"token_embd.weight", []uint64{width, vocab}, false},
		{"output_norm.weight", []uint64{width}, true},
		{"output.weight", []uint64{width, vocab}, false},
		{"blk.0.attn_norm.weight", []uint64{width}, true},
		{"blk.0.attn_q.weight", []uint64{width, width}, false},
		{"blk.0.attn_k.weight", []uint64{width, width}, false},
		{"blk.0.attn_v.weight", []uint64{width, width}, false},
		{"blk.0.attn_output.weight", []uint64{width, width}, false},
		{"blk.0.ffn_norm.weight", []uint64{width}, true},
		{"blk.0.ffn_gate.weight", []uint64{width, hidden}, false},
		{"blk.0.ffn_up.weight", []uint64{width, hidden}, false},
		{"blk.0.ffn_down.weight", []uint64{hidden, width}, false},
	}
	meta := &writer{}
	count := uint64(0)
	kv := func(key string, typ uint32, value any) { meta.kv(key, typ, value); count++ }
	kv("general.architecture", typeString, "llama")
	kv("general.name", typeString, "tiny")
	kv("general.file_type", typeU32, uint32(0))
	kv("llama.block_count", typeU32, uint32(1))
	kv("llama.context_length", typeU32, uint32(context))
	kv("llama.embedding_length", typeU32, uint32(width))
	kv("llama.feed_forward_length", typeU32, uint32(hidden))
	kv("llama.attention.head_count", typeU32, uint32(heads))
	kv("llama.attention.head_count_kv", typeU32, uint32(heads))
	kv("llama.attention.layer_norm_rms_epsilon", typeF32, float32(1e-5))
	kv("llama.rope.dimension_count", typeU32, uint32(width/heads))
	kv("llama.vocab_size", typeU32, uint32(vocab))
	kv("tokenizer.ggml.model", typeString, "llama")
	kv("tokenizer.ggml.bos_token_id", typeU32, uint32(1))
	kv("tokenizer.ggml.eos_token_id", typeU32, uint32(2))
	kv("tokenizer.ggml.unknown_token_id", typeU32, uint32(0))
	list := func(key string, typ uint32, each func(i int)) {
		meta.str(key)
		meta.num(uint32(typeArray))
		meta.num(typ)
		meta.num(uint64(vocab))
		for i := range vocab {
			each(i)
		}
		count++
	}
	list("tokenizer.ggml.tokens", typeString, func(i int) {
		if i < 3 {
			meta.str([]string{"<unk>", "<s>", "</s>"}[i])
		} else {
			meta.str(fmt.Sprintf("<0x%02X>", i-3))
		}
	})
	list("tokenizer.ggml.scores", typeF32, func(int) { meta.num(float32(0)) })
	list("tokenizer.ggml.token_type", typeI32, func(i int) {
		if i < 3 {
			meta.num([]int32{2, 3, 3}[i]) // unknown, control, control
		} else {
			meta.num(int32(6)) // a byte
		}
	})

	w := &writer{}
	w.WriteString("GGUF")
	w.num(uint32(3))
	w.num(uint64(len(tensors)))
	w.num(count)
	w.Write(meta.Bytes())
	offset := uint64(0)
	size := func(t tensor) uint64 {
		n := uint64(4)
		for _, d := range t.dims {
			n *= d
		}
		return n
	}
	for _, t := range tensors {
		w.str(t.name)
		w.num(uint32(len(t.dims)))
		w.num(t.dims)
		w.num(uint32(0)) // F32
		w.num(offset)
		offset += (size(t) + align - 1) / align * align
	}
	pad := func() { w.Write(make([]byte, (align-w.Len()%align)%align)) }
	pad()
	random := rand.New(rand.NewPCG(1, 2))
	for _, t := range tensors {
		for range size(t) / 4 {
			v := float32(1)
			if !t.ones {
				v = float32(random.NormFloat64() * 0.1)
			}
			w.num(v)
		}
		pad()
	}
	return w.Bytes()
}
