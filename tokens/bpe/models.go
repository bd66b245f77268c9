package bpe

import "strings"

type modelPrefix struct {
	prefix string
	get    func() *Encoding
}

// modelPrefixes are looked up in order. Each stands for a whole name, or for what
// comes before a date or variant; one that ends in a dot stands for all its minor
// versions. The models are those whose vocabulary OpenAI has published through tiktoken.
func modelPrefixes() []modelPrefix {
	return []modelPrefix{
		{"gpt-4o", O200kBase},
		{"chatgpt-4o", O200kBase},
		{"gpt-4.1", O200kBase},
		{"gpt-4.5", O200kBase},
		{"gpt-5", O200kBase},
		{"gpt-5.", O200kBase},
		{"gpt-oss", O200kBase},
		{"codex-mini", O200kBase},
		{"o1", O200kBase},
		{"o3", O200kBase},
		{"o4-mini", O200kBase},
		{"gpt-4", CL100kBase},
		{"gpt-3.5", CL100kBase},
		{"gpt-35", CL100kBase},
		{"text-embedding-ada-002", CL100kBase},
		{"text-embedding-3", CL100kBase},
	}
}

// ForModel returns the encoding of a model and whether it only approximates the
// model's own. It is exact for OpenAI's models since GPT-3.5, whose names it knows
// also with a provider in front ("openai/gpt-4o") and as fine-tuned ones
// ("ft:gpt-4o-mini:org"). Every other model, of OpenAI or not, has another or an
// unknown vocabulary: it gets o200k_base with approximate set, and real counts
// may be a third higher.
func ForModel(model string) (e *Encoding, approximate bool) {
	name := strings.ToLower(strings.TrimSpace(model))
	name = strings.TrimPrefix(name[strings.LastIndexByte(name, '/')+1:], "ft:")
	for _, m := range modelPrefixes() {
		rest, ok := strings.CutPrefix(name, m.prefix)
		if ok && (rest == "" || strings.IndexByte("-:@", rest[0]) >= 0 || strings.HasSuffix(m.prefix, ".")) {
			return m.get(), false
		}
	}
	return O200kBase(), true
}
