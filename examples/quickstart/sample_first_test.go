package main

// firstHalf is what the sample's compaction summarises later: a small team and its
// agent at work on a booking service, each in their own language.
func firstHalf(s *story) {
	oneHourOff(s)
	slowList(s)
	s.startDay(3)
	garbledMail(s)
	overlappingBadge(s)
	wrongTurn(s)
	s.startDay(4)
	rateLimits(s)
	doubleBooking(s)
	nightlyExport(s)
}

func oneHourOff(s *story) {
	s.ask("Bookings made for the last Sunday in March come back one hour off for customers in Berlin. Lisbon is fine. Can you find out why? Don't change anything yet.")
	s.use("I'll look for where a slot's local time becomes an instant.",
		grep(`ParseInLocation|time\.FixedZone|\.UTC\(\)`,
			"internal/slot/parse.go:31:\treturn time.ParseInLocation(layout, s, loc)\ninternal/slot/zone.go:18:\tloc := time.FixedZone(c.Zone, c.OffsetSeconds)\ninternal/slot/zone.go:19:\treturn t.In(loc)\ninternal/store/rows.go:77:\tb.Start = start.UTC()\n"),
		bash("git log --oneline -5 -- internal/slot",
			"8c1f0aa slot: cache zone lookups per customer\n2b9d6e1 slot: reject slots that end before they start\nf07a3c2 slot: parse in the customer's zone\n90b11d4 slot: first version\n"))
	s.use("",
		read("internal/slot/zone.go", `package slot

// cachedZone remembers the offset of a customer's zone so that a list of bookings
// needs one lookup.
type cachedZone struct {
	Zone          string
	OffsetSeconds int
}

func newCachedZone(name string, at time.Time) (cachedZone, error) {
	loc, err := time.LoadLocation(name)
	if err != nil {
		return cachedZone{}, fmt.Errorf("loading zone %q: %w", name, err)
	}
	_, offset := at.In(loc).Zone()
	return cachedZone{Zone: name, OffsetSeconds: offset}, nil
}

func (c cachedZone) In(t time.Time) time.Time {
	loc := time.FixedZone(c.Zone, c.OffsetSeconds)
	return t.In(loc)
}
`),
		read("internal/slot/parse.go", `package slot

const layout = "2006-01-02 15:04"

// Parse reads a local time in the customer's zone.
func Parse(s string, loc *time.Location) (time.Time, error) {
	if s == "" {
		return time.Time{}, ErrNoTime
	}
	return time.ParseInLocation(layout, s, loc)
}
`))
	s.think("The cache keeps an offset, not a location. The offset is that of the moment of the lookup: winter time. A slot after the change is then shown with the winter offset. Lisbon changes at the same instant, but its winter offset is zero, and the customer service tests there use UTC anyway... no: Lisbon would be off as well in April. The report says fine; probably nobody booked there after the change yet.",
		"The cache in `internal/slot/zone.go` keeps the **offset at the time of the lookup** instead of the zone. Whoever looks a customer up in winter sees summer slots an hour early.\n\nLisbon has the same fault; I think nobody there has a booking after 29 March yet. `8c1f0aa` introduced it.\n\nI would cache the `*time.Location` itself. Nothing changed so far.")
	s.ask("Good catch. Please do that, with a test that fails on the old code for both cities.")
	s.use("Test first.",
		write("internal/slot/zone_test.go", `func TestSummerSlotsKeepTheirLocalTime(t *testing.T) {
	winter := time.Date(2026, time.February, 1, 12, 0, 0, 0, time.UTC)
	for _, zone := range []string{"Europe/Berlin", "Europe/Lisbon"} {
		c, err := newCachedZone(zone, winter)
		require.NoError(t, err)
		loc, err := time.LoadLocation(zone)
		require.NoError(t, err)
		slot := time.Date(2026, time.March, 29, 10, 30, 0, 0, loc)
		require.Equal(t, "10:30", c.In(slot.UTC()).Format("15:04"), zone)
	}
}
`),
		fails(bash("go test ./internal/slot/",
			"--- FAIL: TestSummerSlotsKeepTheirLocalTime (0.00s)\n    zone_test.go:11: not equal: expected \"10:30\", actual \"09:30\"  Europe/Berlin\nFAIL\nFAIL\tslotkeeper/internal/slot\t0.012s\n")))
	s.use("It fails for the reason we expect. Now the fix.",
		edit("internal/slot/zone.go", "OffsetSeconds int", "loc *time.Location"),
		edit("internal/slot/zone.go", "loc := time.FixedZone(c.Zone, c.OffsetSeconds)\n\treturn t.In(loc)", "return t.In(c.loc)"),
		bash("go test ./internal/slot/", "ok  \tslotkeeper/internal/slot\t0.014s\n"))
	fixed := s.say("Done: the cache holds the location, the test covers both cities and fails on the old code. `go test ./internal/slot/` passes.")
	s.row("label", "targetId", fixed, "label", "dst-fix")
}

func slowList(s *story) {
	s.ask("预约列表接口现在要三秒多，客户一多就超时。麻烦先看看是哪里慢，给出数据再改。")
	s.use("先看一下接口实际执行了多少条 SQL。",
		bash("go test ./internal/store -run TestListBookings -v -trace-sql",
			"=== RUN   TestListBookings\n    sql: SELECT id, customer_id, start FROM bookings WHERE day = $1  (1 次, 4.1ms)\n    sql: SELECT name, zone FROM customers WHERE id = $1  (412 次, 共 2874ms)\n--- PASS: TestListBookings (2.91s)\n"),
		read("internal/store/list.go", `func (s *Store) List(ctx context.Context, day civil.Date) ([]Booking, error) {
	rows, err := s.bookings(ctx, day)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		c, err := s.Customer(ctx, rows[i].CustomerID) // one query each
		if err != nil {
			return nil, err
		}
		rows[i].Customer = c
	}
	return rows, nil
}
`))
	s.say("原因很清楚：`List` 对每一条预约单独查询一次客户，412 条预约就是 412 次查询，合计 2.87 秒；列表本身只要 4 毫秒。\n\n建议改成一次 `JOIN`，返回的结构不变。要我动手吗？")
	s.ask("改吧。注意已删除的客户也要显示出来，名字用“（已删除）”。")
	s.use("",
		edit("internal/store/list.go", "c, err := s.Customer(ctx, rows[i].CustomerID) // one query each", "// 客户与预约一次查出，见 listQuery"),
		edit("internal/store/queries.go", "const listQuery = `SELECT id, customer_id, start FROM bookings WHERE day = $1`",
			"const listQuery = `SELECT b.id, b.start, COALESCE(c.name, '（已删除）'), COALESCE(c.zone, 'UTC')\nFROM bookings b LEFT JOIN customers c ON c.id = b.customer_id\nWHERE b.day = $1 ORDER BY b.start, b.id`"),
		bash("go test ./internal/store -run TestListBookings -v -trace-sql",
			"=== RUN   TestListBookings\n    sql: SELECT b.id, b.start, COALESCE(...) (1 次, 6.3ms)\n--- PASS: TestListBookings (0.03s)\n"))
	s.use("再补一条已删除客户的测试，跑一遍全部测试。",
		write("internal/store/list_deleted_test.go", "func TestListShowsDeletedCustomers(t *testing.T) {\n\ts := open(t)\n\tid := s.mustBook(t, \"王芳\")\n\ts.mustDelete(t, id)\n\tgot, err := s.List(t.Context(), today)\n\trequire.NoError(t, err)\n\trequire.Equal(t, \"（已删除）\", got[0].Customer.Name)\n}\n"),
		bash("go test ./...", "ok  \tslotkeeper/internal/slot\t(cached)\nok  \tslotkeeper/internal/store\t0.41s\nok  \tslotkeeper/internal/api\t0.22s\n"))
	s.say("改好了：一次查询，6 毫秒。已删除的客户显示为“（已删除）”，有测试覆盖，全部测试通过。")
	s.side("custom", "customType", "slotkeeper.ci", "data", object("commit", "5d2e7b0", "state", "passed", "seconds", 94))
}

func garbledMail(s *story) {
	s.ask("予約確認メールの件名が文字化けしています。本文は問題ありません。Outlook だけで起きるようです。")
	s.use("件名を組み立てている箇所を確認します。",
		grep("Subject", "internal/mail/compose.go:22:\tfmt.Fprintf(&b, \"Subject: %s\\r\\n\", m.Subject)\ninternal/mail/compose_test.go:15:\t\tSubject: \"Your booking\",\n"),
		read("internal/mail/compose.go", "func Compose(m Mail) []byte {\n\tvar b bytes.Buffer\n\tfmt.Fprintf(&b, \"From: %s\\r\\n\", m.From)\n\tfmt.Fprintf(&b, \"To: %s\\r\\n\", m.To)\n\tfmt.Fprintf(&b, \"Subject: %s\\r\\n\", m.Subject)\n\tb.WriteString(\"Content-Type: text/plain; charset=utf-8\\r\\n\\r\\n\")\n\tb.WriteString(m.Body)\n\treturn b.Bytes()\n}\n"))
	s.use("件名が符号化されないまま書かれています。",
		edit("internal/mail/compose.go", "fmt.Fprintf(&b, \"Subject: %s\\r\\n\", m.Subject)", "fmt.Fprintf(&b, \"Subject: %s\\r\\n\", mime.QEncoding.Encode(\"utf-8\", m.Subject))"),
		edit("internal/mail/compose_test.go", "Subject: \"Your booking\",", "Subject: \"ご予約を承りました\","),
		bash("go test ./internal/mail/", "ok  \tslotkeeper/internal/mail\t0.008s\n"))
	s.say("ヘッダーには ASCII 以外の文字をそのまま書けません。件名を `mime.QEncoding` で符号化するように直しました。日本語の件名で試験を追加し、通っています。\n\n差出人名 (`From`) にも同じ問題がありますが、今の設定では英字だけです。直しておきますか。")
	s.ask("はい、お願いします。")
	s.use("",
		edit("internal/mail/compose.go", "fmt.Fprintf(&b, \"From: %s\\r\\n\", m.From)", "fmt.Fprintf(&b, \"From: %s\\r\\n\", m.From.String())"),
		bash("go test ./internal/mail/", "ok  \tslotkeeper/internal/mail\t0.009s\n"))
	s.say("`From` は `mail.Address` の `String` で書くようにしました。名前が日本語でも正しく符号化されます。")
}

func overlappingBadge(s *story) {
	s.show("The badge with the number of free slots covers the weekday on narrow screens. Screenshot attached: Tuesday and Friday.", calendar(1, 4))
	s.use("Let me see the layout and take a screenshot of my own.",
		read("web/src/calendar.css", ".day { position: relative; min-width: 2.5rem; }\n.day .badge { position: absolute; top: 0; right: 0; }\n.day .name { font-size: 0.8rem; }\n"),
		toolUse{name: "screenshot", arguments: object("url", "/calendar?week=2026-W10", "width", 320), result: "Screenshot of /calendar at 320 px.", picture: calendar(1, 4)})
	s.use("",
		edit("web/src/calendar.css", ".day .badge { position: absolute; top: 0; right: 0; }", ".day { display: grid; grid-template-rows: auto 1fr; }\n.day .badge { justify-self: end; }"),
		toolUse{name: "screenshot", arguments: object("url", "/calendar?week=2026-W10", "width", 320), result: "Screenshot of /calendar at 320 px.", picture: calendar(1)})
	s.say("The badge now has a grid row of its own instead of floating over the name. At 320 px both are readable; wider screens look as before.")
	s.row("custom_message", "customType", "slotkeeper.review", "content",
		"Reviewer's note: keep the badge's aria-label when you touch calendar.css again.", "display", true)
}

// wrongTurn is a branch that was left, and what is told about it.
func wrongTurn(s *story) {
	fork := s.leaf
	s.ask("Könntest du die Slots in einer eigenen Tabelle ablegen, statt sie aus den Öffnungszeiten zu berechnen?")
	s.use("Ich schaue mir an, wer die Berechnung benutzt.",
		grep(`slot\.Expand`, "internal/api/free.go:40:\tfor _, s := range slot.Expand(hours, day) {\ninternal/export/nightly.go:63:\tslots := slot.Expand(hours, d)\ninternal/store/book.go:29:\tif !slices.Contains(slot.Expand(hours, day), want) {\n"))
	s.use("Ein Entwurf der Migration:",
		write("migrations/0014_slots.sql", "CREATE TABLE slots (\n  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,\n  room_id bigint NOT NULL REFERENCES rooms,\n  start timestamptz NOT NULL,\n  length interval NOT NULL,\n  UNIQUE (room_id, start)\n);\n"),
		fails(bash("psql -f migrations/0014_slots.sql", "ERROR:  syntax error at or near \"start\"\nLINE 4:   start timestamptz NOT NULL,\n")))
	s.say("Die Migration scheitert noch, und drei Stellen verlassen sich darauf, dass Änderungen der Öffnungszeiten sofort gelten. Mit einer Tabelle müssten wir die Slots bei jeder Änderung neu erzeugen. Soll ich trotzdem weitermachen?")
	left := s.leaf
	s.leaf = fork
	s.row("branch_summary", "fromId", left, "summary",
		"Tried to store slots in a table of their own (migrations/0014_slots.sql). Given up: opening hours change often, three callers expect changes at once, and the migration used a reserved word.")
	s.ask("Dann lassen wir das mit der Tabelle. Lösch bitte die Migration wieder und notiere den Grund in docs/decisions.md.")
	s.use("",
		bash("rm migrations/0014_slots.sql && git status --short", " M docs/decisions.md\n"),
		edit("docs/decisions.md", "## Open", "## Slots are computed\n\nA table of slots would have to be rebuilt with every change of opening hours.\n\n## Open"))
	s.say("Erledigt: Die Migration ist weg, und in `docs/decisions.md` steht, warum Slots berechnet bleiben.")
}

func rateLimits(s *story) {
	s.ask("Una clínica nos llama cada segundo con su propio cliente y deja sin servicio a las demás. ¿Podemos limitar por clave de API sin añadir Redis?")
	s.use("Miro dónde se comprueba la clave y si ya hay algún límite.",
		grep("X-Api-Key", "internal/api/auth.go:17:\tkey := r.Header.Get(\"X-Api-Key\")\n"),
		read("internal/api/auth.go", "func (a *API) authenticate(next http.Handler) http.Handler {\n\treturn http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {\n\t\tkey := r.Header.Get(\"X-Api-Key\")\n\t\tclinic, err := a.store.ClinicByKey(r.Context(), key)\n\t\tif err != nil {\n\t\t\thttp.Error(w, \"unknown key\", http.StatusUnauthorized)\n\t\t\treturn\n\t\t}\n\t\tnext.ServeHTTP(w, r.WithContext(withClinic(r.Context(), clinic)))\n\t})\n}\n"),
		bash("kubectl get deploy slotkeeper -o jsonpath='{.spec.replicas}'", "2"))
	s.say("Sí. Con dos réplicas basta un cubo de fichas en memoria por clave: el límite real será como mucho el doble del configurado, y eso es aceptable para proteger el servicio.\n\nPropongo 10 peticiones por segundo con ráfagas de 30, y `429` con `Retry-After`.")
	s.ask("De acuerdo, pero que la clínica de Málaga tenga 50 por segundo.")
	s.use("",
		write("internal/api/limit.go", "type limiter struct {\n\tmu      sync.Mutex\n\tbuckets map[string]*bucket\n\trates   map[string]float64 // por clave; las demás usan defaultRate\n\tnow     func() time.Time\n}\n\nconst (\n\tdefaultRate = 10 // peticiones por segundo\n\tburst       = 30\n)\n"),
		write("internal/api/limit_test.go", "func TestLimiterAnswers429(t *testing.T) {\n\tl := newLimiter(nil)\n\tfor range burst {\n\t\trequire.True(t, l.allow(\"a\"))\n\t}\n\trequire.False(t, l.allow(\"a\"))\n\trequire.True(t, l.allow(\"b\"), \"otra clave tiene su propio cubo\")\n}\n"),
		edit("deploy/values.yaml", "env: {}", "env:\n  RATE_LIMITS: \"malaga=50\""),
		bash("go test ./internal/api/", "ok  \tslotkeeper/internal/api\t0.31s\n"))
	s.say("Listo. Cada clave tiene su cubo, Málaga tiene 50 por segundo y las respuestas `429` llevan `Retry-After`. Las pruebas pasan.")
}

func doubleBooking(s *story) {
	s.ask("같은 시간에 예약이 두 번 잡힌 경우가 어제 세 건 있었어요. 재현할 수 있을까요?")
	s.use("예약을 저장하는 코드를 먼저 보겠습니다.",
		read("internal/store/book.go", "func (s *Store) Book(ctx context.Context, want slot.Slot, customer int64) error {\n\ttaken, err := s.taken(ctx, want)\n\tif err != nil {\n\t\treturn err\n\t}\n\tif taken {\n\t\treturn ErrTaken\n\t}\n\t_, err = s.db.Exec(ctx, insertBooking, want.Room, want.Start, customer)\n\treturn err\n}\n"),
		bash("psql -c '\\d bookings'", "            Table \"public.bookings\"\n   Column    |           Type           \n-------------+--------------------------\n id          | bigint\n room_id     | bigint\n start       | timestamp with time zone\n customer_id | bigint\nIndexes:\n    \"bookings_pkey\" PRIMARY KEY, btree (id)\n"))
	s.use("확인과 저장 사이에 틈이 있고, 유일성 제약도 없습니다. 동시에 예약하는 테스트를 작성해 보겠습니다.",
		write("internal/store/book_race_test.go", "func TestTwoCustomersCannotTakeOneSlot(t *testing.T) {\n\ts := open(t)\n\tvar wg sync.WaitGroup\n\tvar booked atomic.Int32\n\tfor i := range 20 {\n\t\twg.Go(func() {\n\t\t\tif s.Book(t.Context(), nine, int64(i)) == nil {\n\t\t\t\tbooked.Add(1)\n\t\t\t}\n\t\t})\n\t}\n\twg.Wait()\n\trequire.EqualValues(t, 1, booked.Load())\n}\n"),
		fails(bash("go test -race ./internal/store -run TwoCustomers", "--- FAIL: TestTwoCustomersCannotTakeOneSlot (0.06s)\n    book_race_test.go:14: not equal: expected 1, actual 4\nFAIL\n")))
	s.say("재현했습니다. 20명이 동시에 같은 시간을 예약하면 4명이 성공합니다. 방과 시작 시각에 유일성 제약을 추가하고, 제약 위반을 `ErrTaken`으로 바꾸면 됩니다.")
	s.ask("그렇게 해 주세요. 이미 겹친 예약은 지우지 말고 목록만 뽑아 주세요.")
	s.use("",
		write("migrations/0014_unique_slot.sql", "CREATE UNIQUE INDEX CONCURRENTLY bookings_slot ON bookings (room_id, start) WHERE cancelled_at IS NULL;\n"),
		edit("internal/store/book.go", "\treturn err\n}", "\tif isUniqueViolation(err) {\n\t\treturn ErrTaken\n\t}\n\treturn err\n}"),
		bash("psql -f reports/overlaps.sql", " room_id |         start          | bookings \n---------+------------------------+----------\n       3 | 2026-03-03 09:00:00+00 | {8812,8813}\n       3 | 2026-03-03 09:30:00+00 | {8820,8822}\n       7 | 2026-03-03 14:00:00+00 | {8901,8904}\n"),
		bash("go test -race ./internal/store -run TwoCustomers", "ok  \tslotkeeper/internal/store\t0.09s\n"))
	s.say("이제 한 명만 성공합니다. 겹친 예약은 세 건이고 그대로 두었습니다.\n\n- 3번 방 09:00 — 8812, 8813\n- 3번 방 09:30 — 8820, 8822\n- 7번 방 14:00 — 8901, 8904\n\n인덱스는 이 세 건을 정리한 뒤에야 만들 수 있습니다.")
}

func nightlyExport(s *story) {
	s.ask("Ночная выгрузка в бухгалтерию вчера не пришла. В журнале только «context deadline exceeded». Посмотри, пожалуйста.")
	s.use("Смотрю журнал и код выгрузки.",
		bash("kubectl logs job/export-20260304 | tail -4", "02:00:01 export started day=2026-03-03\n02:00:01 clinics=58\n02:05:01 export failed err=\"clinic 31: context deadline exceeded\"\n02:05:01 wrote 0 of 58 files\n"),
		read("internal/export/nightly.go", "func (e *Exporter) Run(ctx context.Context, day civil.Date) error {\n\tctx, cancel := context.WithTimeout(ctx, 5*time.Minute)\n\tdefer cancel()\n\tfor _, c := range e.clinics {\n\t\tif err := e.one(ctx, c, day); err != nil {\n\t\t\treturn fmt.Errorf(\"clinic %d: %w\", c.ID, err)\n\t\t}\n\t}\n\treturn e.publish(ctx)\n}\n"))
	s.use("Пять минут даются на все клиники сразу, и файлы публикуются только в конце. Проверю, сколько занимает клиника 31.",
		bash("slotctl export --clinic 31 --day 2026-03-03 --timing", "query 0.4s\nrender 0.1s\nupload 291.8s (remote throttled)\ntotal 292.3s\n"))
	s.say("Одна клиника (31) загружает файл почти пять минут: её сервер ограничивает скорость. Срок общий, поэтому остальные 57 тоже не получили ничего.\n\nПредлагаю дать каждой клинике свой срок, публиковать файлы по одному и в конце вернуть все ошибки вместе.")
	s.ask("Да, так и сделай. И пусть в журнале будет видно, кто не получил файл.")
	s.use("",
		edit("internal/export/nightly.go", "if err := e.one(ctx, c, day); err != nil {\n\t\t\treturn fmt.Errorf(\"clinic %d: %w\", c.ID, err)\n\t\t}", "if err := e.withDeadline(ctx, c, day); err != nil {\n\t\t\terrs = append(errs, fmt.Errorf(\"clinic %d: %w\", c.ID, err))\n\t\t}"),
		bash("go test ./internal/export/", "ok  \tslotkeeper/internal/export\t1.20s\n"))
	s.say("Готово. У каждой клиники свой срок в две минуты, ошибки собираются через `errors.Join` и попадают в журнал с номером клиники. Тесты проходят.")
	s.shell("git push origin main", "To git@git.example.com:slotkeeper.git\n   5d2e7b0..e4410c9  main -> main\n", false)
}
