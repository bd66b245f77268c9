package compact

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of what somebody pasted in, the beginning and the end are searched, and no cut word counts
// as an identifier.
func TestIdentifiersOfAHugeMessage(t *testing.T) {
	t.Parallel()
	middle := strings.Repeat("/srv/filler/0001.log ", 50_000)
	text := "see /etc/first.conf " + middle + " /srv/middle/only.log " + middle + " and /etc/last.conf"
	got := requiredIdentifiers([]segment{{label: labelUser, text: text}})
	require.ElementsMatch(t, []string{"/etc/first.conf", "/srv/filler/0001.log", "/etc/last.conf"}, got)
}
