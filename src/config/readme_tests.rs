//! Holds the settings of README.md against the table that the program goes by.

use harness_actors::DEFAULT_MODEL;
use harness_protocol::{FullSettings, SETTINGS, Setting, SettingKind};

const README: &str = include_str!("../../README.md");
const BEGIN: &str = "<!-- settings -->\n";
const END: &str = "<!-- end of settings -->\n";

fn values(kind: SettingKind) -> String {
    match kind {
        SettingKind::Model => "an id; `harness models` lists them".to_owned(),
        SettingKind::Text => "a text".to_owned(),
        SettingKind::Whole {
            own: (from, to), ..
        } => format!("{from} to {to}"),
        SettingKind::Switch => "`true` `false`".to_owned(),
        SettingKind::OneOf(_, names) => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            names.join(" ")
        }
        SettingKind::Names => "names with commas".to_owned(),
        SettingKind::Texts => "texts with commas, or a JSON list".to_owned(),
        SettingKind::Decimal(_, from, to) => format!("a number from {from} to {to}"),
        SettingKind::KeySource => "a name in `key_sources`".to_owned(),
    }
}

fn row(setting: &Setting) -> String {
    let default = match setting.name {
        "model" => Some(DEFAULT_MODEL.to_owned()),
        name => FullSettings::default().text(name),
    };
    let default = default.filter(|text| text != "[]");
    let default = default.map_or_else(|| "none".to_owned(), |text| format!("`{text}`"));
    let Setting { name, help, kind } = setting;
    format!("| `{name}` | {} | {help} | {default} |\n", values(*kind))
}

/// Spec: [CONF-70]
#[test]
fn the_readme_lists_every_setting_of_conversations_with_its_values_and_its_default() {
    let rows: String = SETTINGS.iter().map(row).collect();
    let table = format!("| setting | values | what it does | default |\n|---|---|---|---|\n{rows}");
    let behind = README.split_once(BEGIN).map(|(_, behind)| behind);
    let written = behind.and_then(|behind| behind.split_once(END));
    let written = written.map(|(written, _)| written.trim());
    assert!(
        written == Some(table.trim()),
        "README.md has another table; between the lines {BEGIN} and {END} put:\n\n{table}"
    );
}
