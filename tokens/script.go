package tokens

// ScriptAware is the default: single pass, per-script classes, rather high than low.
func ScriptAware() Estimator { return Framed(scriptTokens) }

// unitsPerToken is the fixed-point scale of the costs below.
const unitsPerToken = 64

// scriptTokens sums a cost per leading byte; continuation bytes are free.
func scriptTokens(s string) int {
	units := 0
	for i := 0; i < len(s); i++ {
		units += int(scriptCost[s[i]])
	}
	return (units + unitsPerToken - 1) / unitsPerToken
}

// scriptCost is the cost of a byte in 1/unitsPerToken.
var scriptCost = [256]uint8{
	44, 44, 44, 44, 44, 44, 44, 44, 44, 28, 28, 44, 44, 28, 44, 44,
	44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
	12, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44, 44,
	28, 28, 28, 28, 28, 28, 28, 28, 28, 28, 44, 44, 44, 44, 44, 44,
	44, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 44, 44, 44, 44, 44,
	44, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16,
	16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 44, 44, 44, 44, 44,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 48, 28, 28,
	28, 28, 28, 28, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36, 36,
	64, 64, 80, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64,
	160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160, 160,
}
