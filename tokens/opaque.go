package tokens

import "encoding/json"

// opaqueLength is the length in bytes from which a base64 string in unknown JSON is
// taken for binary data. Hashes, ids and signatures of tokens are shorter.
const opaqueLength = 256

// opaqueJSON counts JSON of unknown meaning: each long base64 string in it costs
// AttachmentTokens, the rest is text.
func (f framed) opaqueJSON(raw json.RawMessage) int {
	n, start := 0, 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end, binary := scanString(raw, i+1)
		if binary {
			n += AttachmentTokens + f.count(string(raw[start:i]))
			start = end
		}
		i = end
	}
	return n + f.count(string(raw[min(start, len(raw)):]))
}

// scanString returns the index of the closing quote of the string that starts at i,
// and whether the string looks like binary data.
func scanString(raw []byte, i int) (end int, binary bool) {
	start, plain := i, true
	if j := dataURLPayload(raw, i); j > i {
		start, i = j, j
	}
	for ; i < len(raw) && raw[i] != '"'; i++ {
		if raw[i] == '\\' && i+1 < len(raw) {
			i++
			plain = plain && (raw[i] == '/' || raw[i] == 'n' || raw[i] == 'r')
			continue
		}
		plain = plain && isBase64(raw[i])
	}
	i = min(i, len(raw))
	return i, plain && i-start >= opaqueLength
}

// dataURLPayload returns where the payload of a base64 data URL starts, or i.
func dataURLPayload(raw []byte, i int) int {
	const scheme, marker, longest = "data:", ";base64,", 128
	head := raw[i:min(len(raw), i+longest)]
	if len(head) < len(scheme) || string(head[:len(scheme)]) != scheme {
		return i
	}
	for j := len(scheme); j+len(marker) <= len(head); j++ {
		if string(head[j:j+len(marker)]) == marker {
			return i + j + len(marker)
		}
	}
	return i
}

func isBase64(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '+' || c == '/' || c == '-' || c == '_' || c == '='
}
