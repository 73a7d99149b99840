use super::*;
use crate::attachment::MemoryAttachments;

const ALL: Sight = Sight {
    images: true,
    pdfs: true,
};

/// Files with these types, names and contents, and where their contents are.
async fn files(
    files: &[(&str, Option<&str>, &'static [u8])],
) -> (Vec<Attachment>, MemoryAttachments) {
    let store = MemoryAttachments::default();
    let mut kept = Vec::new();
    for (media_type, name, content) in files {
        kept.push(Attachment {
            sha256: store.put(Bytes::from_static(content)).await.unwrap(),
            media_type: (*media_type).to_owned(),
            bytes: content.len() as u64,
            name: name.map(ToOwned::to_owned),
        });
    }
    (kept, store)
}

fn parsed(blocks: &Bytes) -> Value {
    serde_json::from_slice(&[b"[", &blocks[..], b"]"].concat()).unwrap()
}

/// Spec: [MODEL-33]
#[actix::test]
async fn each_kind_of_file_becomes_its_block() {
    let (files, store) = files(&[
        ("image/png", Some("a.png"), b"\x89PNG"),
        ("application/pdf", Some("b.pdf"), b"%PDF-"),
        (
            "text/plain; charset=utf-8",
            Some("c \"d\".txt"),
            b"\"hi\"\n\xff",
        ),
        ("text/markdown", None, b"# hi there"),
    ])
    .await;
    let blocks = blocks(&files, &store, ALL, &LeftOut::default(), 0)
        .await
        .unwrap();
    assert_eq!(
        parsed(&blocks),
        json!([
            {
                "type": "image",
                "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="},
            },
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="},
                "title": "b.pdf",
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "\"hi\"\n\u{fffd}"},
                "title": "c \"d\".txt",
            },
            {
                "type": "document",
                "source": {"type": "text", "media_type": "text/plain", "data": "# hi there"},
            },
        ])
    );
}

/// Spec: [MODEL-34]
#[actix::test]
async fn what_a_model_does_not_see_is_one_text_for_all_of_a_kind() {
    let (files, store) = files(&[
        ("image/png", None, b"1"),
        ("image/gif", None, b"12"),
        ("text/plain", None, b"123"),
        ("image/png", None, b"1234"),
        ("application/pdf", None, b"12345"),
    ])
    .await;
    let text = |text: &str| json!({"type": "text", "text": text});
    let sent = async |sight| {
        parsed(
            &blocks(&files, &store, sight, &LeftOut::default(), 0)
                .await
                .unwrap(),
        )
    };
    let blind = Sight {
        images: false,
        pdfs: false,
    };
    let seen = sent(ALL).await;
    assert_eq!(seen.as_array().unwrap().len(), 5);
    assert_eq!(
        sent(blind).await,
        json!([
            text("(2 images were left out: this model does not see images)"),
            seen[2],
            text("(1 image was left out: this model does not see images)"),
            text("(1 PDF file was left out: this model does not read PDF files)"),
        ])
    );
    let only_pdfs = Sight {
        pdfs: true,
        ..blind
    };
    assert_eq!(sent(only_pdfs).await[3], seen[4]);
}

/// Spec: [MODEL-34]
#[actix::test]
async fn what_cannot_be_sent_is_said() {
    let (mut files, store) = files(&[
        ("image/png", Some("a.png"), b"1"),
        ("application/zip", Some("b.zip"), b"12"),
        ("text/plain", Some("c.txt"), b" \n"),
    ])
    .await;
    files[0].sha256 = "gone".to_owned();
    let said = parsed(
        &blocks(&files, &store, ALL, &LeftOut::default(), 0)
            .await
            .unwrap(),
    );
    let said: Vec<_> = said
        .as_array()
        .unwrap()
        .iter()
        .map(|b| &b["text"])
        .collect();
    assert_eq!(
        said,
        [
            "(a.png was left out: its content is gone)",
            "(b.zip was left out: application/zip cannot be sent)",
            "(c.txt is empty)",
        ]
    );
}

/// Spec: [MODEL-34]
#[test]
fn a_model_is_taken_to_see_unless_the_api_says_otherwise() {
    let sight = |json: Value| {
        let info: ModelInfo = serde_json::from_value(json).unwrap();
        Sight::from_model(Some(&info))
    };
    assert_eq!(Sight::from_model(None), ALL);
    assert_eq!(sight(json!({"id": "m"})), ALL);
    let images = json!({"image_input": {"supported": false}, "pdf_input": {"supported": true}});
    assert_eq!(
        sight(json!({"id": "m", "capabilities": images})),
        Sight {
            images: false,
            pdfs: true
        }
    );
}
