//! One property each, by hand.

use super::super::refs::{BlobMention, reference_hash};
use super::super::{blob_refs, persist_form, resolve_blobs, resolve_message_blobs};
use super::{Blobs, Limits, base64, full_disk};

const NOTICE: &str = r"\n\n[Session persistence truncated large content]";
/// Room for the notice and for [`KEPT`] more.
const SMALL: Limits = Limits { max_chars: 47 + KEPT, min_image: 16 };
const KEPT: usize = 33;

fn persisted(line: &str) -> String {
    let form = Blobs::default().persist_within(line.as_bytes(), SMALL);
    form.map_or_else(|| line.to_owned(), |form| String::from_utf8(form).unwrap())
}

fn image(data: &str) -> String {
    format!(r#"{{"type":"message","message":{{"content":[{{"type":"image","data":"{data}"}}]}}}}"#)
}

#[test]
fn only_the_places_that_must_change_do() {
    let long = "z".repeat(90);
    let line = format!(
        r#" {{"a" : 1e400 ,"b":"\ud83d\u00e9","c": "{long}" , "c":-0, "partialJson":{{"c":"{long}"}} ,"d":[ ]}} "#
    );
    let expected =
        format!(r#" {{"a" : 1e400 ,"b":"\ud83d\u00e9","c": "{}{NOTICE}" , "c":-0, "d":[ ]}} "#, "z".repeat(KEPT));
    assert_eq!(persisted(&line), expected);
}

#[test]
fn transient_members_go_with_the_right_comma() {
    for (line, expected) in [
        (r#"{"partialJson":1}"#, r#"{}"#),
        (r#"{"partialJson":1,"jsonlEvents":[{}],"partialJson":2}"#, r#"{}"#),
        (r#"{ "partialJson":1 , "a":1 }"#, r#"{ "a":1 }"#),
        (r#"{"a":1 , "partialJson":1 }"#, r#"{"a":1 }"#),
        (r#"{"a":[1,{}],"partialJson":1,"jsonlEvents":2}"#, r#"{"a":[1,{}]}"#),
        (r#"{"partialJson":1,"a":1,"jsonlEvents":2,"b":2,"partialJson":3}"#, r#"{"a":1,"b":2}"#),
        (r#"{"a":{"partialJson":1},"b":[{"b":0,"jsonlEvents":1}]}"#, r#"{"a":{},"b":[{"b":0}]}"#),
        (r#"{"\u0070artialJson":1,"a":2}"#, r#"{"a":2}"#),
        (r#"{"a":"partialJson"}"#, r#"{"a":"partialJson"}"#),
        (r#"{"partialjson":1}"#, r#"{"partialjson":1}"#),
    ] {
        assert_eq!(persisted(line), expected);
    }
}

#[test]
fn signatures_are_whole_or_empty() {
    let long = "s".repeat(81);
    let line = format!(
        r#"{{"thinkingSignature":"{long}","x":{{"textSignature":"{long}"}},"thoughtSignature":["{long}",["{long}"],"s"]}}"#
    );
    let expected = r#"{"thinkingSignature":"","x":{"textSignature":""},"thoughtSignature":["",[""],"s"]}"#;
    assert_eq!(persisted(&line), expected);
}

#[test]
fn line_counts_follow_what_was_cut_or_removed() {
    let long = "z".repeat(81);
    for (line, count) in [
        (format!(r#"{{"lineCount":9,"content":"{long}"}}"#), "3"),
        (r#"{"content":"a\nb","lineCount":9,"partialJson":1}"#.into(), "2"),
        (r#"{"content":"a\nb","lineCount":2.0,"partialJson":1}"#.into(), "2.0"),
        (r#"{"content":"a\nb","lineCount":9,"x":[{"partialJson":1}]}"#.into(), "2"),
        (r#"{"content":"a","content":"a\nb","lineCount":7,"lineCount":9,"x":[{"partialJson":1}]}"#.into(), "7,2"),
        (r#"{"content":"a\nb","lineCount":9,"content":null,"partialJson":1}"#.into(), "9"),
        (r#"{"content":["a\nb"],"lineCount":9,"partialJson":1}"#.into(), "9"),
        (r#"{"content":"a\nb","lineCount":9}"#.into(), "9"),
        (r#"{"content":"a","lineCount":9,"x":{"image_url":"data:image/png;base64,AAAA"}}"#.into(), "9"),
    ] {
        let form = persisted(&line);
        let counts: Vec<_> = crate::json::Raw::new(form.as_bytes())
            .entries()
            .filter(|(key, _)| key == "lineCount")
            .map(|(_, value)| value.text())
            .collect();
        assert_eq!(counts.join(","), count, "{line}");
    }
}

#[test]
fn the_envelope_and_the_header_are_never_touched() {
    let long = "z".repeat(90);
    let envelope = format!(r#""type":"{long}","id":"{long}","parentId":"{long}","timestamp":"{long}""#);
    let line = format!(r#"{{{envelope},"x":{{{envelope}}}}}"#);
    let cut = format!("{}{NOTICE}", "z".repeat(KEPT));
    let inner = envelope.replace(&long, &cut);
    assert_eq!(persisted(&line), format!(r#"{{{envelope},"x":{{{inner}}}}}"#));
    for header in [
        format!(r#"{{"type":"session","id":"a","cwd":"{long}","partialJson":1}}"#),
        format!(r#"{{"cwd":"{long}","type":"x","type":"session"}}"#),
        format!(r#"{{"typ\u0065":"s\u0065ssion","cwd":"{long}"}}"#),
    ] {
        assert_eq!(persisted(&header), header);
    }
}

#[test]
fn images_are_moved_out_only_where_the_way_back_is_exact() {
    let data = base64(&[7; 13]);
    for moved in [&*data, &base64(&[0xff; 12]), &base64(&[0xff; 14]), &base64(&[9; 5_000])] {
        let line = image(moved);
        let mut blobs = Blobs::default();
        let form = String::from_utf8(blobs.persist_within(line.as_bytes(), SMALL).unwrap()).unwrap();
        assert_eq!((form.len() - image("").len(), blobs.0.len()), (76, 1));
        assert_eq!(blobs.resolve(&form), line);
    }
    let wrapped = format!("{}\\r\\n{}", "A".repeat(76), "A".repeat(76));
    let odd = [
        "AAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAA",
        "AAAAAAAAAAAAAAAAAB==",
        "AAAAAAAAAAAAAAAAAA",
        "____________________",
        &wrapped,
        &"\u{e9}".repeat(100),
        &format!("blob:sha256:{}", "0".repeat(64)),
    ];
    for data in odd {
        assert_eq!(persisted(&image(data)), image(data), "neither moved out nor cut");
    }
}

#[test]
fn an_image_is_an_item_of_a_content_array() {
    let data = "A".repeat(100);
    let cut = format!("{}{NOTICE}", "A".repeat(KEPT));
    let block = |data: &str| format!(r#"{{"type":"image","data":"{data}"}}"#);
    for place in ["{\"content\":@}", "{\"images\":[@]}", "{\"content\":[[@]]}", "{\"content\":{\"x\":[@]}}", "@"] {
        let line = |data: &str| place.replace('@', &block(data));
        assert_eq!(persisted(&line(&data)), line(&cut), "{place}: a string like any other");
    }
    for place in ["{\"content\":[@]}", "{\"x\":[{\"content\":[1,@]}]}", "{\"c\\u006fntent\":[@]}"] {
        assert!(persisted(&place.replace('@', &block(&data))).contains("blob:sha256:"), "{place}");
    }
}

#[test]
fn of_duplicate_keys_the_last_counts() {
    let (data, cut) = ("A".repeat(100), format!("{}{NOTICE}", "A".repeat(KEPT)));
    let line = |members: &str| format!(r#"{{"content":[{{{members}}}]}}"#);
    let moved = persisted(&line(&format!(r#""type":"x","data":"{data}","type":"image""#)));
    assert!(moved.contains(r#""data":"blob:sha256:"#));
    let twice = persisted(&line(&format!(r#""type":"image","data":"{data}","data":"{data}""#)));
    assert!(twice.contains(&format!(r#""data":"{cut}","data":"blob:sha256:"#)));
    for (members, expected) in [
        (r#""type":"image","data":"@","type":"x""#, &cut),
        (r#""type":"image","data":"@","data":1"#, &cut),
        (r#""type":"image","data":"@","data":{}"#, &cut),
        (r#""type":"image","data":"@","type":{}"#, &cut),
    ] {
        assert_eq!(persisted(&line(&members.replace('@', &data))), line(&members.replace('@', expected)));
    }
}

#[test]
fn image_urls_are_moved_out_as_text() {
    for (url, text) in [
        ("data:image/png;base64,AAAA", "data:image/png;base64,AAAA"),
        (r"data:image\/svg+xml;charset=utf-8;base64,\u0041", "data:image/svg+xml;charset=utf-8;base64,A"),
        ("DATA:image/PNG;BASE64,not \u{e9} base64", "DATA:image/PNG;BASE64,not \u{e9} base64"),
    ] {
        let line = format!(r#"{{"type":"custom","data":[{{"image_url":"{url}"}}]}}"#);
        let mut blobs = Blobs::default();
        let form = String::from_utf8(blobs.persist_within(line.as_bytes(), SMALL).unwrap()).unwrap();
        assert_eq!(blobs.0.values().next().unwrap(), text.as_bytes());
        assert_eq!(blobs.resolve(&form), format!(r#"{{"type":"custom","data":[{{"image_url":"{text}"}}]}}"#));
    }
    for url in [
        "https://x/a.png",
        "data:image/png,AAAA",
        "data:text/plain;base64,AA",
        "data:image/",
        "data:image/png,;base64,",
        r"data:image/png;base64,\ud83d",
        "\u{e9}",
        "",
    ] {
        let line = format!(r#"{{"image_url":"{url}"}}"#);
        assert_eq!(persisted(&line), line);
    }
}

#[test]
fn a_failing_store_ends_the_work() {
    let line = image(&"A".repeat(2_000));
    let failed = persist_form(line.as_bytes(), &mut |_| Err(full_disk()));
    assert!(failed.is_err());
}

#[test]
fn references_are_resolved_where_they_count() {
    let hash = "0123456789abcdef".repeat(4);
    let get = &mut |asked: &str| (asked == hash).then(|| b"\xff\x00!".to_vec());
    let line = |kind: &str, data: &str| image(data).replacen("message", kind, 1);
    let reference = format!("blob:sha256:{hash}");
    let resolved = |kind: &str, get: &mut dyn FnMut(&str) -> Option<Vec<u8>>| {
        resolve_blobs(line(kind, &reference).as_bytes(), get).map(|form| String::from_utf8(form).unwrap())
    };
    assert_eq!(resolved("message", get), Some(line("message", "/wAh")));
    assert_eq!(resolved("custom_message", get), Some(line("custom_message", "/wAh")));
    assert_eq!(resolved("custom", get), None);
    assert_eq!(resolved("session", get), None);
    assert_eq!(resolved("message", &mut |_| None), None, "a missing blob leaves the reference");
    let message = format!(r#"{{"content":[{{"type":"image","data":"{reference}"}}]}}"#);
    assert!(resolve_message_blobs(message.as_bytes(), get).is_some());
    assert_eq!(resolve_blobs(message.as_bytes(), get), None);

    let url = format!(r#"{{"type":"x","a":{{"image_url":"blob\u003asha256:{hash}"}}}}"#);
    assert_eq!(resolve_blobs(url.as_bytes(), get), None, "not a text");
    let form = resolve_blobs(url.as_bytes(), &mut |_| Some("a\"\u{e9}\n".into())).unwrap();
    let header = url.replacen("\"x\"", "\"session\"", 1);
    assert_eq!(resolve_blobs(header.as_bytes(), &mut |_| Some("a".into())), None);
    assert_eq!(blob_refs(header.as_bytes()), []);
    assert_eq!(String::from_utf8(form).unwrap(), "{\"type\":\"x\",\"a\":{\"image_url\":\"a\\\"\u{e9}\\n\"}}");
}

#[test]
fn invalid_references_are_mentioned_and_never_asked_for() {
    let hash = "ab".repeat(32);
    let invalid =
        ["../../../etc/passwd", "", &hash[1..], &hash.to_uppercase(), &format!("{hash}0"), &"\u{e9}".repeat(32)];
    for rest in invalid {
        let text = format!("blob:sha256:{rest}");
        let line = image(&text);
        let asked = resolve_blobs(line.as_bytes(), &mut |hash| panic!("asked for {hash}"));
        assert_eq!((asked, reference_hash(&text)), (None, None));
        assert_eq!(blob_refs(line.as_bytes()), [BlobMention { hash: None, text }]);
    }
    let line = format!(
        r#"{{"type":"message","image_url":"blob:sha256:{hash}","x":"blob:sha256:{hash}","content":[{{"type":"image","data":"blob:sha256:x"}}]}}"#
    );
    let mentions: Vec<_> = blob_refs(line.as_bytes()).into_iter().map(|mention| mention.hash).collect();
    assert_eq!(mentions, [Some(hash), None]);
}

#[test]
fn depth_is_no_matter() {
    for depth in [10_000, 99_990] {
        let open = "{\"content\":[".repeat(depth / 2);
        let close = "]}".repeat(depth / 2);
        let line =
            format!(r#"{open}{{"type":"image","data":"{}","partialJson":{open}{close}}}{close}"#, "A".repeat(1_024));
        let sound = depth == 10_000;
        let mut blobs = Blobs::default();
        let form = blobs.persist(&line);
        if sound {
            assert_eq!((form.len() < line.len(), blobs.0.len()), (true, 1));
            assert_eq!(
                resolve_message_blobs(form.as_bytes(), &mut |hash| blobs.0.get(hash).cloned()).unwrap().len(),
                form.len() - 76 + 1_024
            );
        } else {
            assert!(form == line, "deeper than a line may be");
        }
    }
}

#[test]
fn a_long_line_of_short_strings_takes_no_copy_and_linear_time() {
    let items = vec![format!("\"{}\"", "z".repeat(1_000)); 20_000].join(",");
    let line = format!(r#"{{"type":"custom","data":[{items}]}}"#);
    assert!(Blobs::default().persist_within(line.as_bytes(), super::LIMITS).is_none());
    let many = vec![r#"{"partialJson":1,"a":"b","jsonlEvents":{}}"#; 200_000].join(",");
    let form = Blobs::default().persist(&format!("{{\"a\":[{many}]}}"));
    assert_eq!(form.len(), r#"{"a":[]}"#.len() + r#"{"a":"b"},"#.len() * 200_000 - 1);
}
