//! Compares the tables of docs/settings.md with the tables that the program goes by.

use super::setting;
use harness_actors::DEFAULT_MODEL;
use harness_protocol::{FullSettings, SETTINGS, SettingKind, SettingRow};

const PAGE: &str = include_str!("../../docs/settings.md");

/// Compares the part of the page between two comments with the table that belongs there.
#[track_caller]
fn holds(name: &str, table: &str) {
    let begin = format!("<!-- {name} -->\n");
    let end = format!("<!-- end of {name} -->\n");
    let behind = PAGE.split_once(&begin).map(|(_, behind)| behind);
    let written = behind.and_then(|behind| behind.split_once(&end));
    let written = written.map(|(written, _)| written.trim());
    assert!(
        written == Some(table.trim()),
        "docs/settings.md has another table; between the lines {begin} and {end} put:\n\n{table}"
    );
}

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
        SettingKind::Domains => "domains with commas".to_owned(),
        SettingKind::Decimal(_, from, to) => format!("a number from {from} to {to}"),
        SettingKind::KeySource => "a name in `key_sources`".to_owned(),
    }
}

fn row(setting: &SettingRow) -> String {
    let default = match setting.name {
        "model" => Some(DEFAULT_MODEL.to_owned()),
        name => FullSettings::default().text(name),
    };
    let default = default.filter(|text| text != "[]");
    let default = default.map_or_else(|| "none".to_owned(), |text| format!("`{text}`"));
    let SettingRow { name, help, kind } = setting;
    format!("| `{name}` | {} | {help} | {default} |\n", values(*kind))
}

/// The row of a setting of the service. Its variable and its key in config.toml follow from its name.
fn service_row(setting: &setting::Setting) -> String {
    let mut names = vec![setting.env.clone()];
    names.extend(setting.flag.as_ref().map(|flag| format!("--{flag}")));
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    let default = match setting.default.as_str() {
        "" => "none".to_owned(),
        default => format!("`{default}`"),
    };
    let names = names.join(" ");
    let setting::Setting { name, help, .. } = setting;
    format!("| `{name}` | {names} | {help} | {default} |\n")
}

/// Spec: [CONF-70]
#[test]
fn the_manual_lists_every_setting_of_conversations_with_its_values_and_its_default() {
    let rows: String = SETTINGS.iter().map(row).collect();
    let head = "| setting | values | what it does | default |\n|---|---|---|---|\n";
    holds("settings", &format!("{head}{rows}"));
}

/// Spec: [CONF-70]
#[test]
fn the_manual_lists_every_setting_of_the_service_with_its_names_and_its_default() {
    let of_service = |row: &&setting::Setting| SETTINGS.iter().all(|own| own.name != row.name);
    let rows = setting::SETTINGS.iter().filter(of_service);
    let rows: String = rows.map(service_row).collect();
    let head = "| setting | variable and flag | what it does | default |\n|---|---|---|---|\n";
    holds("settings of the service", &format!("{head}{rows}"));
}
