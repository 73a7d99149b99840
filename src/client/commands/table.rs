//! Tables of numbers.

/// How many characters of a name a table shows.
pub(super) const MAX_NAME: usize = 64;

/// Lines of equal columns; columns of numbers and costs end together.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> Vec<String> {
    let is_number = |text: &str| {
        let is_digit = |c: char| c.is_ascii_digit() || c == '.';
        text.trim_start_matches('$').chars().all(is_digit)
    };
    let columns: Vec<(usize, bool)> = (0..N)
        .map(|column| {
            let cells = || rows.iter().map(|row| row[column].as_str());
            let width = cells().map(|cell| cell.chars().count()).max();
            let numbers = cells()
                .skip(1)
                .all(|cell| is_number(cell) || cell == "unknown");
            (width.unwrap_or_default(), numbers)
        })
        .collect();
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(&columns).map(|(cell, (width, numbers))| {
            if *numbers {
                format!("{cell:>width$}")
            } else {
                format!("{cell:width$}")
            }
        });
        let line = cells.collect::<Vec<_>>().join("  ");
        line.trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}
