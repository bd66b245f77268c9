package compact_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/go-contextengine/contextengine/compact"
)

func TestExtractIdentifiers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want []string
	}{
		{"see https://ex.com/a?b=1, then (https://x.org/y_(z)).", []string{"https://ex.com/a?b=1", "https://x.org/y_(z)"}},
		{"edit /srv/app/main.go and internal/store/list.go or go.mod", []string{"/srv/app/main.go", "internal/store/list.go", "go.mod"}},
		{"go test ./internal/berth/... in ../other/tree", []string{"./internal/berth/", "../other/tree"}}, // not /internal/berth
		{"import github.com/acme/store from internal/store/list", []string{"github.com/acme/store", "internal/store/list"}},
		{`open C:\work\x.txt`, []string{`C:\work\x.txt`}},
		{"db.local:5432 and localhost:8080", []string{"db.local:5432", "localhost:8080"}},
		{"ticket JIRA-1234, key sk_live_9aZ, branch feature-login", []string{"JIRA-1234", "sk_live_9aZ"}},
		{"commit deadbeef01 of 550e8400-e29b-41d4-a716-446655440000", []string{"deadbeef01", "550e8400-e29b-41d4-a716-446655440000"}},
		{"within 250 ms and 1.5GB, version v1.12.3, order 123456", []string{"250 ms", "1.5GB", "v1.12.3", "123456"}},
		{"on 2026-07-01T10:05:00Z at 10.0.0.17 and 192.168.0.0/24", []string{"2026-07-01T10:05:00Z", "10.0.0.17", "192.168.0.0/24"}},
		{"set MAX_RETRIES for cache.prod.example and shop.io", []string{"MAX_RETRIES", "cache.prod.example", "shop.io"}},
		{"user A1b2C3d4 keeps int64 for 30 days at 40 req/s or 99.5%", []string{"A1b2C3d4", "30 days", "40 req/s", "99.5%"}},
		{"mail ops@example.com", []string{"ops@example.com"}},
		{"nothing here, only 12 words", nil},
	}
	for _, tt := range tests {
		require.Equal(t, tt.want, compact.ExtractIdentifiers(tt.text), tt.text)
	}
}
