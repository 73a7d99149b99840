use super::*;
use crate::attachment::MemoryAttachments;

fn model(id: &str) -> ModelChoice {
    ModelChoice {
        id: id.into(),
        chosen: true,
    }
}

fn tool(name: &str) -> Value {
    json!({"name": name, "description": "d", "input_schema": {"type": "object"}})
}

fn settings<'a>(system_prompt: &'a str, tools: &'a [Value]) -> HeadSettings<'a> {
    HeadSettings {
        system_prompt,
        tools,
        ..HeadSettings::plain(model("m"), 7)
    }
}

fn request(settings: HeadSettings<'_>) -> ModelRequest {
    let messages = [&b"{}"[..], b",{}"].map(|json| RequestPiece::Json(Bytes::from_static(json)));
    RequestHead::new(settings).request(messages.into(), false)
}

fn whole(settings: HeadSettings<'_>) -> String {
    String::from_utf8(request(settings).body("m\"").concat()).unwrap()
}

fn parsed(settings: HeadSettings<'_>) -> Value {
    serde_json::from_str(&whole(settings)).unwrap()
}

/// Spec: [MODEL-01] [MODEL-30]
#[test]
fn a_request_holds_model_limit_prompt_tools_and_messages() {
    assert_eq!(
        parsed(settings("be \"brief\"", &[tool("read")])),
        json!({
            "model": "m\"", "max_tokens": 7,
            "system": [{"type": "text", "text": "be \"brief\""}], "tools": [tool("read")],
            "tool_choice": {"type": "auto"}, "stream": true, "messages": [{}, {}],
        })
    );
}

/// Spec: [MODEL-02]
#[test]
fn what_is_empty_is_left_out() {
    for caching in [Caching::Off, Caching::FiveMinutes, Caching::OneHour] {
        let settings = HeadSettings {
            caching,
            ..settings("", &[])
        };
        assert_eq!(
            parsed(settings),
            json!({"model": "m\"", "max_tokens": 7, "stream": true, "messages": [{}, {}]})
        );
    }
}

/// Spec: [MODEL-30]
#[test]
fn the_prompt_and_the_last_tool_are_marked_for_caching() {
    let tools = [tool("read"), tool("grep")];
    for (caching, mark) in [
        (
            Caching::FiveMinutes,
            r#","cache_control":{"type":"ephemeral"}}"#,
        ),
        (
            Caching::OneHour,
            r#","cache_control":{"type":"ephemeral","ttl":"1h"}}"#,
        ),
        (Caching::Off, "}"),
    ] {
        let sent = whole(HeadSettings {
            caching,
            ..settings("be brief", &tools)
        });
        let [read, grep] = tools.each_ref().map(ToString::to_string);
        let grep = grep.strip_suffix('}').unwrap();
        let expected = format!(
            r#""system":[{{"type":"text","text":"be brief"{mark}],"tools":[{read},{grep}{mark}],"tool_choice""#
        );
        assert!(sent.contains(&expected), "{sent}");
        assert!(serde_json::from_str::<Value>(&sent).is_ok());
    }
}

/// Spec: [MODEL-29]
#[test]
fn every_turn_is_sent_with_the_same_settings() {
    let tools = [tool("read"), tool("grep")];
    let settings = || HeadSettings {
        thinking: Some(ThinkingLevel::High),
        caching: Caching::OneHour,
        key_source: Some("env:KEY".into()),
        ..settings("be brief", &tools)
    };
    let head = RequestHead::new(settings());
    let start = |request: &ModelRequest| {
        let pieces = request.start(
            "m",
            7,
            (
                &request.of_model(target("claude-opus-5-5", None)).sent,
                &NO_EXTRAS,
            ),
        );
        String::from_utf8(pieces.concat()).unwrap()
    };
    let first = head.request(vec![RequestPiece::Json("{}".into())], true);
    let second = head.request(Vec::new(), false);
    assert_eq!(start(&first), start(&second));
    assert_eq!(start(&first), start(&request(settings())));
    for part in [r#""max_tokens":7"#, r#""effort":"high""#, r#""ttl":"1h""#] {
        assert!(start(&first).contains(part), "{part}");
    }
    assert!(start(&first).ends_with(r#""effort":"high"},"messages":["#));
    assert_eq!(first.key_source().map(|source| &**source), Some("env:KEY"));
    assert_eq!(first.key_source(), second.key_source());
}

/// Spec: [MODEL-31]
#[test]
fn the_fingerprint_is_of_model_prompt_and_tools() {
    let tools = [tool("read")];
    let base = || settings("be brief", &tools);
    let print = |settings| RequestHead::new(settings).fingerprint().to_owned();
    // Journals hold it: it must be the same in every version.
    assert_eq!(print(base()), "f2007bcbf1783401");
    let same = HeadSettings {
        max_tokens: 8,
        thinking: Some(ThinkingLevel::Max),
        caching: Caching::OneHour,
        key_source: Some("env:KEY".into()),
        ..base()
    };
    assert_eq!(print(same), print(base()));
    let unchosen = HeadSettings {
        model: ModelChoice {
            chosen: false,
            ..model("m")
        },
        ..base()
    };
    assert_eq!(print(unchosen), print(base()));
    let others = [
        HeadSettings {
            model: model("n"),
            ..base()
        },
        settings("be brief.", &tools),
        settings("be brief", &[]),
        settings("", &tools),
        HeadSettings {
            // Where one text ends and the next begins matters.
            model: model("mb"),
            ..settings("e brief", &tools)
        },
    ];
    let mut prints: Vec<String> = others.into_iter().map(print).collect();
    prints.push(print(base()));
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), 6);
}

/// Spec: [MODEL-32]
#[test]
fn the_estimate_is_a_quarter_of_the_characters() {
    let tokens = |settings| RequestHead::new(settings).tokens();
    assert_eq!(tokens(settings("", &[])), 0);
    assert_eq!(tokens(settings("äöüß", &[])), 1);
    assert_eq!(tokens(settings("12345", &[])), 2);
    let json = Value::from(vec![tool("read")]).to_string();
    let expected = 2 + (json.len() as u64).div_ceil(4);
    assert_eq!(tokens(settings("12345", &[tool("read")])), expected);
}

fn image() -> Attachment {
    Attachment {
        sha256: "none".to_owned(),
        media_type: "image/png".to_owned(),
        bytes: 3,
        name: None,
    }
}

fn with_file(file: Attachment, thinking: Option<ThinkingLevel>) -> ModelRequest {
    let head = RequestHead::new(HeadSettings {
        thinking,
        ..settings("", &[])
    });
    let start = r#"{"role":"user","content":[{"type":"text","text":"look"},"#;
    let messages = vec![
        RequestPiece::Json(start.into()),
        RequestPiece::Attachments([file].into()),
        RequestPiece::Json("]}".into()),
    ];
    head.request(messages, false)
}

static NO_EXTRAS: ExtraSet = ExtraSet::new();

fn target<'a>(model: &'a str, info: Option<&'a ModelInfo>) -> RequestTarget<'a> {
    RequestTarget {
        model,
        info,
        version: ApiVersion::June2023,
        extras: &NO_EXTRAS,
    }
}

/// Spec: [MODEL-33] [MODEL-38]
#[actix::test]
async fn files_and_thinking_are_put_in_when_a_request_is_sent() {
    let store = MemoryAttachments::default();
    let sha256 = store.put(Bytes::from_static(b"abc")).await.unwrap();
    let file = Attachment { sha256, ..image() };
    let request = with_file(file, Some(ThinkingLevel::Medium));
    let all = LeftOut::default();
    let body = request.whole_body(target("claude-opus-4-7", None), &all, &store);
    let body: Value = serde_json::from_slice(&body.await.unwrap().concat()).unwrap();
    let source = json!({"type": "base64", "media_type": "image/png", "data": "YWJj"});
    let content = json!([{"type": "text", "text": "look"}, {"type": "image", "source": source}]);
    assert_eq!(
        body,
        json!({
            "model": "claude-opus-4-7", "max_tokens": 7, "stream": true,
            "thinking": {"type": "adaptive", "display": "summarized"},
            "output_config": {"effort": "medium"},
            "messages": [{"role": "user", "content": content}],
        })
    );
    let unsent: Value = serde_json::from_slice(&request.body("m").concat()).unwrap();
    assert_eq!(unsent["messages"][0]["content"][1]["text"], "(1 files)");
    assert_eq!(unsent["thinking"], Value::Null);
}

/// Spec: [MODEL-25] [MODEL-33]
#[actix::test]
async fn a_file_that_does_not_fit_is_not_even_read() {
    let large = Attachment {
        bytes: 1 << 40,
        ..image()
    };
    let store = MemoryAttachments::default();
    let body = with_file(large, None)
        .whole_body(target("m", None), &LeftOut::default(), &store)
        .await;
    assert!(matches!(body, Err(ModelError::TooLarge { .. })), "{body:?}");
}

/// Spec: [MODEL-50] [MODEL-471]
#[actix::test]
async fn a_limit_above_the_models_own_is_lowered() {
    let store = MemoryAttachments::default();
    let known = |max_tokens| ModelInfo {
        max_tokens,
        ..ModelInfo::default()
    };
    let most = known(Some(64_000));
    for (asked, info, sent) in [
        (100_000, Some(&most), 64_000),
        (64_000, Some(&most), 64_000),
        (7, Some(&most), 7),
        (100_000, None, 100_000),
        (100_000, Some(&known(None)), 100_000),
        (100_000, Some(&known(Some(0))), 100_000),
        (100_000, Some(&known(Some(1 << 40))), 100_000),
        // The model's own.
        (0, Some(&most), 64_000),
        (0, Some(&known(Some(4096))), 4096),
        (0, Some(&known(None)), 32_000),
        (0, None, 32_000),
    ] {
        let request = request(HeadSettings {
            max_tokens: asked,
            ..settings("", &[])
        });
        let body = request
            .whole_body(target("m", info), &LeftOut::default(), &store)
            .await
            .unwrap();
        let body: Value = serde_json::from_slice(&body.concat()).unwrap();
        assert_eq!(body["max_tokens"], sent, "{asked} {info:?}");
    }
}

/// Spec: [MODEL-471]
#[test]
fn the_models_own_limit_leaves_room_in_the_window_for_the_request() {
    // About 50,000 tokens.
    let messages = vec![RequestPiece::Json("x".repeat(150_000).into())];
    let own = HeadSettings {
        max_tokens: 0,
        ..settings("", &[])
    };
    let request = RequestHead::new(own).request(messages, false);
    let limit = |max_tokens, window| {
        let info = ModelInfo {
            max_tokens,
            max_input_tokens: Some(window),
            ..ModelInfo::default()
        };
        request.limit(Some(&info))
    };
    assert_eq!(limit(Some(64_000), 1_000_000), 64_000);
    let room = limit(Some(64_000), 100_000);
    assert!((49_000..=50_000).contains(&room), "{room}");
    assert_eq!(limit(Some(64_000), 70_000), 32_000);
    assert_eq!(limit(Some(8192), 60_000), 8192);
    // A window of which alone the API says something.
    assert_eq!(limit(None, 1_000_000), 32_000);
    assert_eq!(limit(None, 8192), 4096);
    assert_eq!(limit(None, 0), 32_000);
}

/// Spec: [MODEL-50]
#[actix::test]
async fn a_budget_of_thinking_is_below_the_lowered_limit() {
    let info: ModelInfo = serde_json::from_value(json!({
        "id": "m", "max_tokens": 4096, "capabilities": {"thinking": {
            "supported": true,
            "types": {"adaptive": {"supported": false}, "enabled": {"supported": true}},
        }},
    }))
    .unwrap();
    let request = request(HeadSettings {
        max_tokens: 100_000,
        thinking: Some(ThinkingLevel::High),
        ..settings("", &[])
    });
    let store = MemoryAttachments::default();
    let body = request
        .whole_body(target("m", Some(&info)), &LeftOut::default(), &store)
        .await
        .unwrap();
    let body: Value = serde_json::from_slice(&body.concat()).unwrap();
    assert_eq!(body["max_tokens"], 4096);
    let budget = body["thinking"]["budget_tokens"].as_u64().unwrap();
    assert!(budget < 4096, "{budget}");
}

/// Spec: [MODEL-42] [MODEL-50] [MODEL-471]
#[test]
fn what_a_model_can_do_matters_to_thinking_images_and_large_limits_only() {
    let limit = |max_tokens| {
        request(HeadSettings {
            max_tokens,
            ..settings("", &[])
        })
    };
    assert!(!limit(32_000).needs_info());
    assert!(limit(32_001).needs_info());
    assert!(limit(0).needs_info());
    let text = Attachment {
        media_type: "text/plain".to_owned(),
        ..image()
    };
    assert!(!request(settings("be brief", &[])).needs_info());
    assert!(!with_file(text.clone(), None).needs_info());
    assert!(with_file(text, Some(ThinkingLevel::Off)).needs_info());
    assert!(with_file(image(), None).needs_info());
}

/// Spec: [MODEL-66] [MODEL-67] [MODEL-70] [MODEL-798]
#[test]
fn a_temperature_is_sent_unless_the_model_takes_none_or_thinks() {
    let stops = ["END".to_owned()];
    let made_for = |version, model, thinking| {
        let request = request(HeadSettings {
            max_tokens: 9000,
            temperature: Number::from_f64(0.5),
            stop_sequences: &stops,
            thinking,
            ..settings("", &[])
        });
        let target = RequestTarget {
            version,
            ..target(model, None)
        };
        let sent = request.of_model(target).sent;
        let fields: Value = serde_json::from_str(&format!(r#"{{"x":0{sent}}}"#)).unwrap();
        let body = String::from_utf8(request.body(model).concat()).unwrap();
        assert!(
            body.contains(r#","stop_sequences":["END"],"stream":true"#),
            "{body}"
        );
        (fields["temperature"].clone(), request.not_sent(target))
    };
    let made = |model, thinking| made_for(ApiVersion::June2023, model, thinking);
    let sent = (json!(0.5), None);
    assert_eq!(made("claude-haiku-4-5", None), sent);
    assert_eq!(made("claude-haiku-4-5", Some(ThinkingLevel::Off)), sent);
    let not_sent = |reason: &str| (Value::Null, Some(reason.to_owned()));
    assert_eq!(
        made("claude-haiku-4-5", Some(ThinkingLevel::High)),
        not_sent("the temperature is not sent to claude-haiku-4-5: it thinks")
    );
    assert_eq!(
        made("claude-sonnet-5", Some(ThinkingLevel::Off)),
        not_sent("the temperature is not sent to claude-sonnet-5: it takes none")
    );
    let (temperature, remark) = made("tiny", Some(ThinkingLevel::High));
    assert_eq!(temperature, 0.5);
    let reason = "the level of thinking high is not sent to tiny: how it thinks is not known";
    assert_eq!(remark.as_deref(), Some(reason));
    // No model takes one under the newest version.
    for model in ["claude-haiku-4-5", "tiny"] {
        let reason = format!(
            "the temperature is not sent to {model}: version 2026-10-21 of the API takes none"
        );
        let made = made_for(ApiVersion::October2026, model, None);
        assert_eq!(made, not_sent(&reason));
    }
}

/// Spec: [BUDGET-09]
#[test]
fn the_largest_size_counts_bytes_behind_what_the_api_has_counted() {
    let file = |media_type: &str| Attachment {
        sha256: "0".repeat(64),
        media_type: media_type.to_owned(),
        bytes: 300,
        name: None,
    };
    let request = |files: Vec<Attachment>| {
        let model = ModelChoice::from_id(Some("m"));
        let messages = vec![
            RequestPiece::Json("x".repeat(1_000).into()),
            RequestPiece::Attachments(files.into()),
            RequestPiece::Json("x".repeat(500).into()),
        ];
        RequestHead::new(HeadSettings::plain(model, 9_000)).request(messages, false)
    };
    let input = |request: &ModelRequest| request.largest_size(None).input;
    let bare = input(&request(vec![]));
    assert!(
        (1_500 + 1_024..1_500 + 1_024 + 100).contains(&bare),
        "{bare}"
    );
    let of = |media_type: &str| input(&request(vec![file(media_type)])) - bare;
    assert!(of("text/plain") < 500);
    assert!((5_000..5_500).contains(&of("image/png")));
    // The size of a document is not known; no request is above the window.
    assert_eq!(input(&request(vec![file("application/pdf")])), 1_000_000);
    let info = ModelInfo {
        id: "m".to_owned(),
        max_input_tokens: Some(200_000),
        ..ModelInfo::default()
    };
    let document = request(vec![file("application/pdf")]);
    let size = document.largest_size(Some(&info));
    assert_eq!((size.input, size.output), (200_000, 9_000));

    let counted = CountedBeginning {
        tokens: 400,
        bytes: 1_000,
        files: 1,
    };
    let known = document.with_counted(Some(counted));
    assert_eq!(input(&known), 400 + 500 + 1_024);
    let more = request(vec![file("application/pdf"), file("image/png")]);
    let more = input(&more.with_counted(Some(counted)));
    assert!((5_000..5_500).contains(&(more - input(&known))), "{more}");
}

/// Spec: [MODEL-801] [MODEL-803]
#[actix::test]
async fn betas_are_sent_as_far_as_they_are_of_use() {
    let both = [
        RequestExtra::RefusalFallback,
        RequestExtra::ToolResultClearing,
    ];
    let tools = [tool("read")];
    let with = |tools| HeadSettings {
        extras: &both,
        ..settings("", tools)
    };
    let mut with_tools = request(with(&tools));
    assert!(with_tools.needs_info());
    assert_eq!(with_tools.extras(None), ExtraSet::from(both));
    let info = |others: &[&str]| ModelInfo {
        allowed_fallback_models: Some(others.iter().map(|&other| other.to_owned()).collect()),
        ..ModelInfo::default()
    };
    let clearing = ExtraSet::from([RequestExtra::ToolResultClearing]);
    assert_eq!(with_tools.extras(Some(&info(&[]))), clearing);
    assert_eq!(with_tools.extras(Some(&info(&["b"]))), ExtraSet::from(both));
    assert_eq!(
        request(with(&[])).extras(None),
        ExtraSet::from([RequestExtra::RefusalFallback])
    );
    let refused = ExtraSet::from([RequestExtra::RefusalFallback]);
    assert!(with_tools.leave_extras_out(&refused));
    assert!(!with_tools.leave_extras_out(&refused), "it was so before");
    assert_eq!(with_tools.extras(None), clearing);

    // The past is sent as it came with the beta, and without its mark else.
    let past = br#"{"role":"user","content":[]},{"role":"assistant","content":[{"type":"text","text":"a"},{"type":"fallback"},{"type":"thinking"},{"type":"text","text":"b"}]}"#;
    let messages = vec![RequestPiece::Json(Bytes::from_static(past))];
    let head = RequestHead::new(HeadSettings {
        extras: &both[..1],
        ..settings("", &[])
    });
    let request = head
        .request(messages, false)
        .with_fallbacks(PastFallbacks::Some);
    let store = MemoryAttachments::default();
    let sent = async |extras: &ExtraSet| {
        let target = RequestTarget {
            extras,
            ..target("m", None)
        };
        let body = request
            .whole_body(target, &LeftOut::default(), &store)
            .await
            .unwrap();
        serde_json::from_slice::<Value>(&body.concat()).unwrap()
    };
    let whole = sent(&refused).await;
    assert_eq!(whole["messages"][1]["content"].as_array().unwrap().len(), 4);
    assert_eq!(whole["fallbacks"], "default");
    let bare = sent(&ExtraSet::new()).await;
    assert_eq!(bare["messages"][1]["content"].as_array().unwrap().len(), 2);
    assert_eq!(bare.get("fallbacks"), None);
}

/// Spec: [MODEL-810] [MODEL-811]
#[actix::test]
async fn the_mark_is_at_a_tool_that_is_loaded_at_once_and_early_inputs_are_left_out_where_refused()
{
    let mut tools = vec![tool("write"), tool("read"), tool("later")];
    tools[0]["eager_input_streaming"] = true.into();
    tools[2]["defer_loading"] = true.into();
    let request = request(HeadSettings {
        caching: Caching::FiveMinutes,
        ..settings("", &tools)
    });
    let store = MemoryAttachments::default();
    let sent = async |extras: &ExtraSet| {
        let target = RequestTarget {
            extras,
            ..target("m", None)
        };
        let all = LeftOut::default();
        let body = request.whole_body(target, &all, &store);
        serde_json::from_slice::<Value>(&body.await.unwrap().concat()).unwrap()
    };
    let eager = request.extras(None);
    assert_eq!(eager, ExtraSet::from([RequestExtra::EagerInput]));
    let mut expected = tools.clone();
    expected[1]["cache_control"] = json!({"type": "ephemeral"});
    assert_eq!(sent(&eager).await["tools"], Value::from(expected.clone()));
    let fields = expected[0].as_object_mut().unwrap();
    fields.remove("eager_input_streaming");
    assert_eq!(sent(&ExtraSet::new()).await["tools"], Value::from(expected));
}
