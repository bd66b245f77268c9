//go:build ignore

// Gen packs the public vocabularies into the binary form that this package embeds:
// for each id in order the length of its bytes as a varint, then the bytes. Ids that
// no token has get length 0.
package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// sources are the assets of the MIT-licensed loader module v0.0.2 with their checksums.
var sources = []struct{ name, sha256 string }{
	{"cl100k_base", "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"},
	{"o200k_base", "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"},
}

func main() {
	log.SetFlags(0)
	for _, s := range sources {
		text, err := assets.Assets.ReadFile(s.name + ".tiktoken")
		if err != nil {
			log.Fatal(err)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != s.sha256 {
			log.Fatalf("checksum of %q differs: %x", s.name, sum)
		}
		packed, err := pack(text)
		if err != nil {
			log.Fatalf("packing %q: %v", s.name, err)
		}
		if err := os.WriteFile(filepath.Join("vocab", s.name+".bin"), packed, 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// pack expects the lines "base64 id" in the order of ids.
func pack(text []byte) ([]byte, error) {
	var out []byte
	next := 0
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		token, idText, ok := bytes.Cut(lines.Bytes(), []byte(" "))
		if !ok {
			continue
		}
		raw, err := base64.StdEncoding.AppendDecode(nil, token)
		if err != nil {
			return nil, err
		}
		id, err := strconv.Atoi(string(idText))
		if err != nil {
			return nil, err
		}
		if id < next {
			return nil, fmt.Errorf("id %d is out of order", id)
		}
		for ; next < id; next++ {
			out = append(out, 0)
		}
		out = binary.AppendUvarint(out, uint64(len(raw)))
		out = append(out, raw...)
		next++
	}
	return out, nil
}
