package transcript

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// keyBytes is the length of the hashes that serve as message keys.
const keyBytes = 16

// maxIDBytes bounds a session id: with the time before it and the extension behind it, the file
// name stays under the 255 bytes that file systems allow, escapes included.
const maxIDBytes = 128

// newUUID makes a UUID of version 7, whose text sorts by time.
func newUUID(now time.Time) string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16|uint64(b[6]&0x0f|0x70)<<8|uint64(b[7]))
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkSessionID refuses ids that cannot be part of a file name however they are escaped.
func checkSessionID(id string) error {
	bad := strings.TrimSpace(id) == "" || len(id) > maxIDBytes || !utf8.ValidString(id) ||
		strings.HasPrefix(id, ".") || strings.Contains(id, "..") || strings.ContainsAny(id, `/\`) ||
		strings.ContainsFunc(id, func(r rune) bool { return r < 0x20 || r == 0x7f })
	if bad {
		return &InvalidIDError{ID: id}
	}
	return nil
}

// shortID makes an entry id as the reference does: eight hexadecimal digits.
func shortID() string {
	var b [4]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
