//! Queries: what they find, in which order, and that no text makes them fail.

use proptest::prelude::*;
use xcsh_session::Error;

use crate::*;

#[test]
fn words_match_as_prefixes_and_all_must_match() {
    let dir = Dir::new();
    let history = dir.open();
    add_all(&history, &["Fix the parser", "parse fixtures", "unparsed", "fix parsers, PARSE fixed"]);
    assert_eq!(found(&history, "parse"), ["fix parsers, PARSE fixed", "parse fixtures", "Fix the parser"]);
    assert_eq!(found(&history, "fix pars"), ["fix parsers, PARSE fixed", "parse fixtures", "Fix the parser"]);
    assert_eq!(found(&history, "the parser"), ["Fix the parser"]);
    assert_eq!(found(&history, "parse nothing"), [""; 0]);
    assert_eq!(found(&history, "PARSED"), [""; 0]);
    assert_eq!(found(&history, " \t\n\u{3000}"), [""; 0]);
    assert_eq!(history.search("parse", 2).unwrap().len(), 2);
    assert_eq!(history.search("parse", 0).unwrap().len(), 0);
}

#[test]
fn text_without_word_boundaries_is_found_as_substring() {
    let dir = Dir::new();
    let history = dir.open();
    let prompts = [
        "请修复登录页面的错误",
        "ログイン画面のバグを直して",
        "로그인화면버그를 고쳐줘",
        "use Go or C",
        "перепиши ТЕСТЫ",
    ];
    add_all(&history, &prompts);
    for (text, prompt) in [
        ("登录", 0),
        ("录页面", 0),
        ("错误", 0),
        ("的", 0),
        ("画面", 1),
        ("バグ", 1),
        ("のバグを", 1),
        ("화면", 2),
        ("그를 고", 2),
        ("go", 3),
        ("C", 3),
        ("se", 3),
        ("тес", 4),
        ("ПИ", 4),
        ("修复 页面", 0),
    ] {
        assert_eq!(found(&history, text), [prompts[prompt]], "{text}");
    }
    assert_eq!(found(&history, "登录 缺席"), [""; 0]);
}

#[test]
fn punctuation_is_text_and_never_syntax() {
    let dir = Dir::new();
    let history = dir.open();
    let prompts = [
        "a multi-agent setup",
        "don't stop",
        "either a/b or c",
        "say \"hello\" to her",
        "set foo:bar now",
        "this AND that",
        "rm *.o",
        "use NEAR(x y)",
        "port to C++ today",
        "nul\0inside",
        "emoji 🦀 only",
        "caf\u{e9} au lait",
    ];
    add_all(&history, &prompts);
    for (text, prompt) in [
        ("multi-agent", 0),
        ("MULTI-AG", 0),
        ("i-agent", 0),
        ("don't", 1),
        ("a/b", 2),
        ("\"", 3),
        ("\"hello\" her", 3),
        ("foo:bar", 4),
        ("AND", 5),
        ("*", 6),
        ("*.o rm", 6),
        ("NEAR(", 7),
        ("near(x", 7),
        ("C++", 8),
        ("\0", 9),
        ("l\0in", 9),
        ("🦀", 10),
        ("CAFÉ", 11),
        ("cafe", 11),
    ] {
        assert_eq!(found(&history, text), [prompts[prompt]], "{text:?}");
    }
    for nothing in
        ["multi agent-", "a//b", "\"\"", "foo:", "NOT OR", "\u{300}", "-", "^set", "{foo}", "prompt:rm", "(", "\\"]
    {
        let expected = match nothing {
            "foo:" => vec!["set foo:bar now"],
            "-" => vec!["a multi-agent setup"],
            "(" => vec!["use NEAR(x y)"],
            _ => vec![],
        };
        assert_eq!(found(&history, nothing), expected, "{nothing:?}");
    }
}

#[test]
fn a_megabyte_of_query_is_an_ordinary_query() {
    let dir = Dir::new();
    let history = dir.open();
    let long = "x".repeat(1 << 20);
    let many: String = (0..150_000).map(|n| format!("w{n} ")).collect();
    let punctuated = "a-".repeat(1 << 19);
    let wide = "漢".repeat(1 << 18);
    for text in [&long, &many, &punctuated, &wide] {
        assert_eq!(found(&history, text), [""; 0]);
        add_all(&history, &[text.trim()]);
        assert!(found(&history, text) == [text.trim()]);
        assert!(found(&history, &text.to_uppercase()) == [text.trim()]);
    }
    assert_eq!(found(&history, &(long + "y")), [""; 0]);
    assert_eq!(found(&history, &format!("absent {many}")), [""; 0]);
}

#[test]
fn newest_first_by_time_and_then_by_id() {
    let dir = Dir::new();
    let history = dir.open();
    dir.sql()
        .execute_batch(
            "INSERT INTO history(prompt, created_at) VALUES
             ('word b', 200), ('word e', 300), ('word c', 200), ('word a', 100), ('word d', 200)",
        )
        .unwrap();
    let newest_first = ["word e", "word d", "word c", "word b", "word a"];
    assert_eq!(recent(&history), newest_first);
    for text in ["word", "wo", "rd word", "-"] {
        let expected: &[&str] = if text == "-" { &[] } else { &newest_first };
        assert_eq!(found(&history, text), expected, "{text}");
    }
    let two: Vec<_> = history.search("wo", 2).unwrap().into_iter().map(|entry| entry.prompt).collect();
    assert_eq!(two, newest_first[..2]);
}

#[test]
fn limits_are_clamped() {
    let dir = Dir::new();
    let history = dir.open();
    for n in 0..1100 {
        history.add(&format!("prompt {n}"), None).unwrap();
    }
    history.flush().unwrap();
    assert_eq!(history.get_recent(0).unwrap(), []);
    assert_eq!(history.get_recent(3).unwrap().len(), 3);
    assert_eq!(history.get_recent(usize::MAX).unwrap().len(), 1000);
    assert_eq!(history.search("prompt", usize::MAX).unwrap().len(), 1000);
    assert_eq!(history.search("pr", usize::MAX).unwrap().len(), 1000);
    assert_eq!(history.get_recent(1).unwrap()[0].prompt, "prompt 1099");
}

#[test]
fn a_closed_history_says_so() {
    let dir = Dir::new();
    let history = dir.open();
    history.add("kept", Some("/w")).unwrap();
    history.close().unwrap();
    history.close().unwrap();
    history.flush().unwrap();
    assert!(matches!(history.add("late", None), Err(Error::Closed)));
    assert!(matches!(history.get_recent(1), Err(Error::Closed)));
    assert!(matches!(history.search("kept", 1), Err(Error::Closed)));
    assert_eq!(recent(&dir.open()), ["kept"]);
}

/// The documented meaning, for ASCII.
fn matches(prompt: &str, word: &str) -> bool {
    let (prompt, word) = (prompt.to_ascii_lowercase(), word.to_ascii_lowercase());
    if word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        prompt.split(|c: char| !c.is_ascii_alphanumeric()).any(|token| token.starts_with(&word))
    } else {
        prompt.contains(&word)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_can_be_searched_and_finds_itself(texts in prop::collection::vec(any::<String>(), 1..8), joint in " |-|\0|\"|") {
        static STORE: std::sync::LazyLock<(Dir, HistoryStorage)> = std::sync::LazyLock::new(|| {
            let dir = Dir::new();
            let history = dir.open();
            (dir, history)
        });
        let history = &STORE.1;
        let text = texts.join(&joint);
        history.search(&text, 10).unwrap();
        history.add(&text, Some("/w")).unwrap();
        history.flush().unwrap();
        let kept = text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if !kept.is_empty() {
            let newest = history.search(kept, 1).unwrap();
            prop_assert_eq!(newest.first().map(|entry| entry.prompt.as_str()), Some(kept));
            for word in kept.split_whitespace() {
                let newest = history.search(word, 1).unwrap();
                prop_assert_eq!(newest.first().map(|entry| entry.prompt.as_str()), Some(kept), "{:?}", word);
            }
        }
    }

    #[test]
    fn results_are_those_of_the_documented_rule(
        prompts in prop::collection::vec("[abAB.'-]{1,5}( [abAB.'-]{1,5}){0,2}", 1..12),
        query in "[abAB.'-]{1,4}( [abAB.'-]{1,4}){0,2}",
    ) {
        let dir = Dir::new();
        let history = dir.open();
        let prompts: Vec<&str> = prompts.iter().map(String::as_str).collect();
        add_all(&history, &prompts);
        let expected: Vec<String> = recent(&history)
            .into_iter()
            .filter(|prompt| query.split(' ').all(|word| matches(prompt, word)))
            .collect();
        prop_assert_eq!(found(&history, &query), expected.clone());
        // The same words give the same prompts where there is no index.
        drop(history);
        dir.sql().execute_batch("DROP TRIGGER history_ai; DROP TABLE history_fts; CREATE TABLE history_fts(mine)").unwrap();
        prop_assert_eq!(found(&dir.open(), &query), expected);
        prop_assert_eq!(text(&dir.sql(), "SELECT count(*) FROM history_fts"), "0");
    }
}
