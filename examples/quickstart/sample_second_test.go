package main

import "fmt"

// secondHalf begins with the compaction, leaves an idea without a word, and
// ends with a release.
func secondHalf(s *story) {
	s.startDay(5)
	handOver(s)
	webhooks(s)
	abandonedIdea(s)
	searchNames(s)
	flakyTest(s)
	s.startDay(6)
	smallModel(s)
	backups(s)
	release(s)
}

func handOver(s *story) {
	s.ask("Merci à tous. Avant de continuer : peux-tu résumer où nous en sommes pour Amélie, qui reprend le dossier ?")
	kept := s.leaf
	s.say("Bonjour Amélie. Voici l'état :\n\n1. Les créneaux d'été gardent leur heure locale (fuseaux mis en cache).\n2. La liste des réservations fait une seule requête.\n3. Les sujets des courriels sont encodés.\n4. Chaque clé d'API a sa limite de débit.\n5. L'index unique contre les doubles réservations attend que trois doublons soient réglés.\n6. L'export nocturne a un délai par clinique.")
	s.row("compaction",
		"summary", "## Goal\nKeep slotkeeper (a booking service in Go over PostgreSQL) correct before the clocks change on 29 March.\n\n## Done\n- Zone cache holds locations, not offsets (internal/slot/zone.go).\n- Booking list is one query; deleted customers show as （已删除）.\n- Mail subjects and senders are encoded (internal/mail/compose.go).\n- Badge in web/src/calendar.css has a row of its own; keep its aria-label.\n- Rate limit per API key in memory, Málaga 50/s.\n- Nightly export has a deadline per clinic.\n\n## Blocked\n- migrations/0014_unique_slot.sql waits for bookings 8812/8813, 8820/8822, 8901/8904.\n\n## Decisions\n- Slots stay computed (docs/decisions.md).",
		"firstKeptEntryId", kept, "tokensBefore", s.context/3,
		"details", object("readFiles", []string{"internal/slot/parse.go"}, "modifiedFiles", []string{"internal/mail/compose.go", "internal/slot/zone.go", "internal/store/list.go"}))
	s.row("custom", "customType", "slotkeeper.ci", "data", object("commit", "e4410c9", "state", "passed", "seconds", 101))
}

func webhooks(s *story) {
	s.ask("Parfait. Les webhooks arrivent parfois deux fois chez nos partenaires. Ils demandent un identifiant stable pour dédoublonner.")
	s.use("Je regarde comment l'événement est construit.",
		read("internal/hook/send.go", "type Event struct {\n\tKind    string    `json:\"kind\"`\n\tBooking int64     `json:\"booking\"`\n\tAt      time.Time `json:\"at\"`\n}\n\nfunc (s *Sender) Send(ctx context.Context, e Event) error {\n\te.At = s.now()\n\treturn retry.Do(ctx, 5, func() error { return s.post(ctx, e) })\n}\n"),
		grep(`Sender\.Send|hooks\.Send`, "internal/store/book.go:41:\ts.hooks.Send(ctx, hook.Event{Kind: \"booked\", Booking: id})\ninternal/store/cancel.go:22:\ts.hooks.Send(ctx, hook.Event{Kind: \"cancelled\", Booking: id})\n"),
		bash("grep -c 'webhook retry' /var/log/slotkeeper/today.log", "37\n"))
	s.think("The id must be made once, before the retries, and stored with the booking so that a restart does not make another. Deriving it from kind and booking id is stable without storage, but a booking can be cancelled and booked again... each has a new booking id, so kind+id is unique.",
		"Les doublons viennent des nouvelles tentatives (37 aujourd'hui). Un identifiant dérivé de `kind` et du numéro de réservation est stable sans rien stocker : une réservation n'est créée et annulée qu'une fois.\n\nJe l'ajoute dans l'en-tête `Idempotency-Key` et dans le corps ?")
	s.ask("Oui, les deux.")
	s.use("",
		edit("internal/hook/send.go", "type Event struct {", "type Event struct {\n\tID      string    `json:\"id\"`"),
		edit("internal/hook/send.go", "e.At = s.now()", "e.At = s.now()\n\te.ID = fmt.Sprintf(\"%s-%d\", e.Kind, e.Booking)"),
		bash("go test ./internal/hook/", "ok  \tslotkeeper/internal/hook\t0.05s\n"))
	s.say("C'est fait. L'identifiant est le même à chaque tentative, dans l'en-tête et dans le corps ; un test coupe la connexion après l'envoi et compare les deux requêtes.")
	s.message(object("role", "custom", "customType", "slotkeeper.reminder", "display", false,
		"content", "Three pairs of overlapping bookings are still open: 8812/8813, 8820/8822, 8901/8904."))
}

// abandonedIdea is a branch that a leaf row left without a summary.
func abandonedIdea(s *story) {
	back := s.leaf
	s.ask("What if we signed the webhooks with a key per partner while we are here?")
	s.use("Let me see what partners have in the database.",
		bash("psql -c 'SELECT count(*), count(secret) FROM partners'", " count | count \n-------+-------\n    23 |     0\n"))
	s.say("None of the 23 partners has a secret yet, so this needs a way to hand one out first. I'd make it a project of its own.")
	s.ask("Agreed, another time. Let's go back.")
	s.leaf = s.row("leaf", "targetId", back) // the row's id stands for its target
}

func searchNames(s *story) {
	s.ask("المواعيد لا تظهر عند البحث عن اسم «أحمد» إذا كُتب بدون همزة «احمد». هل يمكن إصلاح ذلك؟")
	s.use("سأتحقق من طريقة البحث الحالية.",
		read("internal/store/search.go", "const searchQuery = `SELECT id, name FROM customers WHERE lower(name) LIKE lower($1) || '%' LIMIT 20`\n"),
		bash("psql -c \"SELECT name FROM customers WHERE name LIKE '%حمد%'\"", "  name   \n---------\n أحمد علي\n احمد سالم\n آحمد نور\n"))
	s.say("البحث يقارن الحروف كما هي، فالألف بهمزة تختلف عن الألف بدونها. أقترح تخزين صيغة موحّدة للاسم (بلا همزات وتشكيل) في عمود مستقل والبحث فيها.")
	s.ask("जी, और हिंदी नामों में भी यही दिक्कत है: «ज़ैनब» लिखने पर «जैनब» नहीं मिलती. दोनों साथ में ठीक कर दीजिए.")
	s.use("नुक़्ता और हमज़ा दोनों को एक ही जगह हटाना होगा।",
		write("internal/store/fold.go", "// fold makes names comparable: case, marks and the carriers of hamza are dropped.\nfunc fold(name string) string {\n\tout := make([]rune, 0, len(name))\n\tfor _, r := range norm.NFKD.String(strings.ToLower(name)) {\n\t\tif unicode.Is(unicode.Mn, r) {\n\t\t\tcontinue\n\t\t}\n\t\tout = append(out, r)\n\t}\n\treturn norm.NFC.String(string(out))\n}\n"),
		write("internal/store/fold_test.go", "func TestFold(t *testing.T) {\n\tfor _, pair := range [][2]string{\n\t\t{\"أحمد\", \"احمد\"}, {\"آحمد\", \"احمد\"}, {\"ज़ैनब\", \"जैनब\"}, {\"Müller\", \"muller\"}, {\"Łukasz\", \"łukasz\"},\n\t} {\n\t\trequire.Equal(t, fold(pair[0]), fold(pair[1]))\n\t}\n\trequire.NotEqual(t, fold(\"सुमन\"), fold(\"समन\"))\n}\n"),
		fails(bash("go test ./internal/store -run TestFold", "--- FAIL: TestFold (0.00s)\n    fold_test.go:9: should not be: \"समन\"\nFAIL\n")))
	s.use("मात्राएँ भी हट रही थीं: देवनागरी में सिर्फ़ नुक़्ता (U+093C) हटाना है।",
		edit("internal/store/fold.go", "if unicode.Is(unicode.Mn, r) {", "if r == nukta || unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Devanagari, r) {"),
		bash("go test ./internal/store -run TestFold", "ok  \tslotkeeper/internal/store\t0.02s\n"),
		write("migrations/0015_folded_names.sql", "ALTER TABLE customers ADD COLUMN folded text;\nCREATE INDEX customers_folded ON customers (folded text_pattern_ops);\n"))
	s.say("दोनों ठीक हो गए: «أحمد» और «احمد», «ज़ैनब» और «जैनब» एक ही खोज में मिलते हैं। मात्राएँ बनी रहती हैं। माइग्रेशन 0015 नया कॉलम जोड़ती है; पुराने नाम अगली रात भरे जाएँगे।")
}

func flakyTest(s *story) {
	s.ask("TestReminderGoesOut fails about one run in thirty on CI. I'd rather not add another retry.")
	failed := "--- FAIL: TestReminderGoesOut (0.25s)\n    remind_test.go:31: no mail after 250ms\n"
	s.use("Let me catch it first.",
		fails(bash("go test ./internal/remind -run GoesOut -count 60 -failfast", failed+"FAIL\n")),
		read("internal/remind/remind_test.go", "func TestReminderGoesOut(t *testing.T) {\n\tr := New(mailbox, 200*time.Millisecond)\n\tgo r.Loop(t.Context())\n\ttime.Sleep(250 * time.Millisecond)\n\trequire.Len(t, mailbox.Sent(), 1)\n}\n"))
	s.use("It races the clock: 50 ms of slack on a busy machine. In a bubble of testing/synctest the clock only moves when everybody waits.",
		edit("internal/remind/remind_test.go", "\tgo r.Loop(t.Context())\n\ttime.Sleep(250 * time.Millisecond)\n\trequire.Len(t, mailbox.Sent(), 1)", "\tsynctest.Test(t, func(t *testing.T) {\n\t\tgo r.Loop(t.Context())\n\t\ttime.Sleep(200 * time.Millisecond)\n\t\tsynctest.Wait()\n\t\trequire.Len(t, mailbox.Sent(), 1)\n\t})"),
		bash("go test ./internal/remind -run GoesOut -count 2000", "ok  \tslotkeeper/internal/remind\t0.61s\n"))
	s.say("2000 runs without a failure, in 0.6 s: the test no longer waits for real time, so it can't be late.")
	s.message(append(s.assistant("error"), object("errorMessage", "503: the model is overloaded")...))
}

// smallModel continues with a model that numbers its calls from zero every time.
func smallModel(s *story) {
	s.selectModel("atlas-small")
	s.row("thinking_level_change", "thinkingLevel", "off")
	s.ask("请把 docs 目录里过期的链接都找出来，按文件列一下。")
	files := []string{"docs/api.md", "docs/deploy.md", "docs/decisions.md", "docs/webhooks.md", "docs/zones.md"}
	s.use("逐个检查。", toolUse{
		name: "grep", arguments: object("pattern", `\]\([^)]+\)`, "path", "docs"),
		result: "docs/api.md: 14 links\ndocs/deploy.md: 9 links\ndocs/decisions.md: 3 links\ndocs/webhooks.md: 6 links\ndocs/zones.md: 2 links\n",
	})
	for i, name := range files {
		missing := "无失效链接\n"
		if i%2 == 0 {
			missing = fmt.Sprintf("失效: ./old/%d.md（第 %d 行）\n", i, 12+7*i)
		}
		s.use("", bash("linkcheck "+name, missing))
	}
	s.say("共 34 个链接，3 个失效：\n\n- docs/api.md 第 12 行 ./old/0.md\n- docs/decisions.md 第 26 行 ./old/2.md\n- docs/zones.md 第 40 行 ./old/4.md")
	s.ask("这三个都指向旧目录，直接删掉链接、保留文字。")
	s.use("",
		edit("docs/api.md", "[旧接口](./old/0.md)", "旧接口"),
		edit("docs/decisions.md", "[之前的讨论](./old/2.md)", "之前的讨论"),
		edit("docs/zones.md", "[时区表](./old/4.md)", "时区表"))
	s.use("", bash("linkcheck docs", "31 links, 0 broken\n"))
	s.say("三处都已改成纯文字，再检查一遍：31 个链接，全部有效。")
	s.row("presence", "user", "amelie", "state", "away") // of a later version: kept, not understood
}

func backups(s *story) {
	s.selectModel("atlas-large")
	s.ask("バックアップから戻せるか、誰も試していないと思います。手元で一度やってみてもらえますか。")
	s.use("最新のバックアップを別のデータベースに戻してみます。",
		bash("ls -1 backups | tail -3", "2026-03-04.dump\n2026-03-05.dump\n2026-03-06.dump\n"),
		bash("createdb restore_test && pg_restore -d restore_test backups/2026-03-06.dump", "pg_restore: processing data for table \"bookings\"\npg_restore: processing data for table \"customers\"\n"),
		bash("psql restore_test -c 'SELECT (SELECT count(*) FROM bookings), (SELECT count(*) FROM customers), (SELECT count(*) FROM rooms)'", " count  | count | count \n--------+-------+-------\n 418220 | 51877 |     0\n"))
	s.use("`rooms` が空です。バックアップの設定を確認します。",
		read("deploy/backup.sh", "#!/bin/sh\nset -eu\npg_dump -Fc -T 'room*' \"$DATABASE\" > \"backups/$(date +%F).dump\"\n"),
		bash("git log -1 --format=%s -S\"room*\" -- deploy/backup.sh", "backup: leave out room_events, it is huge\n"))
	s.say("戻せますが、**rooms テーブルが入っていません**。`room_events` を除外するための `-T 'room*'` が `rooms` も外しています。\n\n`-T room_events` に直せば済みます。今のバックアップでは部屋の情報は復元できません。")
	s.ask("危ないところでした。すぐ直して、復元の試験を毎週回してください。")
	s.use("",
		edit("deploy/backup.sh", "-T 'room*'", "-T room_events"),
		write("deploy/restore-check.sh", "#!/bin/sh\nset -eu\ndropdb --if-exists restore_test\ncreatedb restore_test\npg_restore -d restore_test \"$(ls -1 backups/*.dump | tail -1)\"\nfor table in bookings customers rooms; do\n  test \"$(psql -At restore_test -c \"SELECT count(*) > 0 FROM $table\")\" = t\ndone\n"),
		edit("deploy/cron.yaml", "jobs:", "jobs:\n  - name: restore-check\n    schedule: \"0 4 * * 0\"\n    command: deploy/restore-check.sh"),
		bash("sh deploy/backup.sh && sh deploy/restore-check.sh && echo ok", "ok\n"))
	checked := s.say("直しました。新しいバックアップで復元し、三つのテーブルに行があることを確かめています。毎週日曜 4 時に同じ確認が走ります。")
	s.row("label", "targetId", checked, "label", "backup-fix")
	s.row("label", "targetId", checked)
}

func release(s *story) {
	s.shell("date", "Fri Mar  6 16:40:12 UTC 2026\n", true)
	s.show("Friday check before the release: the calendar of next week looks right to me. You?", calendar(0, 2, 3))
	s.use("I'll compare it with the database.",
		bash("slotctl bookings --week 2026-W11 --count", "mon 31\ntue 0\nwed 28\nthu 30\nfri 0\nsat 0\nsun 0\n"),
		bash("go vet ./... && go test -race ./...", "ok  \tslotkeeper/internal/api\t0.55s\nok  \tslotkeeper/internal/export\t1.31s\nok  \tslotkeeper/internal/hook\t0.11s\nok  \tslotkeeper/internal/mail\t0.02s\nok  \tslotkeeper/internal/remind\t0.02s\nok  \tslotkeeper/internal/slot\t0.03s\nok  \tslotkeeper/internal/store\t0.88s\n"))
	s.say("It matches: Monday, Wednesday and Thursday have bookings, the other days none. Tests pass with the race detector. One thing is open: the unique index waits for the three overlapping pairs, 8812/8813, 8820/8822 and 8901/8904.")
	s.side("custom", "customType", "slotkeeper.ci", "data", object("commit", "a90cc17", "state", "running"))
	s.ask("Priya rang the three clinics, the duplicates are cancelled. 请创建索引，然后发布 v2.4.0。")
	s.use("Checking that nothing overlaps any more, then the index.",
		bash("psql -f reports/overlaps.sql", "(0 rows)\n"),
		bash("psql -f migrations/0014_unique_slot.sql", "CREATE INDEX\n"))
	s.use("",
		bash("git tag v2.4.0 && git push origin v2.4.0", " * [new tag]         v2.4.0 -> v2.4.0\n"))
	s.say("索引已创建，没有重叠的预约。v2.4.0 is tagged and pushed; the deployment starts by itself. 🎉")
}
