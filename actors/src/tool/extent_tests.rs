//! The counts of the standard tools, on real files.

use serde_json::json;

use super::super::testing::{Folder, object};
use super::super::{Cancellation, Grep, ListDir, Read, Tool, ToolContext};
use super::*;

/// The count of a tool for this input in the folder.
async fn counted(folder: &Folder, tool: &dyn Tool, input: serde_json::Value) -> Extent {
    let context = ToolContext::new(Cancellation::new()).in_folder(folder.path());
    let extent = context.extent.clone();
    tool.execute_in(object(input), context).await.unwrap();
    extent.take().unwrap()
}

fn lines(lines: u64, of_lines: u64) -> Extent {
    Extent {
        lines: Some(lines),
        of_lines: Some(of_lines),
        ..Extent::default()
    }
}

/// Spec: [TOOL-260]
#[tokio::test]
async fn a_file_is_counted_to_its_end() {
    let folder = Folder::new();
    let text: String = (1..=10_000).map(|line| format!("{line:0>30}\n")).collect();
    folder.file("big", &text);
    folder.file("small", "a\nb");
    folder.file("empty", "");
    for (input, expected) in [
        // The limit of a result is reached at 4,228 lines of 31 bytes.
        (json!({"path": "big"}), lines(4_228, 10_000)),
        (
            json!({"path": "big", "start_line": 9_000}),
            lines(1_001, 10_000),
        ),
        (
            json!({"path": "big", "start_line": 5, "end_line": 9}),
            lines(5, 10_000),
        ),
        (json!({"path": "small"}), lines(2, 2)),
        (json!({"path": "small", "end_line": 1}), lines(1, 2)),
        (json!({"path": "empty"}), lines(0, 0)),
    ] {
        let found = counted(&folder, &Read, input.clone()).await;
        assert_eq!(found, expected, "{input}");
    }
    // One that is too long is not read for that alone; it has holes and takes no room.
    folder.huge("huge", 65 * 1024 * 1024);
    let found = counted(&folder, &Read, json!({"path": "huge"})).await;
    assert_eq!((found.of_lines, found.more), (None, true));
}

/// Spec: [TOOL-260]
#[tokio::test]
async fn hits_files_and_entries_are_counted() {
    let folder = Folder::new();
    folder.file("a/one.rs", "sleep\nno\nsleep: 3\n");
    folder.file("a/b:2/two.rs", "sleep\n");
    let input = json!({"pattern": "sleep", "path": "a", "recursive": true});
    let found = counted(&folder, &Grep, input).await;
    assert_eq!(
        (found.hits, found.files, found.more),
        (Some(3), Some(2), false)
    );
    let input = json!({"pattern": "sleep", "path": "a/one.rs"});
    let found = counted(&folder, &Grep, input).await;
    assert_eq!((found.hits, found.files), (Some(2), None));
    let input = json!({"pattern": "none", "path": "a/one.rs"});
    assert_eq!(counted(&folder, &Grep, input).await.hits, Some(0));
    let found = counted(&folder, &ListDir, json!({"path": "a"})).await;
    assert_eq!((found.entries, found.more), (Some(2), false));
}
