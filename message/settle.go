package message

// settle gives the open calls of a group their results out of the candidates. Whoever is
// sure of its call comes before whoever would take any: a result must find the same call again when the mended list, in
// which its place and name can differ, is mended once more. So, in this order:
//
//   - results that spell the id like the call: those in the message of the calls, which can
//     only answer a call before them, then others,
//   - results whose id is the same without surrounding space,
//   - results without an id that guess,
//   - stand-ins.
//
// Among these a result of the call's tool comes first, then the earlier one, which takes
// the earliest call. Where the id is blank, it is the name that pairs: it must agree, which
// a blank one always does.
func (mt *matcher) settle(g int, candidates []int) {
	if len(candidates) == 0 {
		return
	}
	grp := &mt.groups[g]
	s := settler{mt: mt, grp: grp, g: g}
	for _, c := range grp.calls {
		if c.result == unanswered {
			s.free++
		}
	}
	var inside, others, guesses, standIns []int
	for _, i := range candidates {
		switch r := mt.results[i]; {
		case r.standIn:
			standIns = append(standIns, i)
		case s.guesses(r):
			guesses = append(guesses, i)
		case r.at == grp.at:
			inside = append(inside, i)
		default:
			others = append(others, i)
		}
	}
	inside = s.serve(inside, s.spelledAndNamed, s.spelled)
	others = s.serve(others, s.spelledAndNamed, s.spelled)
	s.serve(inside, s.keyedAndNamed, s.keyed)
	s.serve(others, s.keyedAndNamed, s.keyed)
	s.serve(guesses, s.only)
	s.serve(standIns, s.spelledAndNamed, s.spelled, s.keyedAndNamed, s.keyed, s.only)
}

// A settler is the state of settle. Its rounds return the call that a result takes,
// unanswered for none.
type settler struct {
	mt   *matcher
	grp  *group
	g    int
	free int // calls without a result

	offers [4]offers // made when needed
}

// guesses reports whether a result without an id would have to guess its call.
func (s *settler) guesses(r result) bool {
	return r.key == "" && len(s.grp.calls) == 1 && s.grp.calls[0].key != ""
}

// serve lets results take calls, round by round, and returns those that found none.
func (s *settler) serve(waiting []int, rounds ...func(result) int) []int {
	for _, round := range rounds {
		if s.free == 0 {
			break
		}
		left := waiting[:0]
		for _, i := range waiting {
			k := round(s.mt.results[i])
			if k == unanswered {
				left = append(left, i)
				continue
			}
			s.mt.assign(i, s.g, k)
			s.free--
		}
		waiting = left
	}
	return waiting
}

func (s *settler) spelledAndNamed(r result) int {
	return s.take(0, r, offer{r.id, r.name})
}

func (s *settler) spelled(r result) int {
	if r.key == "" && r.name != "" {
		return s.take(0, r, offer{id: r.id})
	}
	return s.take(1, r, offer{id: r.id})
}

func (s *settler) keyedAndNamed(r result) int {
	return s.take(2, r, offer{r.key, r.name})
}

func (s *settler) keyed(r result) int {
	if r.key == "" && r.name != "" {
		return s.take(2, r, offer{})
	}
	return s.take(3, r, offer{id: r.key})
}

func (s *settler) only(r result) int {
	if c := s.grp.calls[0]; s.guesses(r) && c.result == unanswered && agree(c.name, r.name) {
		return 0
	}
	return unanswered
}

// An offer is what a call can be asked for by.
type offer struct{ id, name string }

// offers finds the calls of a group by what they offer.
type offers struct {
	first map[offer]int
	next  []int // of calls: the next one with the same offer
}

func (s *settler) take(kind int, r result, want offer) int {
	o := &s.offers[kind]
	if o.first == nil {
		*o = s.list(kind)
	}
	k, ok := o.first[want]
	if !ok {
		return unanswered
	}
	for k != unanswered && s.grp.calls[k].result != unanswered {
		k = o.next[k]
	}
	o.first[want] = k
	if k != unanswered && r.at == s.grp.at && s.grp.calls[k].block > r.block {
		return unanswered
	}
	return k
}

func (s *settler) list(kind int) offers {
	o := offers{first: make(map[offer]int, len(s.grp.calls)), next: make([]int, len(s.grp.calls))}
	for k := len(s.grp.calls) - 1; k >= 0; k-- {
		c := &s.grp.calls[k]
		what := [...]offer{{c.id, c.name}, {id: c.id}, {c.key, c.name}, {id: c.key}}[kind]
		o.next[k] = unanswered
		if next, ok := o.first[what]; ok {
			o.next[k] = next
		}
		o.first[what] = k
	}
	return o
}

// agree reports whether two trimmed names can be the same tool's.
func agree(a, b string) bool {
	return a == "" || b == "" || a == b
}
