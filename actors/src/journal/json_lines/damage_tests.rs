use bytes::Bytes;

use super::super::testing::*;
use super::super::{Durability, JournalDamage, JournalEntry, PageLimit, Record, header_line, line};
use super::simulated::SimulatedDisk;
use super::*;
use crate::journal::line::Seal;

fn store_on(disk: &SimulatedDisk) -> JsonLinesStore {
    let disk = Arc::new(disk.clone());
    JsonLinesStore::new("/c".into(), "/t".into(), disk, Clock::system())
}

fn path(name: &str) -> PathBuf {
    PathBuf::from(format!("/c/{name}.jsonl"))
}

fn open(store: &JsonLinesStore, name: &str) -> Arc<dyn Journal> {
    wait(store.open(&id(name))).unwrap()
}

const PROMPTS: [&str; 6] = [
    "one",
    "two {\"seq\":9,",
    "three\n",
    "vier ä😀",
    "five",
    "six",
];

/// The lines of a journal: its header and six prompts.
fn lines() -> Vec<Vec<u8>> {
    let header = header("a");
    let mut lines = vec![header_line::encode(&header).unwrap()];
    for (seq, text) in (1..).zip(PROMPTS) {
        let mut line = Vec::new();
        line::encode(&prompt(text), seq, Seal::new(header.epoch), &mut line).unwrap();
        lines.push(line);
    }
    lines
}

/// The content of a journal's damage file.
fn set_aside(disk: &SimulatedDisk, name: &str) -> Vec<Vec<u8>> {
    let path = PathBuf::from(format!("/c/{name}.damaged"));
    let content = disk.content(&path).unwrap_or_default();
    let bytes = |line: &[u8]| {
        let part: serde_json::Value = serde_json::from_slice(line).unwrap();
        let hex = part["hex"].as_str().unwrap();
        let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
        (0..hex.len()).step_by(2).map(byte).collect()
    };
    content
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(bytes)
        .collect()
}

/// Spec: [JRNL-08] [JRNL-09] [JRNL-10]
#[test]
fn a_journal_cut_anywhere_keeps_its_whole_records_and_goes_on() {
    let disk = SimulatedDisk::default();
    let store = store_on(&disk);
    let lines = lines();
    let whole = lines.concat();
    let last_three = whole.len() - lines[4..].concat().len();
    let mut random = fastrand::Rng::with_seed(3);
    let cuts = (last_three..=whole.len()).chain((0..2000).map(|_| random.usize(..whole.len())));
    for (number, cut) in cuts.enumerate() {
        let name = format!("cut{number}");
        disk.put(&path(&name), &whole[..cut]);
        if cut < lines[0].len() - 1 {
            let refused = wait(store.open(&id(&name))).err().unwrap();
            assert!(matches!(refused, OpenError::Unreadable { .. }), "{refused}");
            continue;
        }
        // A record is whole without its line break.
        let mut end = lines[0].len();
        let mut expected = Vec::new();
        let mut torn = &whole[end.min(cut)..cut];
        for (line, text) in lines[1..].iter().zip(PROMPTS) {
            end += line.len();
            if cut + 1 >= end {
                expected.push(text);
                torn = &whole[end.min(cut)..cut];
            }
        }
        let journal = open(&store, &name);
        assert_eq!(prompts(&journal), expected, "cut at {cut}");
        assert_eq!(disk.content(&path(&name)).unwrap(), &whole[..cut]);
        say(&journal, "next", Durability::Written).unwrap();
        expected.push("next");
        assert_eq!(prompts(&journal), expected, "cut at {cut}");
        let aside = set_aside(&disk, &name);
        let expected_aside: Vec<&[u8]> = (!torn.is_empty()).then_some(torn).into_iter().collect();
        assert_eq!(aside, expected_aside, "cut at {cut}");
        assert_eq!(wait(journal.check()).unwrap().bytes, torn.len() as u64);
        let content = disk.content(&path(&name)).unwrap();
        let kept = &whole[..cut - torn.len()];
        assert!(content.starts_with(kept) && content.ends_with(b"\n"));
        drop(journal);
        assert_eq!(prompts(&open(&store, &name)), expected, "cut at {cut}");
    }
}

/// Spec: [JRNL-11] [JRNL-12]
#[test]
fn damaged_lines_are_left_out_and_copied_once() {
    let lines = lines();
    let half = &lines[2][..20];
    let other_epoch = self::lines()[2].clone();
    let mut wrong_sum = lines[2].clone();
    wrong_sum[30] ^= 1;
    let surrogate = br#"{"seq":2,"at":1,"type":"renamed","data":{"title":"\ud800"}}"#;
    let no_record = br#"{"seq":2,"at":1,"data":{}}"#;
    for damaged in [
        b"garbage".to_vec(),
        vec![0; 5000],
        b"\xff\xfe{}".to_vec(),
        surrogate.to_vec(),
        no_record.to_vec(),
        other_epoch.trim_ascii_end().to_vec(),
        wrong_sum.trim_ascii_end().to_vec(),
        lines[1].trim_ascii_end().to_vec(),
        [half, lines[2].trim_ascii_end(), b"tail"].concat(),
    ] {
        let disk = SimulatedDisk::default();
        let content = [
            &lines[..2].concat(),
            &damaged[..],
            b"\r\n\n",
            &lines[3..].concat(),
        ]
        .concat();
        disk.put(&path("a"), &content);
        let expected = [&PROMPTS[..1], &PROMPTS[2..]].concat();
        for _ in 0..2 {
            let store = store_on(&disk);
            let journal = open(&store, "a");
            assert_eq!(prompts(&journal), expected);
            let damage = JournalDamage {
                parts: 1,
                bytes: damaged.len() as u64 + 2,
                file: "/c/a.damaged".to_owned(),
            };
            for _ in 0..2 {
                assert_eq!(wait(journal.check()), Ok(damage.clone()));
                assert_eq!(set_aside(&disk, "a"), [[&damaged[..], b"\r\n"].concat()]);
            }
        }
        assert_eq!(disk.content(&path("a")).unwrap(), content);
    }
}

/// Spec: [JRNL-11]
#[test]
fn a_whole_record_behind_a_torn_one_is_kept() {
    let lines = lines();
    for torn in [
        &b"\0\0\0\0"[..],
        &lines[2][..40],
        &lines[1][..lines[1].len() - 1],
    ] {
        let disk = SimulatedDisk::default();
        let (start, rest) = (lines[..3].concat(), lines[3..].concat());
        disk.put(&path("a"), &[&start, torn, &rest].concat());
        disk.put(
            &path("b"),
            &[&start, torn, lines[3].trim_ascii_end()].concat(),
        );
        let store = store_on(&disk);
        assert_eq!(prompts(&open(&store, "a")), PROMPTS);
        let journal = open(&store, "b");
        say(&journal, "next", Durability::Written).unwrap();
        assert_eq!(prompts(&journal), [&PROMPTS[..3], &["next"]].concat());
        assert_eq!(wait(journal.check()).unwrap().bytes, torn.len() as u64);
        assert_eq!(set_aside(&disk, "b"), [torn]);
    }
}

/// Spec: [JRNL-07]
#[test]
fn flipped_bits_never_change_what_was_said() {
    let whole = lines().concat();
    for flips in [1, 3, 40] {
        let disk = SimulatedDisk::default();
        let store = store_on(&disk);
        let mut random = fastrand::Rng::with_seed(20);
        for number in 0..1000 {
            let mut flipped = whole.clone();
            for _ in 0..flips {
                let at = random.usize(..whole.len());
                flipped[at] ^= 1 << random.u8(..8);
            }
            let name = format!("flip{number}");
            disk.put(&path(&name), &flipped);
            let Ok(journal) = wait(store.open(&id(&name))) else {
                continue;
            };
            let mut said = PROMPTS.iter();
            for prompt in prompts(&journal) {
                assert!(
                    said.any(|known| *known == prompt),
                    "{flips} flips, case {number}"
                );
            }
            wait(journal.check()).unwrap();
        }
    }
}

/// Spec: [JRNL-14] [JRNL-15]
#[test]
fn what_a_newer_version_wrote_is_kept_or_refused() {
    let lines = lines();
    let seal = Seal::new(header_line::decode(&lines[0]).unwrap().epoch);
    let mut later =
        br#"{"seq":2,"at":7,"type":"later","data":{"a":[1.0,"x"]},"also":"this"}"#.to_vec();
    let json = Bytes::from(later.clone());
    seal.close(&mut later, 0);
    let disk = SimulatedDisk::default();
    disk.put(
        &path("a"),
        &[&lines[0], &lines[1], &later].map(Vec::as_slice).concat(),
    );
    let store = store_on(&disk);
    let journal = open(&store, "a");
    let read = everything(&journal);
    let Record::Unknown { kind, data } = &read[1].record else {
        panic!("{read:?}");
    };
    assert_eq!((kind.as_str(), data.get()), ("later", r#"{"a":[1.0,"x"]}"#));
    assert_eq!((&read[1].json, read[1].at), (&json, 7));
    let kept: Vec<Bytes> = read
        .into_iter()
        .map(|entry: JournalEntry| entry.json)
        .collect();
    wait(journal.replace(2, header("a"), kept)).unwrap();
    assert_eq!(everything(&journal)[1].json, json);

    let newer = String::from_utf8(lines[0].clone())
        .unwrap()
        .replace("\"version\":1", "\"version\":3");
    disk.put(&path("b"), newer.as_bytes());
    let refused = wait(store.open(&id("b"))).err().unwrap();
    let path = "/c/b.jsonl".to_owned();
    assert_eq!(refused, OpenError::Newer { path, version: 3 });
    assert_eq!(disk.content(&self::path("b")).unwrap(), newer.as_bytes());
}

/// Spec: [JRNL-16]
#[test]
fn odd_files_have_a_defined_meaning() {
    let lines = lines();
    let crlf = |line: &Vec<u8>| [line.trim_ascii_end(), b"\r\n"].concat();
    let long = "x".repeat(50 << 20);
    let mut long_line = Vec::new();
    let seal = Seal::new(header_line::decode(&lines[0]).unwrap().epoch);
    line::encode(&prompt(&long), 2, seal, &mut long_line).unwrap();
    let bare = br#"{"seq":5,"at":1,"type":"prompt","data":{"run":1,"content":"by hand"}}"#;
    let header_only = lines[0].trim_ascii_end();
    let cases: [(Vec<u8>, &[&str]); 7] = [
        (lines[0].clone(), &[]),
        (header_only.to_vec(), &[]),
        (
            lines.iter().map(crlf).collect::<Vec<_>>().concat(),
            &PROMPTS,
        ),
        ([b"\xef\xbb\xbf", &lines.concat()[..]].concat(), &PROMPTS),
        (lines.join(&b"\n \n\r\n"[..]), &PROMPTS),
        (
            [&lines[0], &lines[1], &long_line]
                .map(Vec::as_slice)
                .concat(),
            &["one", &long],
        ),
        (
            [&lines[..2].concat(), &bare[..]].concat(),
            &["one", "by hand"],
        ),
    ];
    for (number, (content, expected)) in cases.into_iter().enumerate() {
        let disk = SimulatedDisk::default();
        disk.put(&path("a"), &content);
        let store = store_on(&disk);
        let journal = open(&store, "a");
        let read = prompts(&journal);
        assert!(read == expected, "case {number}: {} records", read.len());
        assert!(wait(journal.check()).unwrap().is_none());
        assert!(
            disk.content(&path("a")).unwrap() == content,
            "case {number}"
        );
        say(&journal, "next", Durability::Synced).unwrap();
        assert!(
            prompts(&journal).ends_with(&["next".to_owned()]),
            "case {number}"
        );
        drop(journal);
        assert_eq!(
            open(&store, "a").end().seq,
            u64::try_from(expected.len())
                .unwrap()
                .max(if number == 6 { 5 } else { 0 })
                + 1
        );
    }
    for bad in [
        "",
        "\n",
        "{}",
        "{\"format\":\"harness-jour",
        "\0\0\0",
        "{\"format\":\"x\",\"version\":1}",
    ] {
        let disk = SimulatedDisk::default();
        disk.put(&path("a"), bad.as_bytes());
        let store = store_on(&disk);
        let refused = wait(store.open(&id("a"))).err().unwrap();
        assert!(
            matches!(refused, OpenError::Unreadable { .. }),
            "{bad}: {refused}"
        );
        let refused = wait(store.open_or_new(header("a"))).err().unwrap();
        assert!(
            matches!(refused, OpenError::Unreadable { .. }),
            "{bad}: {refused}"
        );
        assert_eq!(disk.content(&path("a")).unwrap(), bad.as_bytes());
    }
}

/// Spec: [JRNL-11]
#[test]
fn a_search_by_number_finds_every_record_between_damage() {
    let header = header("a");
    let seal = Seal::new(header.epoch);
    let mut random = fastrand::Rng::with_seed(7);
    let mut content = header_line::encode(&header).unwrap();
    let mut numbers = Vec::new();
    for seq in 1..=3000 {
        if random.u8(..10) == 0 {
            content.extend(vec![b'#'; random.usize(1..9000)]);
            content.push(b'\n');
        } else {
            let text = "y".repeat(random.usize(..300));
            line::encode(&prompt(&text), seq, seal, &mut content).unwrap();
            numbers.push(seq);
        }
    }
    let disk = SimulatedDisk::default();
    disk.put(&path("a"), &content);
    let store = store_on(&disk);
    let journal = open(&store, "a");
    for after in (0..3001).step_by(13) {
        let limit = PageLimit {
            records: 1,
            bytes: 0,
        };
        let page = wait(journal.read(after, limit)).unwrap();
        let next = numbers.iter().find(|&&seq| seq > after);
        assert_eq!(page.entries.first().map(|entry| &entry.position.seq), next);
    }
}
